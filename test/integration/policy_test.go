package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestABenchmarkThatThePolicyRefusesCreatesNothing, also where no admission policy told the
// user so when the benchmark was created.
func TestABenchmarkThatThePolicyRefusesCreatesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var broken error
	allowed := policy.Default()
	w.r = benchmark.NewReconciler(benchmark.Options{
		Client: w.faults.cached(w.c), Reader: w.faults.direct(w.c), Recorder: w.rec, Clock: w.clock,
		Images: manifest.Images{NFSBench: "nfsbench:test"},
		Policy: func(context.Context) (policy.Policy, error) { return allowed, broken },
	})
	w.create("kernel", gen.Kernel, gen.Export("/vol/hr", "198.51.100.1"))
	if s := w.settle("kernel").Status; s.Phase != v1alpha1.PhaseFailed || !strings.Contains(s.Message, "policy.exports") {
		t.Errorf("phase %s: %s", s.Phase, s.Message)
	}
	if left := w.ours(); len(left) > 0 {
		t.Errorf("it made %v", left)
	}

	w.create("typo", gen.StorageClass("no-such-class"))
	if s := w.settle("typo").Status; s.Phase != v1alpha1.PhaseFailed || !strings.Contains(s.Message, `no StorageClass "no-such-class" (`) || strings.Contains(s.Message, "policy") {
		t.Errorf("a class that does not exist: phase %s: %s", s.Phase, s.Message)
	}

	broken = errors.New("policy.yaml: unknown field")
	w.create("waits")
	if s := w.settle("waits").Status; s.Phase != v1alpha1.PhasePending || !strings.Contains(s.Message, "unknown field") {
		t.Errorf("with a policy that cannot be read: phase %s: %s", s.Phase, s.Message)
	}
	broken = nil
	if s := w.settle("waits").Status; s.Phase == v1alpha1.PhasePending || strings.Contains(s.Message, "unknown field") {
		t.Errorf("with the policy corrected: phase %s: %s", s.Phase, s.Message)
	}
}

