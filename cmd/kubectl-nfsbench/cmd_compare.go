package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	cli.Significance
	baseline, vary []string
	to             cli.Destination
}

func newCompareCommand(a *app) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare A B | compare suite/NAME",
		Short: "Compare two results with statistics",
		Long: `Compare two benchmarks, repetition by repetition, or two runs of suites, cell by
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
		RunE:              func(cmd *cobra.Command, args []string) error { return a.compare(cmd, args, &o) },
	}
	fs := cmd.Flags()
	o.Register(cmd)
	fs.StringSliceVar(&o.baseline, "baseline", nil,
		"which of A and B the other is compared with (default A); of a suite alone AXIS=VALUE")
	fs.StringSliceVar(&o.vary, "vary", nil,
		"what two benchmarks are meant to differ in: "+strings.Join(conditionGroups(), ", "))
	o.to.Register(cmd)
	cli.CompleteValues(cmd, "vary", conditionGroups()...)
	return cmd
}

func (a *app) compare(cmd *cobra.Command, args []string, o *compareOptions) error {
	if err := o.Parse(); err != nil {
		return cli.BadInput(err)
	}
	for i, v := range o.vary {
		name, err := cli.OneOf("vary", v, conditionGroups(), nil)
		if err != nil {
			return cli.BadInput(err)
		}
		o.vary[i] = name
	}
	if err := o.to.Parse(); err != nil {
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
		return cli.BadInputf("%q is a single benchmark: name another one to compare it with", args[0])
	case len(sides) == 1:
		x, err = c.compareWithin(cmd, sides[0], o)
	case sides[0].suite != nil && sides[1].suite != nil:
		x, err = c.compareRuns(cmd, sides, args, o)
	case sides[0].suite == nil && sides[1].suite == nil:
		x, err = c.compareBenchmarks(cmd, sides, args, o)
	default:
		return cli.BadInputf("a benchmark and a suite cannot be compared: name two benchmarks, or two runs of suites")
	}
	if err != nil {
		return err
	}
	for _, warning := range x.warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	return o.to.Write(cmd, func(w io.Writer) error { return a.writeComparison(w, o.to.Format, x) })
}

// comparison is what came out, ready to be written.
type comparison struct {
	sides    [2]report.Side // of two benchmarks
	run      *runfile.SuiteRun
	table    compare.Table
	plain    *compare.Table // with shorter names, where there is no page with cells to find again
	warnings []string       // beside the findings of the table
}

func (a *app) writeComparison(w io.Writer, format string, x comparison) error {
	options := report.PageOptions{Generated: a.now(), Version: cli.Version(version)}
	switch {
	case format == cli.FormatJSON:
		return cli.WriteJSON(w, jsonOf(x))
	case format == cli.FormatHTML && x.run != nil:
		return report.SuitePage(w, *x.run, x.table, nil, options)
	case format == cli.FormatHTML:
		return report.ComparisonPage(w, x.sides[0], x.sides[1], x.table, options)
	case x.plain != nil:
		return report.CompareText(w, *x.plain, cli.TextOptions(w))
	default:
		return report.CompareText(w, x.table, cli.TextOptions(w))
	}
}

// ordered puts the baseline first.
func (o *compareOptions) ordered(sides []found, args []string) ([]found, []string, error) {
	if len(o.baseline) == 0 {
		return sides, args, nil
	}
	switch want := o.baseline[0]; {
	case len(o.baseline) == 1 && want == args[0]:
		return sides, args, nil
	case len(o.baseline) == 1 && want == args[1]:
		return []found{sides[1], sides[0]}, []string{args[1], args[0]}, nil
	}
	return nil, nil, cli.BadInputf("--baseline is %q; it is one of the two, %q or %q", strings.Join(o.baseline, ","),
		args[0], args[1])
}

func (c *cluster) compareBenchmarks(cmd *cobra.Command, sides []found, args []string,
	o *compareOptions,
) (comparison, error) {
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
		x.sides[i] = report.Side{Result: res, Judgement: judge.Judge(res), Name: f.benchmark.Name}
		samples[i] = compare.Sample{Name: f.benchmark.Name, Points: archive.Points(res)}
		if len(samples[i].Points) == 0 {
			return comparison{}, fmt.Errorf("%q has no number to compare: nothing was measured", args[i])
		}
		x.warnings = append(x.warnings, doubts(f.benchmark.Name, x.sides[i].Judgement)...)
	}
	if sides[0].benchmark.UID == sides[1].benchmark.UID && args[0] == args[1] {
		return comparison{}, cli.BadInputf("%q is compared with itself: name two benchmarks", args[0])
	}
	x.warnings = append(x.warnings, conditionWarnings(x.sides[0].Result, x.sides[1].Result, o.vary)...)
	x.table = compare.Results(samples[0], samples[1], o.Over(nil))
	return x, nil
}

// doubts says why the numbers of one side should not be believed.
func doubts(name string, j judge.Judgement) []string {
	if j.Validity == bench.ValidityValid {
		return nil
	}
	var codes []string
	for _, f := range j.Findings {
		if f.Severity != bench.SeverityInfo {
			codes = append(codes, string(f.Code))
		}
	}
	return []string{fmt.Sprintf("the numbers of %s are %s (%s): 'kubectl nfsbench report %s' says why", name, j.Validity,
		listed(codes), name)}
}

// compareWithin compares the cells of one run.
func (c *cluster) compareWithin(cmd *cobra.Command, f found, o *compareOptions) (comparison, error) {
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
		set.SuiteSignificance = o.Over(&declared.SuiteSignificance)
	} else {
		set.SuiteSignificance = o.Over(nil)
	}
	if len(o.baseline) > 0 {
		if set.Baseline, err = baselineOf(o.baseline, run.Cells); err != nil {
			return comparison{}, cli.BadInput(err)
		}
	}
	if len(set.Baseline) == 0 {
		return comparison{}, cli.BadInputf("suite/%s declares no comparison: give --baseline AXIS=VALUE; it has %s",
			f.suite.Name, listed(axesOf(run.Cells)))
	}
	run.Settings.Compare = &set
	return comparison{run: &run, table: compare.Run(run)}, nil
}

// compareRuns compares each cell of one run with the same of another.
func (c *cluster) compareRuns(cmd *cobra.Command, sides []found, args []string, o *compareOptions) (comparison, error) {
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
		return comparison{}, cli.BadInputf("both are run %q: name two runs, as suite/NAME@RUN", runs[0].Run)
	}
	var declared *runfile.SuiteSignificance
	if s := runs[1].Settings; s.Regression != nil {
		declared = s.Regression
	} else if s.Compare != nil {
		declared = &s.Compare.SuiteSignificance
	}
	joined := joinRuns(runs[0], runs[1], o.Over(declared))
	table := compare.Run(joined)
	return comparison{run: &joined, table: table, plain: plainNames(table, runs[0], runs[1])}, nil
}

// jsonComparison is a comparison as data. Impacts are percent, positive is
// better; unknown values are omitted.
type jsonComparison struct {
	Comparisons []jsonLine    `json:"comparisons"`
	Findings    []jsonFinding `json:"findings,omitempty"`
	Warnings    []string      `json:"warnings,omitempty"`
}

type jsonLine struct {
	Candidate              string    `json:"candidate"`
	Baseline               string    `json:"baseline"`
	Step                   string    `json:"step,omitempty"`
	Metric                 string    `json:"metric"`
	Unit                   string    `json:"unit"`
	CandidateValues        []float64 `json:"candidateValues"`
	BaselineValues         []float64 `json:"baselineValues"`
	ImpactPercent          float64   `json:"impactPercent"`
	ImpactDeviationPercent *float64  `json:"impactStandardDeviationPercent,omitempty"`
	ImpactMinimumPercent   float64   `json:"impactMinimumPercent"`
	ImpactMaximumPercent   float64   `json:"impactMaximumPercent"`
	ShiftPercent           *float64  `json:"shiftPercent,omitempty"`
	ShiftLowPercent        *float64  `json:"shiftLowPercent,omitempty"`
	ShiftHighPercent       *float64  `json:"shiftHighPercent,omitempty"`
	Confidence             float64   `json:"confidence,omitempty"`
	P                      *float64  `json:"p,omitempty"`
	AdjustedP              *float64  `json:"adjustedP,omitempty"`
	DetectablePercent      *float64  `json:"detectablePercent,omitempty"`
	Outcome                string    `json:"outcome"`
	Saturated              bool      `json:"saturated,omitempty"`
}

type jsonFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

func jsonOf(x comparison) jsonComparison {
	percent := func(share *float64) *float64 {
		if share == nil {
			return nil
		}
		return new(100 * *share)
	}
	out := jsonComparison{Comparisons: []jsonLine{}, Warnings: x.warnings}
	for _, l := range x.table.Comparisons {
		out.Comparisons = append(out.Comparisons, jsonLine{
			Candidate: l.Cell, Baseline: l.Baseline, Step: l.Step, Metric: l.Metric, Unit: l.Unit,
			CandidateValues: l.Candidate, BaselineValues: l.Base,
			ImpactPercent: 100 * l.Impact, ImpactDeviationPercent: percent(l.ImpactDeviation),
			ImpactMinimumPercent: 100 * l.ImpactMinimum, ImpactMaximumPercent: 100 * l.ImpactMaximum,
			ShiftPercent: percent(l.Shift), ShiftLowPercent: percent(l.ShiftLow), ShiftHighPercent: percent(l.ShiftHigh),
			Confidence: l.Confidence, P: l.P, AdjustedP: l.AdjustedP, DetectablePercent: percent(l.Detectable),
			Outcome: l.Outcome, Saturated: l.Saturated,
		})
	}
	for _, f := range x.table.Findings {
		out.Findings = append(out.Findings, jsonFinding(f))
	}
	return out
}
