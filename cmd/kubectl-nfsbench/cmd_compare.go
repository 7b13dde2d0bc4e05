package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/html"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	metrics       []string
	alpha         float64
	minimumEffect float64 // percent
	baseline      []string
	vary          []string
	correction    string
	output        string
	set           func(string) bool // says that a flag was given
}

func newCompareCommand(a *app) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare A B | compare suite/NAME",
		Short: "Hold two results against each other, with statistics",
		Long: `Compares two benchmarks, repetition by repetition, or two runs of suites, cell by
cell; A is the baseline. A suite alone is compared within itself, as its
spec.compare says, or as --baseline does.

Positive impact is better, whatever the metric. A difference counts when it is
significant (Mann-Whitney, after Holm's correction) and at least --minimum-effect
large. With n repetitions on each side the smallest p is 2/C(2n,n): three cannot
show anything at 0.05, four can show one number, ten are good.

Two benchmarks that differ in more than one thing are compared all the same, with
a warning that names what differs; --vary says what is meant to.`,
		Example: `  kubectl nfsbench compare nfs dnfs
  kubectl nfsbench compare nfs dnfs --metric P99Latency --alpha 0.01 -o dnfs.html
  kubectl nfsbench compare suite/protocols
  kubectl nfsbench compare suite/protocols --baseline client=nfs
  kubectl nfsbench compare suite/nightly@nightly-1780000000 suite/nightly`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeNames(a, anyKind, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.set = cmd.Flags().Changed
			return a.compare(cmd, args, o)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.metrics, "metric", nil, "metrics to compare (default: those of the suite, or MeanLatency and Throughput)")
	fs.Float64Var(&o.alpha, "alpha", runfile.DefaultAlpha, "accepted rate of false alarms")
	fs.Float64Var(&o.minimumEffect, "minimum-effect", 100*runfile.DefaultMinimumEffect, "least difference of the medians that matters, in percent")
	fs.StringVar(&o.correction, "correction", runfile.DefaultCorrection, "for the number of comparisons: Holm or None")
	fs.StringSliceVar(&o.baseline, "baseline", nil, "which of A and B the other is compared with (default A); of a suite alone AXIS=VALUE")
	fs.StringSliceVar(&o.vary, "vary", nil, "what two benchmarks are meant to differ in: "+strings.Join(conditionGroups(), ", "))
	fs.StringVarP(&o.output, "output", "o", formatText, "text, json, or a file that ends in .html, .txt or .json")
	completeValues(cmd, "metric", metrics()...)
	completeValues(cmd, "correction", "Holm", "None")
	completeValues(cmd, "vary", conditionGroups()...)
	return cmd
}

func metrics() []string {
	return []string{
		runfile.MetricThroughput, runfile.MetricIOPS, runfile.MetricMeanLatency, runfile.MetricP50Latency,
		runfile.MetricP95Latency, runfile.MetricP99Latency, runfile.MetricStorageLatency, runfile.MetricClientCPU,
	}
}

func (a *app) compare(cmd *cobra.Command, args []string, o compareOptions) error {
	if err := o.check(); err != nil {
		return badInput(err)
	}
	to, err := parseDestination(o.output)
	if err != nil {
		return err
	}
	c, err := a.connect(a)
	if err != nil {
		return err
	}
	var sides []found
	for _, arg := range args {
		f, err := c.find(cmd.Context(), arg)
		if err != nil {
			return err
		}
		sides = append(sides, f)
	}
	var x comparison
	switch {
	case len(sides) == 1 && sides[0].suite == nil:
		return badInput(fmt.Errorf("%q is a benchmark, and one benchmark is compared with nothing: name another", args[0]))
	case len(sides) == 1:
		x, err = c.compareWithin(cmd, sides[0], o)
	case sides[0].suite != nil && sides[1].suite != nil:
		x, err = c.compareRuns(cmd, sides, args, o)
	case sides[0].suite == nil && sides[1].suite == nil:
		x, err = c.compareBenchmarks(cmd, sides, args, o)
	default:
		return badInput(errors.New("a benchmark and a suite cannot be compared: name two benchmarks, or two runs of suites"))
	}
	if err != nil {
		return err
	}
	for _, warning := range x.warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	return to.write(cmd, func(w io.Writer) error { return a.writeComparison(w, to.format, x) })
}

