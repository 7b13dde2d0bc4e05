package growth

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

const (
	tenThousand  = 10_000
	hundred      = 100 // running benchmarks
	manyOver     = 40  // suites that have ended
	manyUnderWay = 10
	smallResult  = 20 << 10
	largeResult  = 200 << 10
	strangers    = 1000 // ConfigMaps of somebody else with the label of the operator
	writers      = 12
	mostOfSize   = 1.1  // the memory with large results, as a multiple of that with small ones
	mostOfCore   = 0.20 // while a hundred benchmarks run
	// mostCallsMore has room for the requests of the suites and the hundred that run meanwhile.
	mostCallsMore = 1.8
	firstPassTime = 30 * time.Second
	mostOfMany    = 170 << 10 // KiB that the manager may take among ten thousand
)

// point is what a manager takes that starts among so many benchmarks.
type point struct {
	what      string
	resident  int64 // KiB
	peak      int64
	heap      float64       // KiB alive
	firstPass time.Duration // from the start of the process
	idle      time.Duration
}

// TestMeasureTenThousandFinishedBenchmarks writes finished benchmarks while no
// manager runs, and starts one among 100, 1,000 and 10,000 of them.
func TestMeasureTenThousandFinishedBenchmarks(t *testing.T) {
	skipWithout(t)
	w, binary := startWorld(t)
	model := w.modelRun()
	first := w.someMore("first", nil)
	runs := w.startSuites(manyOver + manyUnderWay)
	for _, r := range runs {
		w.playArgo(r, "Running")
	}
	w.m.stop()

	small := w.packedResult(model, smallResult)
	w.writeAlone(model, small, 0, 100)
	points := []point{w.restart(binary, "100")}
	w.m.stop()
	w.writeAlone(model, small, 100, thousand)
	points = append(points, w.restart(binary, "1,000"))
	w.m.stop()
	w.enlarge(thousand, w.packedResult(model, largeResult))
	points = append(points, w.restart(binary, "1,000, results of 200 KiB"))
	w.m.stop()
	w.writeStrangers()
	points = append(points, w.restart(binary, "1,000, and 1,000 ConfigMaps of a stranger"))
	w.m.stop()
	w.writeFinished(model, runs, manyOver)
	w.writeAlone(model, small, thousand, tenThousand-manyOver*suiteCells*suiteRounds-manyUnderWay*suiteDone)
	for _, r := range runs[:manyOver] {
		w.playArgo(r, "Succeeded")
	}
	points = append(points, w.restart(binary, "10,000"))
	w.wantTables(runs[:manyOver])

	now := steady{finished: w.finished()}
	held := w.startRunning(runs[manyOver:], hundred)
	w.quietWindow(&now)
	now.further = w.someMore("among ten thousand", held)
	w.little(points, now)
	w.ratio("API calls of a benchmark among ten thousand", calledEach(now.further), calledEach(first), mostCallsMore)
	w.ratio("CPU time of a benchmark among ten thousand", cpuEach(now.further), cpuEach(first), 1.5*mostCPU)
	w.reportPoints(points, first, now)
}

// little holds the figures against what the manager may take.
func (w *world) little(points []point, now steady) {
	w.Helper()
	if now.finished < tenThousand {
		w.Errorf("only %d benchmarks have ended", now.finished)
	}
	w.ratio("resident KiB with results ten times as large", float64(points[2].resident), float64(points[1].resident), mostOfSize)
	w.ratio("resident KiB with ConfigMaps of a stranger", float64(points[3].resident), float64(points[1].resident), mostOfSize)
	measure.Expect(w.T, "what the manager holds among ten thousand", "KiB", measure.AtMost(mostOfMany), float64(now.resident))
	measure.Expect(w.T, "a hundred running benchmarks", "% of a core", measure.AtMost(100*mostOfCore), 100*now.core)
	for _, p := range points {
		measure.Expect(w.T, "the first pass among "+p.what, "s", measure.AtMost(firstPassTime.Seconds()), p.firstPass.Seconds())
	}
}