// TestABenchmarkUsesNoSecretWithoutItsLabel: an author of benchmarks could otherwise send
// every Secret of the namespace to a server, or read it in an image.
func TestABenchmarkUsesNoSecretWithoutItsLabel(t *testing.T) {
	t.Parallel()
	pull := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Pods = &v1alpha1.Pods{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "reader"}}}
	}
	for name, tc := range map[string]struct {
		secret string
		mods   []gen.Mod
	}{
		"Array":    {"reader", []gen.Mod{gen.ONTAP("192.0.2.1", "svm1", "reader")}},
		"Database": {"oracle", []gen.Mod{gen.Oracle, gen.Calibrate(1)}},
		"External": {"oracle", []gen.Mod{gen.External("db.example:1521/x"), gen.SLOB(bench.SLOBRandomRead, 4)}},
		"Pull":     {"reader", []gen.Mod{pull}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := gen.Benchmark("demo", append([]gen.Mod{gen.In(w.ns), gen.Export("/vol/oradata", newAddress())}, tc.mods...)...)
			if err := w.c.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			refused := func(reason string) {
				t.Helper()
				w.step(time.Minute)
				s := w.settle("demo").Status
				if s.Phase != v1alpha1.PhasePending || !strings.Contains(s.Message, fmt.Sprintf("%q", tc.secret)) ||
					!strings.Contains(s.Message, "nfsbench.io/allow-use=true") {
					t.Errorf("phase %s: %s, want %s", s.Phase, s.Message, reason)
				}
				w.wantCondition(w.get("demo"), v1alpha1.ConditionReconciling, "True", reason)
				if left := w.ours(); len(left) > 0 {
					t.Errorf("it made %v", left)
				}
			}
			refused(v1alpha1.ReasonSecretNotFound)
			w.secret(tc.secret, map[string]string{v1alpha1.LabelAllowUse: "false"})
			refused(v1alpha1.ReasonSecretDenied)
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"nfsbench.io/allow-use": "true"}}}`))
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: tc.secret}}
			if err := w.c.Patch(t.Context(), secret, patch); err != nil {
				t.Fatal(err)
			}
			if s := w.settle("demo").Status; s.Phase == v1alpha1.PhasePending {
				t.Errorf("with the label: phase %s: %s", s.Phase, s.Message)
			}
		})
	}
}

// TestARunLongerThanThePolicyAllowsIsRefused, also where only the plan knows how long it takes.
func TestARunLongerThanThePolicyAllowsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.maxHold = 200 * time.Second // the parts take 75 s, and filling the files may take 180 s
	w.create("demo")
	w.wantFailed(v1alpha1.ReasonPolicyDenied, "policy.limits.maxHold", "3m20s")
	w = newWorld(t)
	w.create("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.FileSize = resource.MustParse("10Ti") })
	w.wantFailed(v1alpha1.ReasonPolicyDenied, "spec.workload.raw.fileSize: writing 2 files of 10Ti (20 TiB) takes 122h10m4s "+
		"on slow storage (50 MB/s). The policy of this cluster allows a run at most 24h0m0s: make workload.raw.fileSize smaller")
	if w.get("demo").Status.Queue != nil {
		t.Error("it waited for its turn")
	}
}

// TestNamesOfOtherNamespacesAreNotShown: they are the business of their tenants.
func TestNamesOfOtherNamespacesAreNotShown(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	address := newAddress()
	leases := func(o *world) {
		o.leaseNamespace = w.ns
		o.restart()
	}
	leases(w)
	leases(other)
	w.create("private-name", gen.Export("/x", address))
	w.until("private-name", v1alpha1.PhaseRunning)
	other.create("waits", gen.Export("/y", address))
	b := other.settle("waits")
	other.wantPhase(b, v1alpha1.PhaseQueued, "behind a benchmark of another namespace, which is Running")
	raw, err := json.Marshal(b.Status)
	if err != nil {
		t.Fatal(err)
	}
	if said := string(raw) + strings.Join(other.rec.events, ""); strings.Contains(said, "private-name") || strings.Contains(said, w.ns) {
		t.Errorf("another namespace is named: %s", said)
	}
}

// TestResultsOfANamespaceTakeNoMoreThanThePolicyAllows: a benchmark that ended counts, one of
// another namespace does not.
func TestResultsOfANamespaceTakeNoMoreThanThePolicyAllows(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	w.create("first")
	first := w.finish("first")
	w.wantPhase(first, v1alpha1.PhaseSucceeded)
	size := first.Status.ResultRef.Bytes
	if size < 500 {
		t.Fatalf("the result takes %d bytes", size)
	}
	w.resultBytes, other.resultBytes = size+1, size
	w.create("second")
	w.wantPhase(w.finish("second"), v1alpha1.PhaseSucceeded)
	w.create("third")
	w.wantPhase(w.settle("third"), v1alpha1.PhaseFailed, "policy.limits.resultBytes", "Delete finished benchmarks")
	other.create("demo")
	other.wantPhase(other.finish("demo"), v1alpha1.PhaseSucceeded)
}

// TestASpecThatIsTooLargeIsRefused: the cache of the manager holds the specs of all that wait, and a
// finalizer of somebody else, which the cache does not hold, stays.
func TestASpecThatIsTooLargeIsRefused(t *testing.T) {
	w := newWorld(t)
	expressions := make([]corev1.NodeSelectorRequirement, 8)
	for i := range expressions {
		expressions[i] = corev1.NodeSelectorRequirement{Key: "k", Operator: corev1.NodeSelectorOpIn, Values: make([]string, 32)}
		for j := range expressions[i].Values {
			expressions[i].Values[j] = strings.Repeat("x", 60)
		}
	}
	terms := slices.Repeat([]corev1.NodeSelectorTerm{{MatchExpressions: expressions}}, 4)
	large := gen.Benchmark("large", gen.In(w.ns), gen.Export("/x", newAddress()), gen.Suspended)
	others := []string{"example.com/other"}
	large.Finalizers = slices.Concat(others, []string{owned.Finalizer}) // a user may write it, too
	large.Spec.Pods = &v1alpha1.Pods{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}}
	large.Annotations = map[string]string{"a": strings.Repeat("x", 200<<10)}
	fits := gen.Benchmark("fits", gen.In(w.ns), gen.Export("/x", newAddress()))
	fits.Annotations, fits.Finalizers = large.Annotations, others
	long := large.DeepCopy()
	long.Name, long.Spec.Pods = "long", &v1alpha1.Pods{Annotations: map[string]string{"a": strings.Repeat("x", 1025)}}
	if err := w.c.Create(t.Context(), long); err == nil || !strings.Contains(err.Error(), "1024") {
		t.Errorf("an annotation of 1,025 characters: %v", err)
	}
	o := benchmark.CacheOptions([]string{w.ns}, w.ns)
	o.Scheme = scheme
	c, err := cache.New(restConfig, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = c.Start(ctx) }()
	cached := func(name string) *v1alpha1.NFSBenchmark {
		want, held := w.get(name), &v1alpha1.NFSBenchmark{}
		for held.ResourceVersion != want.ResourceVersion {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(want), held); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		return held
	}
	for _, b := range []*v1alpha1.NFSBenchmark{large, fits} {
		if err := w.c.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		for range 2 { // refuses and cleans up; or adds the finalizer and begins
			if _, err := w.r.Reconcile(t.Context(), cached(b.Name)); err != nil {
				t.Fatal(err)
			}
		}
		want, held := w.get(b.Name), cached(b.Name)
		if len(want.Finalizers) != 2 || len(held.Finalizers) != 1 || held.Annotations["a"] != "" {
			t.Errorf("%s: finalizers %v, in the cache %v", b.Name, want.Finalizers, held.Finalizers)
		}
	}
	if s := w.get("large").Status; s.Phase != v1alpha1.PhaseFailed || !strings.Contains(s.Message, "operator takes 65536") {
		t.Errorf("a large spec: phase %s: %s", s.Phase, s.Message)
	}
	w.wantCondition(w.get("large"), v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
	if s := w.get("fits").Status; s.Phase != v1alpha1.PhasePreparing {
		t.Errorf("large annotations: phase %s: %s", s.Phase, s.Message)
	}
	if err := w.c.Delete(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	if _, err := w.r.Reconcile(t.Context(), cached("large")); err != nil {
		t.Fatal(err)
	}
	if left := w.get("large").Finalizers; !slices.Equal(left, others) {
		t.Errorf("finalizers left: %v", left)
	}
}

// TestTheNodesMountAnEmbeddedServerOnlyWhereThePolicySaysSo: who may create pods makes one in its place, and
// the kernel of the node waits for it without end.
func TestTheNodesMountAnEmbeddedServerOnlyWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mods   []gen.Mod
		allows bool
		failed bool
	}{
		"kernel":    {[]gen.Mod{gen.Kernel}, false, true},
		"database":  {[]gen.Mod{gen.Oracle, gen.Calibrate(1)}, false, true},
		"allowed":   {[]gen.Mod{gen.Kernel}, true, false},
		"DirectNFS": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.limit = func(p *policy.Policy) {
				if p.Embedded.NodeMounts = nil; tc.allows {
					p.Embedded.NodeMounts = []string{w.ns}
				}
			}
			w.create("demo", append([]gen.Mod{gen.Embedded("10Gi", 1), gen.Suspended}, tc.mods...)...)
			b := w.settle("demo")
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: w.ns, Name: manifest.NamesOf(b).Server, Labels: manifest.Labels(b, manifest.ComponentServer),
				},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "example.com/server-of-the-tenant"}}},
			}
			if err := w.c.Create(t.Context(), pod); tc.failed && err != nil {
				t.Fatal(err)
			}
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
			s := w.settle("demo").Status
			if denied := s.Phase == v1alpha1.PhaseFailed && strings.Contains(s.Message, "policy.embedded.nodeMounts"); denied != tc.failed {
				t.Errorf("phase %s: %s", s.Phase, s.Message)
			}
			err := w.c.Get(t.Context(), keyOf(manifest.NamesOf(b).Volume), &corev1.PersistentVolume{})
			if tc.failed && !apierrors.IsNotFound(err) {
				t.Errorf("there is a volume: %v", err)
			}
		})
	}
}
