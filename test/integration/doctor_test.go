package integration

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAClusterTakesTheJobOfTheDoctor, and its pod where the namespace has the level that a
// database needs. Where it has not, the refusal says what to do.
func TestAClusterTakesTheJobOfTheDoctor(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	const level = "pod-security.kubernetes.io/enforce"
	namespaces := map[string]string{}
	for _, name := range []string{"baseline", "restricted"} {
		ns := &corev1.Namespace{}
		ns.GenerateName, ns.Labels = "doctor-", map[string]string{level: name}
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		// Pods want the account that a controller makes elsewhere.
		account := &corev1.ServiceAccount{}
		account.Namespace, account.Name = ns.Name, "default"
		if err := c.Create(t.Context(), account); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		namespaces[name] = ns.Name
	}
	build := func(namespace string, volume bool, mods ...gen.Mod) *batchv1.Job {
		b := gen.Benchmark("demo", append(mods, gen.In(namespace))...)
		target := plan.Target{Export: "/x", Addresses: []string{"10.0.1.61"}, Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}}
		p, err := plan.Build(b, target)
		if err != nil {
			t.Fatal(err)
		}
		x := manifest.Examination{Plan: p, PlanText: "{}", Servers: true, Seconds: 60}
		if plan.HasSurvey(b) {
			x.Request = "{}"
		}
		if volume {
			x.Volume = manifest.DoctorVolume(b, target)
		}
		return manifest.DoctorJob(b, x, manifest.Images{NFSBench: "nfsbench:v1"})
	}
	job := func(namespace string, mods ...gen.Mod) *batchv1.Job { return build(namespace, true, mods...) }
	create := func(j *batchv1.Job) error {
		pod := &corev1.Pod{ObjectMeta: *j.Spec.Template.ObjectMeta.DeepCopy(), Spec: *j.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.GenerateName = j.Namespace, j.GenerateName
		return c.Create(t.Context(), pod, client.DryRunAll)
	}
	calibrate := gen.Calibrate(1)
	for name, mods := range map[string][]gen.Mod{
		"export": {calibrate, gen.Oracle}, "claim": {gen.Claim("data"), calibrate, gen.Oracle}, "kernel": {gen.Kernel, calibrate, gen.Oracle},
		"array": {gen.ONTAP("10.0.9.1", "svm1", "reader")}, "a volume to come": {gen.TridentClass("gold"), calibrate, gen.Oracle}, "external": {calibrate, gen.External("scan:1521/ORCL", "rac1:1521/a")},
	} {
		j := job(namespaces["baseline"], mods...)
		if err := create(j); err != nil {
			t.Errorf("pod of %s: %v", name, err)
		}
		if err := c.Create(t.Context(), j, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("job of %s: %v", name, err)
		}
	}
	kernel := job(namespaces["restricted"], gen.Kernel)
	if err := create(kernel); err == nil {
		t.Error("a restricted namespace admits a volume of type nfs")
	}
	if err := create(job(namespaces["restricted"])); err != nil {
		t.Errorf("restricted, Direct NFS: %v", err)
	}
	if err := create(job(namespaces["restricted"], gen.ONTAP("10.0.9.1", "svm1", "reader"))); err != nil {
		t.Errorf("restricted, with an array: %v", err)
	}
	if err := create(build(namespaces["restricted"], false, gen.Kernel)); err != nil {
		t.Errorf("restricted, without the volume: %v", err)
	}
	j := job(namespaces["restricted"], calibrate, gen.Oracle)
	err := create(j)
	if err == nil || !strings.Contains(diagnose.Refusal(j, err.Error()), "kubectl label --overwrite namespace "+j.Namespace+" "+level+"=baseline") {
		t.Errorf("restricted: %v", err)
	}
}
