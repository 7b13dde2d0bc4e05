package html

import (
	"io"
	"time"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options say what the writer knows and the result does not.
type Options struct {
	Generated time.Time // when the report is made; zero leaves it out
	Version   string    // of the program that makes the report
	Reproduce string    // YAML of the NFSBenchmark or NFSBenchmarkSuite; empty where it is not known
}

// Side is one of the two results of a comparison.
type Side struct {
	Result    runfile.Result
	Judgement judge.Judgement
	Name      string // for people, such as the name of its file
}

// Benchmark writes the page of one judged result. It returns the first error of w.
func Benchmark(w io.Writer, r runfile.Result, j judge.Judgement, o Options) error { return nil }

// Suite writes the page of a suite's run. g is nil where there is no accepted
// run to compare it with. It returns the first error of w.
func Suite(w io.Writer, run runfile.SuiteRun, t compare.Table, g *compare.Regression, o Options) error {
	return nil
}

// Comparison writes the page of two results side by side; a is the baseline. It
// returns the first error of w.
func Comparison(w io.Writer, a, b Side, t compare.Table, o Options) error { return nil }
