package growth

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// report writes the figures as Markdown, to the test's log and to a file where
// one is named.
func (w *world) report(waves []figures, held []memory, now steady) {
	w.Helper()
	var out strings.Builder
	fmt.Fprint(&out, "| per benchmark |")
	for _, f := range waves {
		fmt.Fprintf(&out, " %d, %s |", f.benchmarks, f.name)
	}
	fmt.Fprintf(&out, "\n|---|%s\n", strings.Repeat("---:|", len(waves)))
	row := func(name string, value func(figures) float64, digits int) {
		fmt.Fprintf(&out, "| %s |", name)
		for _, f := range waves {
			fmt.Fprintf(&out, " %.*f |", digits, f.perBenchmark(value(f)))
		}
		fmt.Fprintln(&out)
	}
	keys := map[string]bool{}
	for _, f := range waves {
		for k := range f.calls {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		row(k, func(f figures) float64 { return float64(f.calls[k]) }, 2)
	}
	row("**all API calls**", func(f figures) float64 { return float64(f.calls.sum()) }, 1)
	row("passes of the reconciler", func(f figures) float64 { return f.reconciles }, 1)
	row("passes that ended in an error", func(f figures) float64 { return f.errors }, 2)
	row("CPU milliseconds of the manager", func(f figures) float64 { return f.cpu.Seconds() * 1000 }, 1)
	row("seconds of wall time", func(f figures) float64 { return f.seconds }, 2)

	fmt.Fprintln(&out, "\n| benchmarks held | resident MiB | peak MiB | heap alive MiB | goroutines |")
	fmt.Fprintln(&out, "|---:|---:|---:|---:|---:|")
	for _, m := range held {
		fmt.Fprintf(&out, "| %d | %.1f | %.1f | %.1f | %.0f |\n", m.benchmarks, float64(m.resident)/1024, float64(m.peak)/1024, m.heap/1024, m.goroutines)
	}
	now.write(&out)
	w.Logf("\n%s", out.String())
	if file := os.Getenv(envReport); file != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil { //nolint:gosec // for people to read
			w.Error(err)
		}
	}
}

// write adds what the manager takes beside a thousand finished benchmarks.
func (s steady) write(out io.Writer) {
	fmt.Fprintf(out, "\nWith %d finished (a status of a ramp is %.1f KiB, its result %.1f KiB) and %d running benchmarks, over %.0f s:\n\n",
		s.finished, float64(s.statusBytes)/1024, float64(s.resultBytes)/1024, running, quiet.Seconds())
	fmt.Fprintf(out, "| resident MiB, the most | peak MiB since the start | %% of a core | API calls a second | seconds to start among them |\n|---:|---:|---:|---:|---:|\n")
	fmt.Fprintf(out, "| %.1f | %.1f | %.2f | %.1f | %.1f |\n", float64(s.resident)/1024, float64(s.peak)/1024, 100*s.core,
		float64(s.calls.sum())/quiet.Seconds(), s.start.Seconds())
	for _, k := range slices.Sorted(maps.Keys(s.calls)) {
		fmt.Fprintf(out, "- %s: %d\n", k, s.calls[k])
	}
}

// sizeOf is what something takes as JSON.
func sizeOf(t *testing.T, v any) int {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}
