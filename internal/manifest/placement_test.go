package manifest_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func withDefaults(p v1alpha1.Pods) manifest.Images {
	i := images()
	i.Pods = p
	return i
}

func TestABenchmarkWinsOverTheDefaultsOfItsPods(t *testing.T) {
	with := withDefaults(v1alpha1.Pods{
		Labels:            map[string]string{"team": "storage", "owner": "x", manifest.LabelUID: "forged"},
		NodeSelector:      map[string]string{"pool": "bench"},
		PriorityClassName: "batch",
		RuntimeClassName:  "kata",
		Tolerations:       []corev1.Toleration{{Key: "bench"}},
	})
	b := gen.Benchmark("demo", func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Pods = &v1alpha1.Pods{
			Labels: map[string]string{"team": "dba"}, PriorityClassName: "high", Tolerations: []corev1.Toleration{},
		}
	})
	before := b.DeepCopy()
	pod := manifest.LoadJob(b, runfile.Plan{Clients: 1}, "", with).Spec.Template
	if l := pod.Labels; l["team"] != "dba" || l["owner"] != "x" || l[manifest.LabelUID] == "forged" {
		t.Errorf("labels %v", l)
	}
	if s := pod.Spec; s.PriorityClassName != "high" || *s.RuntimeClassName != "kata" || s.NodeSelector["pool"] != "bench" || len(s.Tolerations) != 0 {
		t.Errorf("%+v", s)
	}
	if !maps.Equal(b.Spec.Pods.Labels, before.Spec.Pods.Labels) || with.Pods.Labels["team"] != "storage" {
		t.Error("a value of the caller changed")
	}
	server := manifest.ServerPod(gen.Benchmark("demo", gen.Embedded("1Gi", 1)), with).Spec
	if server.PriorityClassName != "batch" || server.NodeSelector["pool"] != "bench" {
		t.Errorf("the embedded server: %+v", server)
	}
}

func TestLoadPodsSpread(t *testing.T) {
	zone := corev1.TopologySpreadConstraint{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1}
	host := corev1.TopologySpreadConstraint{TopologyKey: corev1.LabelHostname, MaxSkew: 2, LabelSelector: &metav1.LabelSelector{}}
	for name, tc := range map[string]struct {
		clients int32
		given   []corev1.TopologySpreadConstraint
		want    []string
	}{
		"one client":               {1, nil, nil},
		"several over nodes":       {2, nil, []string{corev1.LabelHostname}},
		"over zones and nodes":     {2, []corev1.TopologySpreadConstraint{zone}, []string{corev1.LabelTopologyZone, corev1.LabelHostname}},
		"over nodes as users want": {2, []corev1.TopologySpreadConstraint{host}, []string{corev1.LabelHostname}},
	} {
		b := gen.Benchmark("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Pods = &v1alpha1.Pods{TopologySpreadConstraints: tc.given} })
		got := manifest.LoadJob(b, runfile.Plan{Clients: tc.clients}, "", images()).Spec.Template.Spec.TopologySpreadConstraints
		if len(got) != len(tc.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, c := range got {
			ours := c.LabelSelector != nil && c.LabelSelector.MatchLabels[manifest.LabelBenchmark] != ""
			if c.TopologyKey != tc.want[i] || ours != (c.MaxSkew == 1) {
				t.Errorf("%s: constraint %d is %+v", name, i, c)
			}
		}
	}
	if zone.LabelSelector != nil {
		t.Error("the constraint of the user changed")
	}
}

func TestASecurityContextAddsToWhatThePodHas(t *testing.T) {
	mod := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Pods = &v1alpha1.Pods{SecurityContext: &v1alpha1.PodSecurity{SupplementalGroups: []int64{4711}, SELinuxLevel: "s0:c1,c2"}}
	}
	for name, b := range map[string]*v1alpha1.NFSBenchmark{
		"native":   gen.Benchmark("demo", mod),
		"database": gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise), mod),
	} {
		s := manifest.LoadJob(b, runfile.Plan{Clients: 1}, "", images()).Spec.Template.Spec.SecurityContext
		if n := len(s.SupplementalGroups); n == 0 || s.SupplementalGroups[n-1] != 4711 || (n == 2) != (name == "database") {
			t.Errorf("%s: groups %v", name, s.SupplementalGroups)
		}
		if s.SELinuxOptions == nil || s.SELinuxOptions.Level != "s0:c1,c2" || s.SELinuxOptions.Type != "" || !*s.RunAsNonRoot {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
