package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

// world is one namespace with a reconciler in it, and everything around the
// reconciler in the hands of the test.
type world struct {
	*testing.T

	c              client.WithWatch // past all faults; its objects have the dates of clock
	ns             string
	clock          *clocktesting.FakePassiveClock
	faults         *faults
	rec            *recorder
	r              *benchmark.Reconciler
	silent         bool                 // do not lint the status
	maxHold        time.Duration        // of the policy; 0 = its default
	limit          func(*policy.Policy) // changes the policy
	resultBytes    int64                // of the policy; 0 = its default
	policyErr      error                // of reading the policy
	leaseNamespace string               // empty = that of the world
	array          *tridentWorld        // Trident and its array; nil = there is none

	moments []string // of all writes so far, see moment
}

func newWorld(t *testing.T) *world {
	t.Helper()
	now := clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))
	c := onClock(remembering(apiClient(t)), now)
	w := &world{T: t, c: c, ns: newNamespace(t, c), faults: &faults{}, rec: &recorder{}, clock: now}
	w.restart()
	t.Cleanup(w.clear)
	return w
}

// restart is a new manager process.
func (w *world) restart() {
	w.faults.reset()
	w.r = benchmark.NewReconciler(benchmark.Options{
		Client: w.faults.cached(w.c), Reader: w.faults.direct(w.c), Recorder: w.rec, Clock: w.clock,
		Images: manifest.Images{NFSBench: "nfsbench:test", PullPolicy: corev1.PullIfNotPresent},
		Policy: w.policy, LeaseNamespace: w.leaseNamespace,
	})
	if w.array != nil {
		w.r.TridentNamespace = w.array.ns
	}
}

// policy allows every export, and the backend of the world's array.
func (w *world) policy(ctx context.Context) (policy.Policy, error) {
	p, err := gen.AnyExport(ctx)
	if w.policyErr != nil {
		return p, w.policyErr
	}
	if w.resultBytes != 0 {
		p.Limits.ResultBytes = *resource.NewQuantity(w.resultBytes, resource.BinarySI)
	}
	p.Limits.MaxHold.Duration = cmp.Or(w.maxHold, p.Limits.MaxHold.Duration)
	p.StorageClasses = []policy.StorageClass{{Name: "*", Namespaces: []string{w.ns}}}
	if w.array != nil {
		p.Backends = []policy.Backend{{Name: w.ns, Namespaces: []string{w.ns}, BackendSpec: w.array.backend}}
	}
	if w.limit != nil {
		w.limit(&p)
	}
	return p, err
}

// clear takes the benchmarks away, so that no other test waits for them.
func (w *world) clear() {
	ctx := context.Background() //nolint:usetesting // the test's own context is over
	list := &v1alpha1.NFSBenchmarkList{}
	_ = w.c.List(ctx, list, client.InNamespace(w.ns))
	for i := range list.Items {
		b := &list.Items[i]
		b.Finalizers = nil
		_ = w.c.Update(ctx, b)
		_ = w.c.Delete(ctx, b)
	}
}

// create makes a benchmark of two addresses that no other test uses.
func (w *world) create(name string, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	w.Helper()
	all := append([]gen.Mod{gen.In(w.ns), gen.Export("/vol/oradata", newAddress(), newAddress())}, mods...)
	b := gen.Benchmark(name, all...)
	for _, use := range plan.SecretUses(b) {
		w.secret(use.Name, map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed})
	}
	if err := w.c.Create(w.Context(), b); err != nil {
		w.Fatal(err)
	}
	return b
}

// secret makes a Secret, if it is not there.
func (w *world) secret(name string, labels map[string]string) {
	w.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name, Labels: labels}}
	if err := w.c.Create(w.Context(), s); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
}

// get reads a benchmark; nil when it is gone.
func (w *world) get(name string) *v1alpha1.NFSBenchmark {
	w.Helper()
	b := &v1alpha1.NFSBenchmark{}
	err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, b)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// pass is one reconciliation. It lints the status that comes out.
