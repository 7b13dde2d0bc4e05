package growth

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// memory is what the manager holds.
type memory struct {
	benchmarks int
	resident   int64   // KiB
	peak       int64   // KiB, since its start
	heap       float64 // KiB that the last garbage collection found alive
	goroutines float64
}

// memory looks at the manager now.
func (w *world) memory() memory {
	w.Helper()
	now := w.m.idle(w.T)
	return memory{
		benchmarks: w.h.count(func(*run) bool { return true }),
		resident:   w.m.memory(w.T, "VmRSS"), peak: w.m.memory(w.T, "VmHWM"),
		heap: alive(now), goroutines: now[metricGoroutines],
	}
}

// alive is how many KiB the last garbage collection found alive: the next one begins when
// there is more by so many percent. What is allocated at some moment says more about the time
// since the last one.
func alive(m metrics) float64 { return m[metricNextGC] / (1 + m[metricGOGC]/100) / 1024 }

// stretch has all finished benchmarks reconciled again and again, as resyncs of
// days would do, and looks at the manager after each round.
func (w *world) stretch() []memory {
	w.Helper()
	var out []memory
	for round := range rounds {
		before := w.m.metrics(w.T)[metricReconciles]
		for i := range touches {
			w.touchAll(1 + round*touches + i)
		}
		m := w.memory()
		out = append(out, m)
		eventually(w.T, patience, "every status is that of the newest spec", func() bool {
			return w.h.count(func(r *run) bool { return isBehind(r.last) }) == 0
		})
		// Changes that come close together are one pass.
		if passes := w.m.metrics(w.T)[metricReconciles] - before; passes < float64(m.benchmarks*touches)/2 {
			w.Errorf("round %d made %.0f passes over %d benchmarks, want several over each", round, passes, m.benchmarks)
		}
	}
	return out
}

// touchAll changes the time that every benchmark leaves its objects for. It means nothing once they are gone, but a
// change of the spec wakes the operator, and an annotation does not.
func (w *world) touchAll(seconds int) {
	w.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := w.k.c.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
		w.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"spec":{"ttlSecondsAfterFinished":%d}}`, seconds)
	var group sync.WaitGroup
	for part := range slices.Chunk(list.Items, len(list.Items)/8+1) {
		group.Go(func() {
			for i := range part {
				if err := w.k.c.Patch(w.Context(), &part[i], client.RawPatch(types.MergePatchType, body)); err != nil {
					w.Errorf("touch %s: %v", part[i].Name, err)
				}
			}
		})
	}
	group.Wait()
}

// flat compares the later rounds with the earlier ones; the first is a
// warm-up. The least of several rounds is what is really held. What the waves
// themselves left shows in the memory of each benchmark since the first few.
func (w *world) flat(small memory, all []memory) {
	w.Helper()
	half := (len(all) + 1) / 2
	early, late := least(all[1:half]), least(all[half:])
	w.ratio("resident KiB after more rounds", float64(late.resident), float64(early.resident), mostMemory)
	w.ratio("KiB alive on the heap after more rounds", late.heap, early.heap, mostMemory)
	measure.Expect(w.T, "more goroutines after all than after the first few", "", measure.AtMost(moreGoroutines), late.goroutines-small.goroutines)
	each := (early.heap - small.heap) / float64(early.benchmarks-small.benchmarks)
	measure.Expect(w.T, "heap of a benchmark that has ended", "KiB", measure.AtMost(mostHeld), each)
}

func least(all []memory) memory {
	out := all[0]
	for _, m := range all[1:] {
		out.resident = min(out.resident, m.resident)
		out.heap = min(out.heap, m.heap)
		out.goroutines = min(out.goroutines, m.goroutines)
	}
	return out
}
