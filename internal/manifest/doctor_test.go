package manifest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/test/gen"
)

// doctorPod is the template of the Job that examines a benchmark.
func doctorPod(t *testing.T, b *v1alpha1.NFSBenchmark, servers bool) corev1.PodTemplateSpec {
	t.Helper()
	target := plan.Target{Export: "/vol/oradata", Addresses: []string{"10.0.1.61"}, Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}}
	p, err := plan.Build(b, target)
	if err != nil {
		t.Fatal(err)
	}
	x := manifest.Examination{Plan: p, PlanText: "{}", Volume: manifest.DoctorVolume(b, target), Servers: servers, LeastBytes: 42, Seconds: 60}
	job := manifest.DoctorJob(b, x, manifest.Images{NFSBench: "nfsbench:v1"})
	if *job.Spec.ActiveDeadlineSeconds != 60 || job.Spec.TTLSecondsAfterFinished == nil || len(job.OwnerReferences) > 0 {
		t.Errorf("the Job stays: %+v", job.Spec)
	}
	// The operator finds the pods of a run by their labels, and must not find this one.
	for _, labels := range []map[string]string{job.Labels, job.Spec.Template.Labels} {
		if labels[manifest.LabelComponent] != manifest.ComponentDoctor || len(labels) != 3 {
			t.Errorf("labels %v", labels)
		}
	}
	return job.Spec.Template
}

// TestADoctorsPodIsThatOfTheDatabase: what it finds must hold for the run.
func TestADoctorsPodIsThatOfTheDatabase(t *testing.T) {
	for name, b := range withDatabase(t) {
		if b.Spec.Database.Container == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run, got := loadPod(t, b), doctorPod(t, b, true)
			c, want := got.Spec.Containers[0], databaseOf(run)
			if diff := cmp.Diff([]any{want.Image, want.SecurityContext, want.Resources, run.spec.SecurityContext}, []any{c.Image, c.SecurityContext, c.Resources, got.Spec.SecurityContext}); diff != "" {
				t.Errorf("(-run +doctor):\n%s", diff)
			}
			if n := len(want.Args); !slices.Equal(c.Args[:n], want.Args) || !slices.Equal(c.Args[n:], []string{"--min-free", "42", "--examine", "/dev/termination-log"}) {
				t.Errorf("arguments %q", c.Args)
			}
			if c.StartupProbe != nil || c.RestartPolicy != nil || len(got.Spec.Containers) != 1 {
				t.Errorf("the container does not end: %+v", c)
			}
			for _, i := range got.Spec.InitContainers {
				if i.Name != manifest.ContainerTools && i.Name != manifest.ContainerPermissions {
					t.Errorf("there is a container %s", i.Name)
				}
			}
		})
	}
}

// TestADoctorsPodHasNoSecretAndNoToken: it is run before anybody has allowed their use.
func TestADoctorsPodHasNoSecretAndNoToken(t *testing.T) {
	for name, b := range withDatabase(t) {
		text := fmt.Sprintf("%+v", doctorPod(t, b, true))
		for _, word := range []string{"SecretKeyRef:&", "Secret:&", "ServiceAccountToken:&", "Projected:&"} {
			if strings.Contains(text, word) {
				t.Errorf("%s: has %s", name, word)
			}
		}
		pod := doctorPod(t, b, true)
		volumes := map[string]bool{}
		for _, v := range pod.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s: container %s mounts %s, which is not there", name, c.Name, m.Name)
				}
			}
		}
	}
}

func TestADoctorsPodMeetsBaseline(t *testing.T) {
	for name, b := range withDatabase(t) {
		template := doctorPod(t, b, true)
		if no := violations(t, pod{name, template.ObjectMeta, template.Spec}, api.LevelBaseline); len(no) > 0 {
			t.Errorf("%s: %q", name, no)
		}
	}
}

