package growth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

const (
	targets = 25
	one     = targets // a target
	few     = 2 * targets
	many    = 20 * targets

	// What one benchmark among many may cost, as a multiple of one among few:
	// the same, but for the news of its place in the queue, and for noise.
	mostCalls = 1.3
	mostCPU   = 2.0
	// What may lie between the first and the last of the same work done again:
	// noise. Memory that grows with the work does not stay below it.
	mostMemory     = 1.25
	moreGoroutines = 10

	// mostHeld is how many KiB of heap a benchmark that has ended may take, with
	// the objects of it that the manager watches.
	mostHeld = 64

	// All finished benchmarks are reconciled again so many times in each of so
	// many rounds: about as many passes as there were before.
	rounds  = 5
	touches = 2

	// patience is for a machine that has much else to do.
	patience = 8 * time.Minute
	// news is how long a place in a status may be out of date, which is 30 s, on
	// such a machine.
	news = 3 * time.Minute
)

// world is the test at work.
type world struct {
	*testing.T

	k          *cluster
	m          *manager
	h          *history
	collectors *collectors
	audit      *auditLog
	serial     int
}

// figures are what a wave of benchmarks cost.
type figures struct {
	name       string
	benchmarks int
	calls      calls
	cpu        time.Duration
	reconciles float64
	errors     float64
	seconds    float64
}

func (f figures) perBenchmark(n float64) float64 { return n / float64(f.benchmarks) }

// startWorld starts a cluster with the manager, and returns its binary for another start.
func startWorld(t *testing.T) (w *world, binary string) {
	t.Helper()
	binary = buildManager(t)
	k := newCluster(t)
	w = &world{T: t, k: k, collectors: newCollectors(t, k), audit: &auditLog{file: k.audit}}
	w.h = follow(t, k, w.collectors.see)
	w.m = k.startManager(t, binary)
	return w, binary
}

// TestMeasureFiveHundredBenchmarksAtOnce holds what each of many costs against what one of few
// costs. On the way it looks at the order of the runs, which must be right.
func TestMeasureFiveHundredBenchmarksAtOnce(t *testing.T) {
	skipWithout(t)
	w, binary := startWorld(t)
	w.m.idle(t)

	w.wave("warm-up", one)
	first := w.wave("few", few, 1)
	small := w.memory()
	crowd := w.wave("many", many, 1, 4)
	last := w.wave("few among the finished", few, 1)
	again := w.stretch()
	thousand := w.thousand(binary, first)
	if err := w.h.err(); err != nil {
		t.Errorf("what must never be was seen:\n%v", err)
	}
	w.report([]figures{first, crowd, last, thousand.further}, append([]memory{small}, again...), thousand)
	w.ratio("API calls of a benchmark among many", calledEach(crowd), calledEach(first), mostCalls)
	w.ratio("API calls of a benchmark after many", calledEach(last), calledEach(first), mostCalls)
	w.ratio("CPU time of a benchmark among many", cpuEach(crowd), cpuEach(first), mostCPU)
	w.ratio("CPU time of a benchmark after many", cpuEach(last), cpuEach(first), mostCPU)
	w.ratio("API calls of a benchmark among a thousand", calledEach(thousand.further), calledEach(first), mostCalls)
	w.flat(small, again)
}

func calledEach(f figures) float64 { return f.perBenchmark(float64(f.calls.sum())) }
func cpuEach(f figures) float64    { return f.perBenchmark(f.cpu.Seconds()) }

// ratio records an amount as a multiple of what it was before.
func (w *world) ratio(what string, got, base, most float64) {
	w.Helper()
	measure.Ratio(w.T, what, "that before", measure.AtMost(most), []float64{got}, []float64{base})
}

