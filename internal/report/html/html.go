package html

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

//go:embed page.tmpl
var layout string

//go:embed style.css
var style string

// Options say what the writer knows and the result does not.
type Options struct {
	Generated time.Time // when the report is made; zero leaves it out
	Version   string    // of the program that makes the report
	Reproduce string    // YAML of the NFSBenchmark or NFSBenchmarkSuite; empty where it is not known
	// MinimumEffect is the share from which on a difference matters; Comparison
	// draws it. A suite has its own.
	MinimumEffect float64
}

// Side is one of the two results of a comparison.
type Side struct {
	Result    runfile.Result
	Judgement judge.Judgement
	Name      string // for people, such as the name of its file
}

// Benchmark writes the page of one judged result. It returns the first error of w.
func Benchmark(w io.Writer, r runfile.Result, j judge.Judgement, o Options) error {
	return write(w, benchmarkPage(r, j, o), o)
}

// Suite writes the page of a suite's run. g is nil where there is no accepted
// run to compare it with. It returns the first error of w.
func Suite(w io.Writer, run runfile.SuiteRun, t compare.Table, g *compare.Regression, o Options) error {
	return write(w, suitePage(run, t, g, o), o)
}

// Comparison writes the page of two results side by side; a is the baseline. It
// returns the first error of w.
func Comparison(w io.Writer, a, b Side, t compare.Table, o Options) error {
	return write(w, comparisonPage(a, b, t, o), o)
}

func write(w io.Writer, p *page, o Options) error {
	t, err := template.New("page").Parse(layout)
	if err != nil {
		return fmt.Errorf("read the layout of the page: %w", err)
	}
	p.Style, p.Version = template.CSS(style), o.Version //nolint:gosec // our own file
	if !o.Generated.IsZero() {
		p.Generated = moment(o.Generated)
	}
	p.Title = cmp.Or(p.Title, "unnamed")
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// moment is a time as people of all countries read it.
func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
