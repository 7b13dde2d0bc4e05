package browser

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/simulation"
)

func options() report.PageOptions {
	return report.PageOptions{Generated: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Version: "v0.5.0", MinimumEffect: .02}
}

// pages are the reports that are looked at, by name. Results pass through their
// file format first, as those of users do.
func pages(t *testing.T) map[string]string {
	t.Helper()
	hour := stored(t, simulation.Hour(t, "orders-nightly", 7, 0))
	other := stored(t, simulation.Hour(t, "orders-direct", 8, -.1))
	accepted, run := simulation.Suite("protocols-1", 1, 0), simulation.Suite("protocols-2", 2, .07)
	significance := run.Settings.Compare.SuiteSignificance
	regression := compare.Run(compare.Request{Run: &run, Accepted: &accepted, History: []runfile.SuiteRun{simulation.Suite("protocols-0", 3, 0), accepted}, SuiteSignificance: significance})
	impact := experiments.ImpactRun()
	table := compare.Run(compare.Request{Sides: []compare.Side{compare.NewSide("kernel", hour), compare.NewSide("direct", other)}, SuiteSignificance: significance})
	benchmark := func(r runfile.Result) func(io.Writer) error {
		return func(w io.Writer) error { return report.BenchmarkPage(w, judge.Judge(r), options()) }
	}
	all := map[string]func(io.Writer) error{
		"hour":      benchmark(hour),
		"ramp":      benchmark(experiments.Ramp()),
		"calibrate": benchmark(experiments.Calibrations()[0].Result()),
		"failed":    benchmark(failed()),
		"suite": func(w io.Writer) error {
			return report.SuitePage(w, run, compare.Run(compare.Request{Run: &run}), &regression, options())
		},
		"impact": func(w io.Writer) error {
			return report.SuitePage(w, impact, compare.Run(compare.Request{Run: &impact}), nil, options())
		},
		"comparison": func(w io.Writer) error {
			return report.ComparisonPage(w, compare.NewSide("kernel", hour), compare.NewSide("direct", other), table, options())
		},
	}
	files := map[string]string{}
	folder := t.TempDir()
	for name, write := range all {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		files[name] = filepath.Join(folder, name+".html")
		keep(t, files[name], b.Bytes())
		if b.Len() >= maxBytes {
			t.Errorf("%s has %d bytes, at most %d are accepted", name, b.Len(), maxBytes)
		}
		t.Logf("%s: %d bytes", name, b.Len())
	}
	return files
}

// maxBytes is what was promised of the report of an hour.
const maxBytes = 2 << 20

func stored(t *testing.T, r runfile.Result) runfile.Result {
	t.Helper()
	var b bytes.Buffer
	if _, err := runfile.WriteResultGzip(&b, r); err != nil {
		t.Fatal(err)
	}
	back, err := runfile.ReadResult(&b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// failed is a result with no number, and with names that try to break out.
func failed() runfile.Result {
	const evil = `</script><img src=x onerror=alert(1)><svg onload=alert(2)>`
	return runfile.Result{
		Plan: runfile.Plan{
			Version: runfile.PlanVersion, Run: runfile.Identity{Name: evil}, Clients: 1,
			Engine:   runfile.Engine{Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Server: evil, Export: evil, Channels: runfile.ChannelsTo(evil)},
			Workload: bench.Workload{Raw: &bench.RawWorkload{Pattern: evil, Jobs: 1, Depth: 1, Directory: evil}},
			Schedule: runfile.Schedule{DurationSeconds: 60, Repetitions: 3},
		},
		Clients: []runfile.ClientResult{{Host: runfile.Host{Name: evil}, Load: runfile.Load{Partial: true, Failure: &runfile.Failure{Code: evil, Message: evil}}}},
	}
}