func (w *world) pass(name string) (ctrl.Result, error) {
	w.Helper()
	before := w.get(name)
	if before == nil {
		return ctrl.Result{}, nil
	}
	guarded := controllerutil.ContainsFinalizer(before, owned.Finalizer)
	done := len(w.faults.writes)
	res, err := w.r.Reconcile(w.Context(), before.DeepCopy())
	for _, write := range w.faults.writes[done:] {
		w.moments = append(w.moments, w.moment(write, before))
		if verb, _, _ := strings.Cut(write, " "); verb != "patch" && !guarded {
			w.Errorf("%s without a finalizer: %s", name, write)
		}
	}
	after := w.get(name)
	if after == nil || w.silent || err != nil && errors.Is(err, errDead) || after.Status.Phase == "" {
		return res, err
	}
	if !after.DeletionTimestamp.IsZero() {
		return res, err // a deletion writes no status
	}
	if !guarded && controllerutil.ContainsFinalizer(after, owned.Finalizer) {
		return res, err // the next pass does
	}
	if before.Status.Phase == "" {
		before = nil
	}
	for _, p := range statuscheck.Problems(before, after) {
		w.Errorf("status of %s: %s", name, p)
	}
	return res, err
}

// moment names a write by what it is and what the status said before, without
// what differs from run to run.
func (w *world) moment(write string, before *v1alpha1.NFSBenchmark) string {
	told := before.Status.Message
	if c := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionCleanedUp); c != nil && before.Status.Phase.IsFinished() {
		told = c.Message
	}
	text := strings.ReplaceAll(write+": "+told, w.ns, "")
	return regexp.MustCompile(`-[0-9a-f]{8}\b| with \d+ users?|\d\S*`).ReplaceAllString(text, "")
}

// settle passes until a pass writes nothing, and returns what then is.
func (w *world) settle(name string) *v1alpha1.NFSBenchmark {
	w.Helper()
	for range 12 {
		w.faults.writes = nil
		if _, err := w.pass(name); err != nil {
			w.Fatalf("reconcile %s: %v", name, err)
		}
		if len(w.faults.writes) == 0 {
			return w.get(name)
		}
	}
	w.Fatalf("%s does not settle: the last pass wrote %q", name, w.faults.writes)
	return nil
}

// step lets time pass. No other time passes in a world.
func (w *world) step(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// update changes a benchmark as its user does.
func (w *world) update(name string, change func(*v1alpha1.NFSBenchmark)) {
	w.Helper()
	b := w.get(name)
	change(b)
	if err := w.c.Update(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(name string) {
	w.Helper()
	if err := w.c.Delete(w.Context(), w.get(name)); err != nil {
		w.Fatal(err)
	}
}

// wantPhase fails the test unless the benchmark is in the phase and its message
// has all the words.
func (w *world) wantPhase(b *v1alpha1.NFSBenchmark, phase v1alpha1.Phase, words ...string) {
	w.Helper()
	if b.Status.Phase != phase {
		w.Fatalf("phase of %s is %s (%s), want %s", b.Name, b.Status.Phase, b.Status.Message, phase)
	}
	for _, word := range words {
		if !strings.Contains(b.Status.Message, word) {
			w.Errorf("message of %s does not say %q: %s", b.Name, word, b.Status.Message)
		}
	}
}

// wantCondition fails the test unless a condition says so; reason may be empty.
func (w *world) wantCondition(b *v1alpha1.NFSBenchmark, kind, status, reason string) {
	w.Helper()
	c := meta.FindStatusCondition(b.Status.Conditions, kind)
	if c == nil || string(c.Status) != status || (reason != "" && c.Reason != reason) {
		w.Errorf("condition %s of %s is %+v, want %s %s", kind, b.Name, c, status, reason)
	}
}

// recorder keeps events as "type reason note".
type recorder struct{ events []string }

var _ events.EventRecorder = &recorder{}

func (r *recorder) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	r.events = append(r.events, fmt.Sprintf("%s %s %s", kind, reason, fmt.Sprintf(note, args...)))
}

// reasons of the events so far, in order.
func (r *recorder) reasons() []string {
	var out []string
	for _, e := range r.events {
		out = append(out, strings.Fields(e)[1])
	}
	return out
}

func (r *recorder) count(reason string) int {
	return len(slices.DeleteFunc(r.reasons(), func(s string) bool { return s != reason }))
}
