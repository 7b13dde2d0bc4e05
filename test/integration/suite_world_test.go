package integration

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/controllers/suite"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

// suiteWorld is one namespace with one suite in it. The test plays Argo, and the
// operator of benchmarks.
type suiteWorld struct {
	*testing.T

	c      client.WithWatch // past all faults
	ns     string
	name   string
	clock  *clocktesting.FakePassiveClock
	faults *faults
	rec    *recorder
	r      *suite.Reconciler

	ends     func(*v1alpha1.NFSBenchmark) suiteEnding // how benchmarks end; nil = well
	schedule int                                      // runs that the clock has started
	killed   bool                                     // at each write
	missing  *pass.Fact                               // what each benchmark would wait for
}

// argoKinds are of the one API server that all tests share.
var argoKinds = struct {
	sync.Mutex
	served bool
}{}

// installArgo installs the kinds of Argo, if they are not.
func installArgo(t *testing.T) {
	t.Helper()
	argoKinds.Lock()
	defer argoKinds.Unlock()
	if argoKinds.served {
		return
	}
	if _, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{argoFolder()}}); err != nil {
		t.Fatal(err)
	}
	argoKinds.served = true
}

// uninstallArgo takes the kinds of Argo away, with all that is of them.
func uninstallArgo(t *testing.T) {
	t.Helper()
	argoKinds.Lock()
	defer argoKinds.Unlock()
	if err := envtest.UninstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{argoFolder()}}); err != nil {
		t.Fatal(err)
	}
	argoKinds.served = false
}

func argoFolder() string { return filepath.Join("testdata", "argo") }

// checker compiles the CRD once for all tests: it is what takes longest.
var checker = sync.OnceValues(crdcheck.New)

func newSuiteWorld(t *testing.T, mods ...gen.SuiteMod) *suiteWorld {
	t.Helper()
	c := remembering(apiClient(t))
	installArgo(t)
	return suiteWorldOn(t, c, mods...)
}

func suiteWorldOn(t *testing.T, c client.WithWatch, mods ...gen.SuiteMod) *suiteWorld {
	t.Helper()
	now := clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))
	c = onClock(c, now)
	w := &suiteWorld{T: t, c: c, ns: newNamespace(t, c), name: "depths", faults: &faults{}, rec: &recorder{}, clock: now}
	w.restart()
	in := func(s *v1alpha1.NFSBenchmarkSuite) { s.Namespace = w.ns }
	if err := c.Create(t.Context(), gen.Suite(w.name, append([]gen.SuiteMod{in}, mods...)...)); err != nil {
		t.Fatal(err)
	}
	return w
}

// restart is a new manager process.
func (w *suiteWorld) restart() {
	w.Helper()
	check, err := checker()
	if err != nil {
		w.Fatal(err)
	}
	w.faults.reset()
	if w.killed {
		w.faults.killAt = 1
	}
	w.r = suite.NewReconciler(suite.Options{
		Client: w.cached(), Reader: w.faults.direct(w.c), Recorder: w.rec, Clock: w.clock, Checker: check,
		Missing: func(context.Context, *v1alpha1.NFSBenchmark) (*pass.Fact, error) { return w.missing, nil },
	})
}

// cached is the client of the reconciler, with the indexes of its cache.
func (w *suiteWorld) cached() client.Client {
	funcs := w.faults.funcs()
	funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		return w.faults.read(list, func() error { return listByIndex(ctx, c, suite.Indexes(), list, opts...) })
	}
	return interceptor.NewClient(w.c, funcs)
}

// get reads the suite.
func (w *suiteWorld) get() *v1alpha1.NFSBenchmarkSuite {
	w.Helper()
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.ns, Name: w.name}, s); err != nil {
		w.Fatal(err)
	}
	return s
}

// pass is one reconciliation. It lints the status that comes out.
func (w *suiteWorld) pass() (ctrl.Result, error) {
	w.Helper()
	before := w.get()
	res, err := w.r.Reconcile(w.Context(), before.DeepCopy())
	if w.faults.dead {
		return res, err
	}
	after := w.get()
	if before.Status.Phase == "" {
		before = nil
	}
	for _, p := range statuscheck.SuiteProblems(before, after) {
		w.Errorf("status: %s", p)
	}
	return res, err
}