// wave applies n benchmarks at once and waits until nothing but their results
// is left. On the way it holds the given runs of every target, and looks at the
// queues meanwhile.
func (w *world) wave(name string, n int, looks ...int) figures {
	w.Helper()
	w.collectors.newWave()
	w.collectors.gate.shut(looks...)
	w.audit.read(w.T)
	before, cpu, began := w.m.idle(w.T), w.m.cpu(w.T), time.Now()
	all := w.apply(n)
	for _, turn := range looks {
		eventually(w.T, patience, fmt.Sprintf("run %d of every target is under way", turn), func() bool {
			return w.collectors.gate.holds(turn) == targets
		})
		w.wantPlaces(turn)
		w.collectors.gate.open(turn)
	}
	eventually(w.T, patience, "all have ended and are cleaned up", func() bool {
		return w.h.count(func(r *run) bool { return slices.Contains(all, r.name) && r.clean }) == n
	})
	took := time.Since(began).Seconds()
	after := w.m.idle(w.T)
	w.wantSuccess(all)
	return figures{
		name: name, benchmarks: n, seconds: took, calls: w.audit.read(w.T), cpu: w.m.cpu(w.T) - cpu,
		reconciles: after[metricReconciles] - before[metricReconciles], errors: after[metricErrors] - before[metricErrors],
	}
}

// apply creates n benchmarks, several at a time. Their names tell their target
// and nothing of the order in which they are created.
func (w *world) apply(n int) []string {
	w.Helper()
	order := rand.New(rand.NewPCG(uint64(n), uint64(w.serial))).Perm(n)
	names := make([]string, n)
	for i, place := range order {
		names[i] = fmt.Sprintf("t%02d-w%d-%03d", i%targets, w.serial, place)
	}
	w.serial++
	var group sync.WaitGroup
	for part := range slices.Chunk(names, (n+7)/8) {
		group.Go(func() {
			for _, name := range part {
				array := targetOf(name) + ".growth.example"
				b := gen.Benchmark(name, gen.In(namespace), gen.Export("/vol/oradata", "a."+array, "b."+array))
				if err := w.k.c.Create(w.Context(), b); err != nil {
					w.Errorf("create %s: %v", name, err)
				}
			}
		})
	}
	group.Wait()
	return names
}

// wantPlaces waits until every waiting benchmark has its true place in its
// status, while the given run of each target is under way.
func (w *world) wantPlaces(turn int) {
	w.Helper()
	var wrong []string
	for end := time.Now().Add(news); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		list := &v1alpha1.NFSBenchmarkList{}
		if err := w.k.c.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
			w.Fatal(err)
		}
		if wrong = misplaced(list.Items); len(wrong) == 0 {
			return
		}
	}
	w.Errorf("while run %d of each target is under way, %d places in the queues are wrong:\n%s",
		turn, len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"))
}

// misplaced lists whose status does not tell the place that the age and the
// name of all give.
func misplaced(all []v1alpha1.NFSBenchmark) []string {
	var wrong []string
	queues := map[string][]v1alpha1.NFSBenchmark{}
	for _, b := range all {
		if !b.Status.Phase.IsFinished() {
			queues[targetOf(b.Name)] = append(queues[targetOf(b.Name)], b)
		}
	}
	for _, q := range queues {
		slices.SortFunc(q, func(a, b v1alpha1.NFSBenchmark) int {
			if a.Status.StartTime != nil || b.Status.StartTime != nil {
				if a.Status.StartTime != nil {
					return -1
				}
				return 1
			}
			if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
				return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
			}
			return strings.Compare(a.Name, b.Name)
		})
		for i, b := range q[1:] {
			at := b.Status.Queue
			if at == nil || int(at.Position) != i+1 || at.Behind != namespace+"/"+q[0].Name {
				wrong = append(wrong, fmt.Sprintf("%s is %s and tells %+v; it is %d behind %s", b.Name, b.Status.Phase, at, i+1, q[0].Name))
			}
		}
	}
	return wrong
}

// wantSuccess fails the test unless all have succeeded.
func (w *world) wantSuccess(names []string) {
	w.Helper()
	bad := 0
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	for _, name := range names {
		if b := w.h.runs[name].last; b.Status.Phase != v1alpha1.PhaseSucceeded {
			if bad++; bad <= 5 {
				w.Errorf("%s is %s: %s", name, b.Status.Phase, b.Status.Message)
			}
		}
	}
	if bad > 0 {
		w.Errorf("%d of %d did not succeed", bad, len(names))
	}
}
