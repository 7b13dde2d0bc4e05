// Package report writes a judged result, a comparison or a suite's run for people:
// as text for a terminal, and as one HTML page.
//
// It is pure, and computes nothing beyond the judgement. Each subject has a function that builds its section once,
// for both outputs; package doc writes the document.
package report

import (
	"io"
	"time"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options describes the reader's terminal.
type Options = doc.TextOptions

// PageOptions holds what a page shows besides the result.
type PageOptions struct {
	Generated time.Time // when the report is made; zero leaves it out
	Version   string    // of the program that makes the report
	Reproduce string    // YAML of the NFSBenchmark or NFSBenchmarkSuite; empty where it is not known
	// MinimumEffect is the share from which on a difference matters; ComparisonPage
	// draws it. A suite has its own.
	MinimumEffect float64
}

// Text writes a judged result for a terminal. It returns the first error of w.
func Text(w io.Writer, j judge.Judgement, o Options) error {
	return doc.Text(w, benchmarkDocument(j, PageOptions{}), o)
}

// CompareText writes the comparisons of a table: for each metric and baseline the median of each side, the shift with
// its confidence interval, and p. Lines without a significant difference end with ~, and names of saturated lines with
// *. Without comparisons it writes the cells. It returns the first error of w.
func CompareText(w io.Writer, t compare.Table, o Options) error {
	return doc.Text(w, tableDocument(t), o)
}

// BenchmarkPage writes the page of one judged result. It returns the first error of w.
func BenchmarkPage(w io.Writer, j judge.Judgement, o PageOptions) error {
	return page(w, benchmarkDocument(j, o), o)
}

// SuitePage writes the page of a suite's run. The table g compares the run with the accepted run; nil if there is
// none. It returns the first error of w.
func SuitePage(w io.Writer, run runfile.SuiteRun, t compare.Table, g *compare.Table, o PageOptions) error {
	return page(w, suiteDocument(run, t, g, o), o)
}

// ComparisonPage writes the page of two results side by side; a is the baseline. It
// returns the first error of w.
func ComparisonPage(w io.Writer, a, b compare.Side, t compare.Table, o PageOptions) error {
	return page(w, comparisonDocument(a, b, t, o), o)
}

func page(w io.Writer, d doc.Document, o PageOptions) error {
	origin := doc.Origin{Version: o.Version}
	if !o.Generated.IsZero() {
		origin.Generated = moment(o.Generated)
	}
	return doc.HTML(w, d, origin)
}

// moment writes a time in UTC, in a format that people of all countries read.
func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