// comparison is what came out, ready to be written.
type comparison struct {
	sides    [2]html.Side // of two benchmarks
	run      *runfile.SuiteRun
	table    compare.Table
	plain    *compare.Table // with shorter names, where there is no page with cells to find again
	warnings []string       // beside the findings of the table
}

func (a *app) writeComparison(w io.Writer, format string, x comparison) error {
	options := html.Options{Generated: a.now(), Version: versionText()}
	switch {
	case format == formatJSON:
		return writeJSON(w, jsonOf(x))
	case format == formatHTML && x.run != nil:
		return html.Suite(w, *x.run, x.table, nil, options)
	case format == formatHTML:
		return html.Comparison(w, x.sides[0], x.sides[1], x.table, options)
	case x.plain != nil:
		return report.CompareText(w, *x.plain, textOptions(w))
	default:
		return report.CompareText(w, x.table, textOptions(w))
	}
}

func (o *compareOptions) check() error {
	for i, m := range o.metrics {
		name, err := oneOf("metric", m, metrics(), nil)
		if err != nil {
			return err
		}
		o.metrics[i] = name
	}
	for i, v := range o.vary {
		name, err := oneOf("vary", v, conditionGroups(), nil)
		if err != nil {
			return err
		}
		o.vary[i] = name
	}
	var err error
	if o.correction, err = oneOf("correction", o.correction, []string{"Holm", "None"}, nil); err != nil {
		return err
	}
	switch {
	case o.alpha <= 0 || o.alpha >= 1:
		return fmt.Errorf("--alpha is %s; use a rate between 0 and 1, such as 0.05", strconv.FormatFloat(o.alpha, 'g', -1, 64))
	case o.minimumEffect < 0 || o.minimumEffect > 100:
		return fmt.Errorf("--minimum-effect is %s; use percent from 0 to 100", strconv.FormatFloat(o.minimumEffect, 'g', -1, 64))
	}
	return nil
}

// significance is what the flags say, and otherwise what of says.
func (o compareOptions) significance(of *runfile.SuiteSignificance) runfile.SuiteSignificance {
	s := runfile.SuiteSignificance{Metrics: o.metrics, Alpha: o.alpha, MinimumEffect: o.minimumEffect / 100, Correction: o.correction}
	if of == nil {
		return s
	}
	if len(s.Metrics) == 0 {
		s.Metrics = of.Metrics
	}
	if !o.set("alpha") {
		s.Alpha = of.Alpha
	}
	if !o.set("minimum-effect") {
		s.MinimumEffect = of.MinimumEffect
	}
	if !o.set("correction") {
		s.Correction = of.Correction
	}
	return s
}

// ordered puts the baseline first.
func (o compareOptions) ordered(sides []found, args []string) ([]found, []string, error) {
	if len(o.baseline) == 0 {
		return sides, args, nil
	}
	switch want := o.baseline[0]; {
	case len(o.baseline) == 1 && want == args[0]:
		return sides, args, nil
	case len(o.baseline) == 1 && want == args[1]:
		return []found{sides[1], sides[0]}, []string{args[1], args[0]}, nil
	}
	return nil, nil, badInput(fmt.Errorf("--baseline is %q; it is one of the two, %q or %q", strings.Join(o.baseline, ","), args[0], args[1]))
}

