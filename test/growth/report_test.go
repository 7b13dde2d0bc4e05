package growth

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// report writes the figures as Markdown, to the test's log and to a file where
// one is named.
func (w *world) report(waves []figures, held []memory) {
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
	w.Logf("\n%s", out.String())
	if file := os.Getenv(envReport); file != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil { //nolint:gosec // for people to read
			w.Error(err)
		}
	}
}
