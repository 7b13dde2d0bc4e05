package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
)

// priorityClass and the label team are allowed by the policy of hack/test/needs.sh, which also
// sets a default of the label owner.
const priorityClass = "nfsbench-e2e"

// placed asks for all that a benchmark may say about where its pods run.
func placed(b *v1alpha1.NFSBenchmark) {
	b.Spec.Pods = &v1alpha1.Pods{
		Labels:            map[string]string{"team": "dba"},
		PriorityClassName: priorityClass,
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}},
			}}},
		}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway},
		},
		SecurityContext: &v1alpha1.PodSecurity{SupplementalGroups: []int64{4711}},
	}
}

// isPlaced demands that each pod of a run is what placed asks for.
func (c *cluster) isPlaced(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	for _, p := range c.running(t, b, int(b.Spec.Clients)) {
		if p.Labels["team"] != "dba" || p.Labels["owner"] != "e2e" {
			t.Errorf("labels %v, want team: dba of the benchmark and owner: e2e of the administrator", p.Labels)
		}
		if p.Spec.PriorityClassName != priorityClass || p.Spec.Priority == nil || *p.Spec.Priority != 7 {
			t.Errorf("priority class %q", p.Spec.PriorityClassName)
		}
		if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
			t.Error("the pod has no affinity")
		}
		spread := p.Spec.TopologySpreadConstraints
		if len(spread) == 0 || spread[0].TopologyKey != corev1.LabelTopologyZone ||
			spread[0].LabelSelector == nil || len(spread[0].LabelSelector.MatchLabels) == 0 {
			t.Errorf("spread %+v, want the pods of the run over zones", spread)
		}
		groups := p.Spec.SecurityContext.SupplementalGroups
		if len(groups) == 0 || groups[len(groups)-1] != 4711 {
			t.Errorf("supplemental groups %v", groups)
		}
	}
}

func (c *cluster) makePriorityClass(t *testing.T) {
	t.Helper()
	class := &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: priorityClass}, Value: 7,
		PreemptionPolicy: new(corev1.PreemptNever), // other tests run beside this one
	}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), class)); err != nil {
		t.Fatal(err)
	}
}

func TestLoadPodsArePlacedAsTheUserAndTheAdministratorSay(t *testing.T) {
	p := newPlot(t, 1)
	p.makePriorityClass(t)
	b := p.run(t, placed, lasting(10), gen.Clients(2), func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Protocol.Paths = &bench.Paths{
			Select: bench.PathsExplicit, Explicit: []bench.Path{{LocalInterface: "eth0", Path: p.lifs[0]}},
		}
	})
	p.isPlaced(t, b)
	// Each client connects from its own address on the interface.
	from := map[string]bool{}
	for _, path := range p.succeeded(t, b).Status.Paths {
		from[path.Local] = true
	}
	if len(from) != 2 || from[""] {
		t.Errorf("the paths start from %v, want the address of each client", from)
	}
}

func TestAPodWithADatabaseIsPlacedToo(t *testing.T) {
	w := newOracleWorld(t, 1)
	w.makePriorityClass(t)
	w.volume(t, "placed", w.lifs[0])
	b := w.create(t, w.database("placed", "placed", gen.Kernel, placed, calibrates, func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Claim.NonNFS = v1alpha1.NonNFSMeasure
	}))
	w.isPlaced(t, b)
	if done := w.finished(t, b); done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Error(state(done))
	}
}

func TestAPriorityThatThePolicyDoesNotAllowIsRefused(t *testing.T) {
	c := newCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	for field, pods := range map[string]string{
		"priorityClassName": `{priorityClassName: system-cluster-critical}`,
		"runtimeClassName":  `{runtimeClassName: privileged}`,
		"labels":            `{labels: {app: frontend}}`,
	} {
		out, err := kubectl(t, document("greedy", `{storage: {embedded: {size: 1Gi}}, protocol: {}, workload: {raw: {pattern: Read, fileSize: 64Mi}}, pods: `+pods+`}`),
			"-n", ns, "apply", "-f", "-")
		if err == nil {
			t.Fatalf("%s: taken: %s", field, out)
		}
		mustSay(t, out, "spec.pods."+field, "policy.pods.")
	}
}