func (c *cluster) compareBenchmarks(cmd *cobra.Command, sides []found, args []string, o compareOptions) (comparison, error) {
	sides, args, err := o.ordered(sides, args)
	if err != nil {
		return comparison{}, err
	}
	var x comparison
	var samples [2]compare.Sample
	for i, f := range sides {
		res, err := archive.Result(cmd.Context(), c, f.benchmark)
		if err != nil {
			return comparison{}, err
		}
		x.sides[i] = html.Side{Result: res, Judgement: judge.Judge(res), Name: f.benchmark.Name}
		samples[i] = compare.Sample{Name: f.benchmark.Name, Points: archive.Points(res)}
		if len(samples[i].Points) == 0 {
			return comparison{}, fmt.Errorf("%q has no number to compare: nothing was measured", args[i])
		}
		x.warnings = append(x.warnings, doubts(f.benchmark.Name, x.sides[i].Judgement)...)
	}
	if sides[0].benchmark.UID == sides[1].benchmark.UID && args[0] == args[1] {
		return comparison{}, badInput(fmt.Errorf("%q is compared with itself: name two benchmarks", args[0]))
	}
	x.warnings = append(x.warnings, conditionWarnings(x.sides[0].Result, x.sides[1].Result, o.vary)...)
	x.table = compare.Results(samples[0], samples[1], o.significance(nil))
	return x, nil
}

// doubts says why the numbers of one side should not be believed.
func doubts(name string, j judge.Judgement) []string {
	if j.Validity == judge.Valid {
		return nil
	}
	var codes []string
	for _, f := range j.Findings {
		if f.Severity != judge.Info {
			codes = append(codes, string(f.Code))
		}
	}
	return []string{fmt.Sprintf("the numbers of %s are %s (%s): 'kubectl nfsbench report %s' says why", name, j.Validity, listed(codes), name)}
}

// compareWithin compares the cells of one run.
func (c *cluster) compareWithin(cmd *cobra.Command, f found, o compareOptions) (comparison, error) {
	records, err := archive.Records(cmd.Context(), c, c.namespace, f.suite.Name)
	if err != nil {
		return comparison{}, err
	}
	run, err := chooseRun(records, f)
	if err != nil {
		return comparison{}, err
	}
	set := runfile.SuiteCompare{ImpactOf: string(v1alpha1.DenominatorBaseline)}
	if declared := run.Settings.Compare; declared != nil {
		set = *declared
		set.SuiteSignificance = o.significance(&declared.SuiteSignificance)
	} else {
		set.SuiteSignificance = o.significance(nil)
	}
	if len(o.baseline) > 0 {
		if set.Baseline, err = baselineOf(o.baseline, run.Cells); err != nil {
			return comparison{}, badInput(err)
		}
	}
	if len(set.Baseline) == 0 {
		return comparison{}, badInput(fmt.Errorf("suite/%s declares no comparison: give --baseline AXIS=VALUE; it has %s", f.suite.Name, listed(axesOf(run.Cells))))
	}
	run.Settings.Compare = &set
	return comparison{run: &run, table: compare.Run(run)}, nil
}

// compareRuns compares each cell of one run with the same of another.
func (c *cluster) compareRuns(cmd *cobra.Command, sides []found, args []string, o compareOptions) (comparison, error) {
	sides, _, err := o.ordered(sides, args)
	if err != nil {
		return comparison{}, err
	}
	var runs [2]runfile.SuiteRun
	for i, f := range sides {
		records, err := archive.Records(cmd.Context(), c, c.namespace, f.suite.Name)
		if err != nil {
			return comparison{}, err
		}
		if runs[i], err = chooseRun(records, f); err != nil {
			return comparison{}, err
		}
	}
	if runs[0].Run == runs[1].Run {
		return comparison{}, badInput(fmt.Errorf("both are run %q: name two runs, as suite/NAME@RUN", runs[0].Run))
	}
	var declared *runfile.SuiteSignificance
	if s := runs[1].Settings; s.Regression != nil {
		declared = s.Regression
	} else if s.Compare != nil {
		declared = &s.Compare.SuiteSignificance
	}
	joined := joinRuns(runs[0], runs[1], o.significance(declared))
	table := compare.Run(joined)
	return comparison{run: &joined, table: table, plain: plainNames(table, runs[0], runs[1])}, nil
}