// settle passes until a pass writes nothing, and returns what then is. A manager
// that is killed at each write is started again.
func (w *suiteWorld) settle() *v1alpha1.NFSBenchmarkSuite {
	w.Helper()
	for range 40 {
		w.faults.writes = nil
		_, err := w.pass()
		switch {
		case w.faults.dead:
			w.restart()
		case err != nil:
			w.Fatalf("reconcile: %v", err)
		case len(w.faults.writes) == 0:
			return w.get()
		}
	}
	w.Fatalf("it does not settle: the last pass wrote %q", w.faults.writes)
	return nil
}

// step lets time pass.
func (w *suiteWorld) step(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// update changes the suite as its user does.
func (w *suiteWorld) update(change func(*v1alpha1.NFSBenchmarkSuite)) {
	w.Helper()
	s := w.get()
	change(s)
	if err := w.c.Update(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

// annotate sets an annotation of the suite.
func (w *suiteWorld) annotate(name, value string) {
	w.Helper()
	w.update(func(s *v1alpha1.NFSBenchmarkSuite) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[name] = value
	})
}

// until lets manager and cluster take turns until something is so.
func (w *suiteWorld) until(what string, ok func(*v1alpha1.NFSBenchmarkSuite) bool) *v1alpha1.NFSBenchmarkSuite {
	w.Helper()
	idle := 0
	for range 400 {
		w.faults.writes = nil
		_, err := w.pass()
		switch {
		case w.faults.dead:
			w.restart()
			continue
		case err != nil:
			w.Fatalf("reconcile: %v", err)
		}
		if s := w.get(); ok(s) {
			return s
		}
		did := w.argo()
		if did == "" && len(w.faults.writes) == 0 {
			w.step(40 * time.Second)
			idle++
		} else {
			idle = 0
		}
		if s := w.get(); idle > 3 {
			w.Fatalf("it stops before %s: %s: %s", what, s.Status.Phase, s.Status.Message)
		}
	}
	w.Fatalf("it never comes to %s", what)
	return nil
}

// phase lets both take turns until the suite is in a phase.
func (w *suiteWorld) phase(p v1alpha1.SuitePhase) *v1alpha1.NFSBenchmarkSuite {
	w.Helper()
	w.until(string(p), func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Phase == p })
	return w.settle()
}

// finished lets so many benchmarks of the run end.
func (w *suiteWorld) finished(n int32) *v1alpha1.NFSBenchmarkSuite {
	w.Helper()
	return w.until("benchmarks end", func(s *v1alpha1.NFSBenchmarkSuite) bool { return s.Status.Run != nil && s.Status.Run.Finished >= n })
}

// says fails the test unless the message has all the words.
func (w *suiteWorld) says(s *v1alpha1.NFSBenchmarkSuite, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(s.Status.Message, word) {
			w.Errorf("the message does not say %q: %s", word, s.Status.Message)
		}
	}
}

// want fails the test unless a condition says so; reason may be empty.
func (w *suiteWorld) want(s *v1alpha1.NFSBenchmarkSuite, kind, status, reason string) {
	w.Helper()
	c := meta.FindStatusCondition(s.Status.Conditions, kind)
	if c == nil || string(c.Status) != status || (reason != "" && c.Reason != reason) {
		w.Errorf("condition %s is %+v, want %s %s", kind, c, status, reason)
	}
}

// benchmarks lists them by their position and name.
func (w *suiteWorld) benchmarks() []v1alpha1.NFSBenchmark {
	w.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := w.c.List(w.Context(), list, client.InNamespace(w.ns)); err != nil {
		w.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.NFSBenchmark) int {
		order := func(b v1alpha1.NFSBenchmark) string { return b.Labels[v1alpha1.LabelPosition] + " " + b.Name } // fewer than ten
		return strings.Compare(order(a), order(b))
	})
	return list.Items
}

// objects lists objects of Argo, oldest first.
func (w *suiteWorld) objects(kind string) []unstructured.Unstructured {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("argoproj.io/v1alpha1")
	list.SetKind(kind + "List")
	err := w.c.List(w.Context(), list, client.InNamespace(w.ns))
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		w.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		if c := at.Compare(bt.Time); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return list.Items
}
