package growth

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// memory is what the manager holds.
type memory struct {
	benchmarks int
	resident   int64   // KiB
	peak       int64   // KiB, since its start
	heap       float64 // KiB alive, which is the least that was seen over a while
	goroutines float64
}

// memory looks at the manager now.
func (w *world) memory() memory {
	w.Helper()
	now := w.m.idle(w.T)
	return memory{
		benchmarks: w.h.count(func(*run) bool { return true }),
		resident:   w.m.memory(w.T, "VmRSS"), peak: w.m.memory(w.T, "VmHWM"),
		heap: now[metricHeap] / 1024, goroutines: now[metricGoroutines],
	}
}

// stretch has all finished benchmarks reconciled again and again, as resyncs of
// days would do, and looks at the manager after each round.
func (w *world) stretch() []memory {
	w.Helper()
	var out []memory
	for round := range rounds {
		least := math.Inf(1)
		before := w.m.metrics(w.T)[metricReconciles]
		touched := w.touchAll(round)
		eventually(w.T, patience, fmt.Sprintf("all are reconciled in round %d", round), func() bool {
			now := w.m.metrics(w.T)
			least = min(least, now[metricHeap]/1024)
			return now[metricReconciles] >= before+float64(touched)
		})
		m := w.memory()
		m.heap = min(m.heap, least)
		out = append(out, m)
	}
	return out
}

// touchAll changes every benchmark in something that means nothing.
func (w *world) touchAll(round int) int {
	w.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := w.k.c.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
		w.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{"growth.nfsbench.io/round":"%d"}}}`, round)
	for i := range list.Items {
		if err := w.k.c.Patch(w.Context(), &list.Items[i], client.RawPatch(types.MergePatchType, body)); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Millisecond) // or several changes would be one pass
	}
	return len(list.Items)
}

// wantFlat compares the later rounds with the earlier ones; the first is a
// warm-up. The least of several rounds is what is really held.
func (w *world) wantFlat(all []memory) {
	w.Helper()
	half := (len(all) + 1) / 2
	early, late := least(all[1:half]), least(all[half:])
	w.wantRatio("resident KiB after more rounds", float64(late.resident), float64(early.resident), mostMemory)
	w.wantRatio("KiB alive on the heap after more rounds", late.heap, early.heap, mostMemory)
	if late.goroutines > early.goroutines+moreGoroutines {
		w.Errorf("%.0f goroutines after more rounds, %.0f before", late.goroutines, early.goroutines)
	}
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
