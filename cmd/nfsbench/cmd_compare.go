package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func newCompareCommand(a *app) *cobra.Command {
	var f cli.Significance
	var to cli.Destination
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two results with statistics",
		Long: `Compare two result files, repetition by repetition, or the records of two runs of
a suite, cell by cell. A is the baseline. Positive is better, whatever the metric.

A difference counts when it is significant (Mann-Whitney, after the correction)
and at least --minimum-effect large. With n repetitions on each side the smallest
p is 2/C(2n,n): three cannot show anything at 0.05, four can show one number, ten
are good.

The exit code is 0 whatever the answer is.`,
		Example: `  nfsbench compare nfs.json.gz dnfs.json.gz
  nfsbench compare nfs.json.gz dnfs.json.gz --metric P99Latency --alpha 0.01 -o dnfs.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("compare takes two files, the baseline first; there are %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(to.Parse(), f.Parse()); err != nil {
				return cli.BadInput(err)
			}
			x, err := readSides(cmd, args)
			if err != nil {
				return cli.BadInput(err)
			}
			if len(f.Metrics) == 0 && (!x[0].searched() || !x[1].searched()) {
				f.Metrics = []string{runfile.MetricThroughput, runfile.MetricMeanLatency}
			}
			return to.Write(cmd, func(w io.Writer) error { return a.showCompared(w, x, f.SuiteSignificance, to.Format) })
		},
	}
	f.Register(cmd)
	to.Register(cmd)
	return cmd
}

// readSides reads both sides, of one kind.
func readSides(cmd *cobra.Command, args []string) ([2]recorded, error) {
	var x [2]recorded
	if args[0] == "-" && args[1] == "-" {
		return x, errors.New("only one of the two files can be standard input")
	}
	for i, name := range args {
		in, err := readRecorded(cmd, []string{name})
		if err != nil {
			return x, err
		}
		x[i] = in
	}
	if (x[0].run == nil) != (x[1].run == nil) {
		return x, fmt.Errorf("%s and %s are not of one kind: compare two results, or the records of two runs of suites",
			args[0], args[1])
	}
	names := sideNames(args)
	x[0].name, x[1].name = names[0], names[1]
	return x, nil
}

// sideNames are the files without what they have in common: folder and endings,
// if that tells them apart.
func sideNames(args []string) [2]string {
	base := func(name string) string {
		name, _, _ = strings.Cut(filepath.Base(name), ".json")
		return name
	}
	a, b := base(args[0]), base(args[1])
	if a == b {
		return [2]string{args[0], args[1]}
	}
	return [2]string{a, b}
}

func (a *app) showCompared(w io.Writer, x [2]recorded, s runfile.SuiteSignificance, format string) error {
	if x[0].run != nil {
		return a.showRegression(w, x, s, format)
	}
	t := compare.Results(
		compare.Sample{Name: x[0].name, Points: judge.Points(x[0].result)},
		compare.Sample{Name: x[1].name, Points: judge.Points(x[1].result)}, s)
	switch format {
	case cli.FormatHTML:
		o := a.pageOptions()
		o.MinimumEffect = s.MinimumEffect
		return report.ComparisonPage(w, sideOf(x[0]), sideOf(x[1]), t, o)
	case cli.FormatJSON:
		return cli.WriteJSON(w, t)
	default:
		return report.CompareText(w, t, cli.TextOptions(w))
	}
}

// searched reports whether r is the result of a search for capacity.
func (r recorded) searched() bool { return r.result.Plan.Workload.Capacity() != nil }

func sideOf(r recorded) report.Side {
	return report.Side{Result: r.result, Judgement: judge.Judge(r.result), Name: r.name}
}

// showRegression holds the second run against the first, cell by cell. There is
// no history, so the noise floor comes from the two.
func (a *app) showRegression(w io.Writer, x [2]recorded, s runfile.SuiteSignificance, format string) error {
	run := *x[1].run
	run.Settings.Regression = &s
	g := compare.Regress(run, *x[0].run, nil, s)
	switch format {
	case cli.FormatHTML:
		return a.showRun(w, run, compare.Run(run), &g, format)
	case cli.FormatJSON:
		return cli.WriteJSON(w, g)
	default:
		t := compare.Table{Comparisons: g.Changes, Findings: g.Findings}
		fmt.Fprintln(w, g.Message)
		if len(g.Changes) == 0 {
			t.Cells = compare.Run(run).Cells
		}
		return report.CompareText(w, t, cli.TextOptions(w))
	}
}
