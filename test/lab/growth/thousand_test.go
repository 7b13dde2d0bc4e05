package growth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

const (
	thousand = 1000 // finished benchmarks, at least
	running  = 20
	quiet    = time.Minute
	further  = 10 // benchmarks, on targets of their own

	// resultBytes is what a result of minutes takes, compressed; those of the test
	// have no series.
	resultBytes = 24 << 10

	// What the manager may take then.
	mostResident = 150 << 10 // KiB
	// mostMinute is how many benchmarks of the first few may cost as much CPU time as a
	// quiet minute. A share of a core would differ from machine to machine.
	mostMinute = 65
)

// steady is what the manager takes while a thousand benchmarks lie there finished and
// twenty run.
type steady struct {
	finished    int
	statusBytes int // of one of them
	resultBytes int
	start       time.Duration // of a manager that finds them all
	resident    int64         // KiB, the most over the quiet window
	peak        int64         // KiB, since the start of the manager
	core        float64       // share of one
	calls       calls         // over the window
	further     figures       // what a few more cost each
}

// thousand measures that. Most of the finished benchmarks are those of the waves; the
// others are copies of one that has run, most of them in suites.
func (w *world) thousand(binary string, first figures) steady {
	w.Helper()
	out := steady{}
	model := w.modelRun()
	runs := w.startSuites(suitesOver + suitesUnderWay)
	w.m.stop()
	out.statusBytes, out.resultBytes = w.writeFinished(model, runs, suitesOver)
	for i, r := range runs {
		phase := "Succeeded"
		if i >= suitesOver {
			phase = "Running"
		}
		w.playArgo(r, phase)
	}
	began := time.Now()
	w.m = w.k.startManager(w.T, binary)
	w.wantTables(runs[:suitesOver])
	w.m.idle(w.T)
	out.start = time.Since(began)

	held := w.startRunning(runs[suitesOver:], running)
	out.finished = w.finished()
	if out.finished < thousand {
		w.Errorf("only %d benchmarks have ended", out.finished)
	}
	w.quietWindow(&out)
	out.further = w.someMore("few among a thousand", held)
	measure.Expect(w.T, "what the manager holds among a thousand", "KiB", measure.AtMost(mostResident), float64(out.resident))
	minute := out.core * time.Minute.Seconds() / cpuEach(first)
	measure.Expect(w.T, "CPU time of a quiet minute", "of one of the first benchmarks", measure.AtMost(mostMinute), minute)
	return out
}

// modelRun runs the benchmark that is copied.
func (w *world) modelRun() *v1alpha1.NFSBenchmark {
	w.Helper()
	w.collectors.newWave()
	w.collectors.gate.shut()
	b := ramp("t00-model-000")
	if err := w.k.c.Create(w.Context(), b); err != nil {
		w.Fatal(err)
	}
	w.untilClean([]string{b.Name})
	if err := w.k.c.Get(w.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.Fatal(err)
	}
	if b.Status.Phase != v1alpha1.PhaseSucceeded || len(b.Status.Steps) != len(levels()) {
		w.Fatalf("the model is %s with %d steps: %s", b.Status.Phase, len(b.Status.Steps), b.Status.Message)
	}
	return b
}

func (w *world) untilClean(names []string) {
	w.Helper()
	eventually(w.T, patience, fmt.Sprintf("%d benchmarks have ended and are cleaned up", len(names)), func() bool {
		return w.h.count(func(r *run) bool { return slices.Contains(names, r.name) && r.clean }) == len(names)
	})
}

// writeFinished copies the model, with its result, into the suites. No manager is
// there, which would begin to run them.
func (w *world) writeFinished(model *v1alpha1.NFSBenchmark, runs []suiteRun, over int) (status, result int) {
	w.Helper()
	packed := w.packedResult(model, resultBytes)
	var group sync.WaitGroup
	for i, r := range runs {
		n := suiteCells * suiteRounds
		if i >= over {
			n = suiteDone
		}
		group.Go(func() {
			for slot := range n {
				if err := w.writeOne(model, packed, r.benchmark(slot), r.labels(slot)); err != nil {
					w.Errorf("write a finished benchmark of %s: %v", r.name, err)
					return
				}
			}
		})
	}
	group.Wait()
	for _, v := range packed.BinaryData {
		result += len(v)
	}
	return sizeOf(w.T, model.Status), result
}

