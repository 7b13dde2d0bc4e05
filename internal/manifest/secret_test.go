package manifest_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestOnlyWhoAsksTheArraySeesItsSecret(t *testing.T) {
	const secret, dir = "ontap-reader", "/etc/nfsbench/secrets/array"
	asks := []string{manifest.ContainerSurvey, manifest.ContainerCollector}
	seen := map[string]bool{}
	for name, b := range inputs(t) {
		wanted := b.Spec.Storage.Array != nil && b.Spec.Storage.Array.ONTAP != nil
		for _, p := range pods(objects(t, b)) {
			volume := ""
			for _, v := range p.spec.Volumes {
				if v.Secret == nil || v.Name == databaseSecret {
					continue
				}
				volume = v.Name
				if v.Secret.SecretName != secret || v.Secret.DefaultMode == nil || *v.Secret.DefaultMode&0o222 != 0 {
					t.Errorf("%s: pod %s has the Secret %+v", name, p.name, v.Secret)
				}
			}
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				at := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return volume != "" && m.Name == volume })
				if (at >= 0) != (wanted && slices.Contains(asks, c.Name)) {
					t.Errorf("%s: container %s of pod %s sees the Secret: %t", name, c.Name, p.name, at >= 0)
				}
				if at >= 0 && (c.VolumeMounts[at].MountPath != dir || !c.VolumeMounts[at].ReadOnly || !slices.Contains(c.Args, "--secrets-dir")) {
					t.Errorf("%s: container %s mounts it as %+v, with arguments %q", name, c.Name, c.VolumeMounts[at], c.Args)
				}
				seen[c.Name] = seen[c.Name] || at >= 0
				for _, e := range c.Env {
					if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && c.Name != manifest.ContainerDatabase {
						t.Errorf("%s: container %s has a Secret in its environment: %s", name, c.Name, e.Name)
					}
				}
				if len(c.EnvFrom) > 0 {
					t.Errorf("%s: container %s takes its environment from %+v", name, c.Name, c.EnvFrom)
				}
			}
		}
	}
	if !seen[manifest.ContainerSurvey] || !seen[manifest.ContainerCollector] {
		t.Errorf("nobody sees the Secret: %v", seen)
	}
}

func TestAMoveHasTheTimeThatItTakes(t *testing.T) {
	deadline := func(mods ...gen.Mod) int64 {
		return *manifest.SurveyJob(gen.Benchmark("demo", mods...), images()).Spec.ActiveDeadlineSeconds
	}
	moves := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{StorageClassName: "gold", MoveTo: "aggr2"}}
	}
	short, long := deadline(gen.ONTAP("10.0.1.5", "svm1", "x")), deadline(moves, gen.ONTAP("10.0.1.5", "svm1", "x"))
	if short > 600 || long-short != 86400 {
		t.Errorf("deadlines of %d s, and of %d s with a move", short, long)
	}
	job := manifest.SurveyJob(gen.Benchmark("demo", gen.ONTAP("10.0.1.5", "svm1", "x")), images())
	if *job.Spec.BackoffLimit != 0 || job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("a survey is made again by itself: %+v", job.Spec)
	}
}

// TestOnlyLoaderAndDatabaseRunAnImageOfTheUser: the other containers have root, the token of
// the collector or the credentials of the array.
func TestOnlyLoaderAndDatabaseRunAnImageOfTheUser(t *testing.T) {
	foreign := 0
	for name, b := range inputs(t) {
		if b.Spec.Pods == nil {
			b.Spec.Pods = &v1alpha1.Pods{}
		}
		b.Spec.Pods.Image = "evil.example/tools:v1"
		for _, p := range pods(objects(t, b)) {
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				users := c.Name == manifest.ContainerLoader || c.Name == manifest.ContainerDatabase
				if !users && c.Image != images().NFSBench {
					t.Errorf("%s: container %s of pod %s runs %s", name, c.Name, p.name, c.Image)
				}
				if c.Image == b.Spec.Pods.Image {
					foreign++
				}
			}
		}
	}
	if foreign == 0 {
		t.Error("no loader runs spec.pods.image")
	}
}

func TestTheEmbeddedServerRequestsTheDiskThatItMayUse(t *testing.T) {
	pod := manifest.ServerPod(gen.Benchmark("demo", gen.Embedded("2Gi", 1)), images())
	r := pod.Spec.Containers[0].Resources
	request, limit := r.Requests.StorageEphemeral(), r.Limits.StorageEphemeral()
	if size := pod.Spec.Volumes[0].EmptyDir.SizeLimit; request.Cmp(*limit) != 0 || limit.Cmp(*size) <= 0 {
		t.Errorf("request %s, limit %s, size of the volume %s", request, limit, size)
	}
}