// TestADoctorsPodMountsWhatIsThere: an export as the node mounts it, a claim, or nothing yet.
func TestADoctorsPodMountsWhatIsThere(t *testing.T) {
	data := func(b *v1alpha1.NFSBenchmark, servers bool) (source *corev1.VolumeSource, args string, permissions bool) {
		pod := doctorPod(t, b, servers)
		for _, v := range pod.Spec.Volumes {
			if v.Name == "data" {
				source = &v.VolumeSource
			}
		}
		permissions = slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == manifest.ContainerPermissions })
		return source, strings.Join(pod.Spec.Containers[0].Args, " "), permissions
	}
	source, args, permissions := data(gen.Benchmark("x", gen.Calibrate(1), gen.Oracle), true)
	if source == nil || source.NFS == nil || source.NFS.Server != "10.0.1.61" || source.NFS.Path != "/vol/oradata" || !permissions || !strings.Contains(args, "--plan") {
		t.Errorf("export: %+v, %s", source, args)
	}
	apart := gen.Benchmark("x", gen.Calibrate(1), gen.Oracle, gen.RedoPath("/vol/oraredo"))
	pod := doctorPod(t, apart, true)
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == "redo" && v.NFS != nil && v.NFS.Server == "10.0.1.61" && v.NFS.Path == "/vol/oraredo"
	}) || !slices.ContainsFunc(pod.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "redo" && !m.ReadOnly }) {
		t.Errorf("the export of the redo logs is not mounted: %+v", pod.Spec)
	}
	unknown := manifest.DoctorJob(apart, manifest.Examination{Seconds: 1}, manifest.Images{}).Spec.Template.Spec
	if args := strings.Join(unknown.Containers[0].Args, " "); strings.Contains(args, "--redo") || !strings.Contains(args, "--min-free") {
		t.Errorf("the redo logs of a volume that is not mounted: %s", args)
	}
	source, args, _ = data(gen.Benchmark("x", gen.Claim("data"), gen.Calibrate(1), gen.Oracle), false)
	if source == nil || source.PersistentVolumeClaim == nil || strings.Contains(args, "--plan") {
		t.Errorf("claim whose servers are not known: %+v, %s", source, args)
	}
	source, args, permissions = data(gen.Benchmark("x", gen.TridentClass("gold"), gen.Calibrate(1), gen.Oracle), false)
	if source != nil || permissions || !strings.Contains(args, "--data  --owner") {
		t.Errorf("a volume that the run makes: %+v, %s", source, args)
	}
	if _, args, _ = data(gen.Benchmark("x", gen.SLOB(bench.SLOBRandomRead, 2), gen.Kit("kit", "SLOB"), gen.External("scan:1521/ORCL", "rac1:1521/a")), true); !strings.Contains(args, "--kit /opt/slob/SLOB --examine") {
		t.Errorf("kit: %s", args)
	}
	if _, args, _ = data(gen.Benchmark("x", gen.Calibrate(1), gen.External("scan:1521/ORCL", "rac1:1521/a")), true); !strings.Contains(args, "--connect scan:1521/ORCL --connect rac1:1521/a --examine") {
		t.Errorf("external: %s", args)
	}
}

// TestADoctorsPodAsksTheArrayAsASurvey: the one container that asks has the credentials, and no other.
func TestADoctorsPodAsksTheArrayAsASurvey(t *testing.T) {
	b := gen.Benchmark("x", gen.Export("/vol/oradata", "10.0.1.61"), gen.ONTAP("10.0.9.1", "svm1", "reader"))
	p, err := plan.Build(b, plan.Target{Export: "/vol/oradata", Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}})
	if err != nil {
		t.Fatal(err)
	}
	images := manifest.Images{NFSBench: "nfsbench:v1"}
	x := manifest.Examination{Plan: p, PlanText: "{}", Servers: true, Request: `{"export": "/vol/oradata"}`, Seconds: 60}
	template := manifest.DoctorJob(b, x, images).Spec.Template
	survey := manifest.SurveyJob(b, images).Spec.Template.Spec.Containers[0]
	if len(template.Spec.Containers) != 2 {
		t.Fatalf("containers %+v", template.Spec.Containers)
	}
	load, asks := template.Spec.Containers[0], template.Spec.Containers[1]
	if args := strings.Join(asks.Args, " "); !strings.HasPrefix(args, "survey --request ") || !strings.HasSuffix(args, " --answers /dev/termination-log") {
		t.Errorf("arguments %s", args)
	}
	if diff := cmp.Diff([]any{survey.Env, survey.Resources, survey.SecurityContext}, []any{asks.Env, asks.Resources, asks.SecurityContext}); diff != "" {
		t.Errorf("(-survey +doctor):\n%s", diff)
	}
	secret := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "array-credentials" })
	}
	if secret(load) || !secret(asks) {
		t.Errorf("the loader has the credentials: %v, the survey: %v", secret(load), secret(asks))
	}
	if template.Annotations["nfsbench.io/request"] != x.Request {
		t.Errorf("annotations %v", template.Annotations)
	}
	volumes := fmt.Sprintf("%+v", template.Spec.Volumes)
	for _, part := range []string{"SecretName:reader", "metadata.annotations['nfsbench.io/request']"} {
		if !strings.Contains(volumes, part) {
			t.Errorf("no %s in %s", part, volumes)
		}
	}
}