// restart starts a manager and waits until it has nothing to do.
func (w *world) restart(binary, what string) point {
	w.Helper()
	began := time.Now()
	w.m = w.k.startManager(w.T, binary)
	p := point{what: what}
	eventually(w.T, patience, "the first pass", func() bool { return w.m.metrics(w.T)[metricReconciles] > 0 })
	p.firstPass = time.Since(began)
	now := w.empty()
	p.idle = time.Since(began)
	p.resident, p.peak, p.heap = w.m.memory(w.T, "VmRSS"), w.m.memory(w.T, "VmHWM"), alive(now)
	w.Logf("%+v", p)
	return p
}

// empty waits until nothing waits for a pass. The suites under way have one every ten seconds,
// so the manager is never idle for long.
func (w *world) empty() metrics {
	w.Helper()
	const wanted = 20 // polls of 100 ms
	var last metrics
	seen := 0
	eventually(w.T, patience, "no object waits for a pass", func() bool {
		if last = w.m.metrics(w.T); last[metricDepth] == 0 {
			seen++
		} else {
			seen = 0
		}
		return seen >= wanted
	})
	return last
}

func nameAlone(i int) string { return fmt.Sprintf("p%05d-0", i) }

// writeAlone writes finished benchmarks that belong to no suite.
func (w *world) writeAlone(model *v1alpha1.NFSBenchmark, packed *corev1.ConfigMap, from, to int) {
	w.Helper()
	w.parallel(from, to, func(i int) error {
		return w.writeOne(model, packed, nameAlone(i), map[string]string{})
	})
}

// enlarge gives the first n benchmarks larger results.
func (w *world) enlarge(n int, packed *corev1.ConfigMap) {
	w.Helper()
	body, err := json.Marshal(map[string]any{"binaryData": packed.BinaryData})
	if err != nil {
		w.Fatal(err)
	}
	w.parallel(0, n, func(i int) error {
		b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Name: nameAlone(i)}}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: manifest.NamesOf(b).Result}}
		return w.k.c.Patch(w.Context(), cm, client.RawPatch(types.MergePatchType, body))
	})
}

// writeStrangers writes ConfigMaps that only look like those of the operator.
func (w *world) writeStrangers() {
	w.Helper()
	w.parallel(0, strangers, func(i int) error {
		return w.k.c.Create(w.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("stranger-%d", i),
				Labels:      map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
				Annotations: map[string]string{"a": strings.Repeat("x", 20<<10)},
			},
			Data: map[string]string{"client-0.progress.json": strings.Repeat("x", largeResult)},
		})
	})
}

func (w *world) parallel(from, to int, do func(int) error) {
	w.Helper()
	var group sync.WaitGroup
	for part := range writers {
		group.Go(func() {
			for i := from + part; i < to; i += writers {
				if err := do(i); err != nil {
					w.Errorf("write object %d: %v", i, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func (w *world) reportPoints(points []point, first figures, now steady) {
	w.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "\n| finished | resident MiB | peak MiB | heap alive MiB | s to the first pass | s until idle |\n|---|---:|---:|---:|---:|---:|\n")
	for _, p := range points {
		fmt.Fprintf(&out, "| %s | %.1f | %.1f | %.1f | %.1f | %.1f |\n", p.what, float64(p.resident)/1024, float64(p.peak)/1024,
			p.heap/1024, p.firstPass.Seconds(), p.idle.Seconds())
	}
	fmt.Fprintf(&out, "\n%d finished, %d running: resident %.1f MiB, peak %.1f MiB, %.1f %% of a core, %.1f API calls a second\n",
		now.finished, hundred, float64(now.resident)/1024, float64(now.peak)/1024, 100*now.core, float64(now.calls.sum())/quiet.Seconds())
	for _, f := range []figures{first, now.further} {
		fmt.Fprintf(&out, "%s: %.1f API calls, %.0f ms of CPU time for each benchmark\n", f.name, calledEach(f), 1000*cpuEach(f))
	}
	w.Logf("\n%s", out.String())
	file := os.Getenv(envReport)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // for people to read
	if err != nil {
		w.Fatal(err)
	}
	_, err = f.WriteString(out.String())
	if err = errors.Join(err, f.Close()); err != nil {
		w.Error(err)
	}
}
