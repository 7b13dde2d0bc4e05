package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/html"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// compareFlags say when a difference counts.
type compareFlags struct {
	metrics       []string
	alpha         float64
	minimumEffect float64 // percent
	correction    string
}

func newCompareCommand(a *app) *cobra.Command {
	var f compareFlags
	var output, format string
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Hold two results against each other, with statistics",
		Long: `Compares two result files, repetition by repetition, or the records of two runs of
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
			to, err := destinationOf(output, format)
			if err == nil {
				err = f.check()
			}
			if err != nil {
				return badInput(err)
			}
			x, err := f.read(cmd.InOrStdin(), args)
			if err != nil {
				return badInput(err)
			}
			return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return a.showCompared(w, x, f, to.format) })
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.metrics, "metric", nil, "metrics to compare: "+strings.Join(metricNames(), ", ")+" (default Throughput and MeanLatency)")
	fs.Float64Var(&f.alpha, "alpha", runfile.DefaultAlpha, "accepted rate of false alarms")
	fs.Float64Var(&f.minimumEffect, "minimum-effect", 100*runfile.DefaultMinimumEffect, "least difference that matters, in percent")
	fs.StringVar(&f.correction, "correction", runfile.DefaultCorrection, "for the number of comparisons: Holm or None")
	addDestination(cmd, &output, &format)
	return cmd
}

func metricNames() []string {
	return []string{
		runfile.MetricThroughput, runfile.MetricIOPS, runfile.MetricMeanLatency, runfile.MetricP50Latency,
		runfile.MetricP95Latency, runfile.MetricP99Latency, runfile.MetricStorageLatency, runfile.MetricClientCPU,
	}
}

// check also puts the names in the case that the metrics have.
func (f *compareFlags) check() error {
	for i, m := range f.metrics {
		at := slices.IndexFunc(metricNames(), func(n string) bool { return strings.EqualFold(n, m) })
		if at < 0 {
			return fmt.Errorf("--metric is %q; choose of %s", m, strings.Join(metricNames(), ", "))
		}
		f.metrics[i] = metricNames()[at]
	}
	switch {
	case !(f.alpha > 0 && f.alpha < 1):
		return fmt.Errorf("--alpha is %g; it is a rate between 0 and 1, such as 0.05", f.alpha)
	case !(f.minimumEffect >= 0 && f.minimumEffect < 100):
		return fmt.Errorf("--minimum-effect is %g; it is percent, from 0 to less than 100", f.minimumEffect)
	case f.correction != "Holm" && f.correction != "None":
		return fmt.Errorf("--correction is %q; choose Holm or None", f.correction)
	default:
		return nil
	}
}

func (f *compareFlags) significance() runfile.SuiteSignificance {
	s := runfile.SuiteSignificance{Metrics: f.metrics, Alpha: f.alpha, MinimumEffect: f.minimumEffect / 100, Correction: f.correction}
	if len(s.Metrics) == 0 {
		s.Metrics = []string{runfile.MetricThroughput, runfile.MetricMeanLatency}
	}
	return s
}

// read reads both sides, of one kind.
func (f *compareFlags) read(stdin io.Reader, args []string) ([2]recorded, error) {
	var x [2]recorded
	if args[0] == "-" && args[1] == "-" {
		return x, errors.New("only one of the two files can be standard input")
	}
	for i, name := range args {
		in, err := readRecorded(stdin, []string{name})
		if err != nil {
			return x, err
		}
		x[i] = in
	}
	if (x[0].run == nil) != (x[1].run == nil) {
		return x, fmt.Errorf("%s and %s are not of one kind: compare two results, or the records of two runs of suites", args[0], args[1])
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

func (a *app) showCompared(w io.Writer, x [2]recorded, f compareFlags, format string) error {
	if x[0].run != nil {
		return a.showRegression(w, x, f, format)
	}
	t := compare.Results(
		compare.Sample{Name: x[0].name, Points: judge.Points(x[0].result)},
		compare.Sample{Name: x[1].name, Points: judge.Points(x[1].result)}, f.significance())
	switch format {
	case formatHTML:
		o := a.pageOptions()
		o.MinimumEffect = f.minimumEffect / 100
		return html.Comparison(w, sideOf(x[0]), sideOf(x[1]), t, o)
	case formatJSON:
		return writeJSON(w, t)
	default:
		return report.CompareText(w, t, terminalOptions(w))
	}
}

func sideOf(r recorded) html.Side {
	return html.Side{Result: r.result, Judgement: judge.Judge(r.result), Name: r.name}
}

// showRegression holds the second run against the first, cell by cell. There is
// no history, so the noise floor comes from the two.
func (a *app) showRegression(w io.Writer, x [2]recorded, f compareFlags, format string) error {
	s := f.significance()
	run := *x[1].run
	run.Settings.Regression = &s
	g := compare.Regress(run, *x[0].run, nil, s)
	switch format {
	case formatHTML:
		return a.showRun(w, run, compare.Run(run), &g, format)
	case formatJSON:
		return writeJSON(w, g)
	default:
		t := compare.Table{Comparisons: g.Changes, Findings: g.Findings}
		fmt.Fprintln(w, g.Message)
		if len(g.Changes) == 0 {
			t.Cells = compare.Run(run).Cells
		}
		return report.CompareText(w, t, terminalOptions(w))
	}
}