// packedResult is the result of the model, with so many bytes that cannot be compressed.
func (w *world) packedResult(model *v1alpha1.NFSBenchmark, bytes int) *corev1.ConfigMap {
	w.Helper()
	packed := &corev1.ConfigMap{}
	noise := make([]byte, bytes)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	key := client.ObjectKey{Namespace: namespace, Name: manifest.NamesOf(model).Result}
	if err := w.k.c.Get(w.Context(), key, packed); err != nil {
		w.Fatal(err)
	}
	packed.BinaryData["growth.noise"] = noise
	return packed
}

func (w *world) writeOne(
	model *v1alpha1.NFSBenchmark, packed *corev1.ConfigMap, name string, labels map[string]string,
) error {
	b := model.DeepCopy()
	b.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels, Finalizers: model.Finalizers}
	b.Labels[labelWritten] = "true"
	st := b.Status
	if err := w.k.c.Create(w.Context(), b); err != nil {
		return err
	}
	names := manifest.NamesOf(b)
	b.Status = st
	b.Status.ResultRef.Name = names.Result
	if err := w.k.c.Status().Update(w.Context(), b); err != nil {
		return err
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.Result, Namespace: namespace, Labels: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("NFSBenchmark"))},
		},
		Data: packed.Data, BinaryData: packed.BinaryData,
	}
	for k, v := range packed.Labels {
		if v == manifest.NamesOf(model).Base {
			v = names.Base
		}
		cm.Labels[k] = v
	}
	return w.k.c.Create(w.Context(), cm)
}

// startRunning has n benchmarks run, and goes on publishing their progress: one
// of each suite that is under way, and others beside them.
func (w *world) startRunning(suites []suiteRun, n int) []string {
	w.Helper()
	var all []*v1alpha1.NFSBenchmark
	for _, r := range suites {
		b := ramp(r.benchmark(suiteDone))
		b.Labels = r.labels(suiteDone)
		all = append(all, b)
	}
	for i := range n - len(suites) {
		all = append(all, ramp(fmt.Sprintf("t%02d-run-000", i)))
	}
	var names []string
	for _, b := range all {
		names = append(names, b.Name)
	}
	w.collectors.newWave()
	w.collectors.hold(names)
	for _, b := range all {
		if err := w.k.c.Create(w.Context(), b); err != nil {
			w.Fatal(err)
		}
	}
	eventually(w.T, patience, fmt.Sprintf("%d benchmarks run", n), func() bool {
		return w.h.count(func(r *run) bool {
			return slices.Contains(names, r.name) && r.started && r.last.Status.Phase == v1alpha1.PhaseRunning
		}) == n
	})
	return names
}

func (w *world) finished() int {
	w.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := w.k.c.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
		w.Fatal(err)
	}
	n := 0
	for i := range list.Items {
		if list.Items[i].Status.Phase.IsFinished() {
			n++
		}
	}
	return n
}

// quietWindow looks at the manager while nothing changes but progress.
func (w *world) quietWindow(out *steady) {
	w.Helper()
	time.Sleep(5 * time.Second) // what starting them has left to do
	w.audit.read(w.T)
	cpu, began := w.m.cpu(w.T), time.Now()
	for time.Since(began) < quiet {
		time.Sleep(2 * time.Second)
		out.resident = max(out.resident, w.m.memory(w.T, "VmRSS"))
	}
	out.core = (w.m.cpu(w.T) - cpu).Seconds() / time.Since(began).Seconds()
	out.calls = w.audit.read(w.T)
	out.peak = w.m.memory(w.T, "VmHWM")
}

// someMore runs a few benchmarks beside those that are held, which are silent
// meanwhile, and lets those end after that.
func (w *world) someMore(label string, held []string) figures {
	w.Helper()
	w.collectors.hush()
	time.Sleep(3 * time.Second)
	w.audit.read(w.T)
	before, cpu, began := w.m.metrics(w.T), w.m.cpu(w.T), time.Now()
	w.serial++
	var names []string
	for i := range further {
		name := fmt.Sprintf("m%02d-more-%03d", i, w.serial)
		names = append(names, name)
		array := targetOf(name) + ".growth.example"
		if err := w.k.c.Create(w.Context(), gen.Benchmark(name, gen.In(namespace), gen.Export("/vol/oradata", "a."+array, "b."+array))); err != nil {
			w.Fatal(err)
		}
	}
	w.untilClean(names)
	after := w.m.metrics(w.T)
	f := figures{
		name: label, benchmarks: further, seconds: time.Since(began).Seconds(), calls: w.audit.read(w.T), cpu: w.m.cpu(w.T) - cpu,
		reconciles: after[metricReconciles] - before[metricReconciles], errors: after[metricErrors] - before[metricErrors],
	}
	w.collectors.release()
	w.untilClean(held)
	w.wantSuccess(append(names, held...))
	return f
}
