package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Compare implements the command compare of both programs, which differ only in how they read the input.
type Compare struct {
	significance   runfile.SuiteSignificance // from the flags
	percent        float64                   // its minimum effect
	changed        func(flag string) bool
	baseline, vary []string
	to             Destination
}

// CompareRules is the part of the help that both programs share.
const CompareRules = `
Positive is better, whatever the metric. A difference counts when it is significant
(Mann-Whitney, after Holm's correction), at least --minimum-effect large, and larger
than the noise floor. With n repetitions on each side the smallest p is 2/C(2n,n):
three cannot show anything at 0.05, four can show one number, ten are good.

Two results that differ in more than one thing are compared all the same, with a
warning that names what differs; --vary says what is meant to.

The exit code is 0 whatever the answer is.`

// Recorded holds a result, or the record of a suite's run if Run is not nil.
type Recorded struct {
	Arg    string // as the user named it
	Name   string // of a result, for the output
	Result runfile.Result
	Run    *runfile.SuiteRun
}

// Register adds the flags.
func (c *Compare) Register(cmd *cobra.Command) {
	fs, s := cmd.Flags(), &c.significance
	fs.StringSliceVar(&s.Metrics, "metric", nil,
		"metrics to compare: "+strings.Join(measure.MetricNames(), ", ")+
			" (default: those of the suite, Capacity of two searches, or MeanLatency and Throughput)")
	fs.Float64Var(&s.Alpha, "alpha", runfile.DefaultAlpha, "accepted rate of false alarms")
	fs.Float64Var(&c.percent, "minimum-effect", 100*runfile.DefaultMinimumEffect,
		"least difference of the medians that matters, in percent")
	fs.StringVar(&s.Correction, "correction", runfile.DefaultCorrection, "for the number of comparisons: Holm or None")
	fs.StringSliceVar(&c.baseline, "baseline", nil,
		"which of A and B the other is compared with (default A); of a suite alone AXIS=VALUE")
	fs.StringSliceVar(&c.vary, "vary", nil,
		"what two results are meant to differ in: "+strings.Join(compare.Groups(), ", "))
	c.to.Register(cmd)
	c.changed = fs.Changed
	CompleteValues(cmd, "metric", measure.MetricNames()...)
	CompleteValues(cmd, "correction", "Holm", "None")
	CompleteValues(cmd, "vary", compare.Groups()...)
}

// Parse checks the flags, and corrects the case of names.
func (c *Compare) Parse() (err error) {
	s := &c.significance
	for i, m := range s.Metrics {
		if s.Metrics[i], err = OneOf("metric", m, measure.MetricNames()); err != nil {
			return BadInput(err)
		}
	}
	if s.Correction, err = OneOf("correction", s.Correction, []string{"Holm", "None"}); err != nil {
		return BadInput(err)
	}
	switch {
	case !(s.Alpha > 0 && s.Alpha < 1):
		return BadInputf("--alpha is %g; use a rate between 0 and 1, such as 0.05", s.Alpha)
	case !(c.percent >= 0 && c.percent <= 100):
		return BadInputf("--minimum-effect is %g; use percent from 0 to 100", c.percent)
	}
	s.MinimumEffect = c.percent / 100
	for i, v := range c.vary {
		if c.vary[i], err = OneOf("vary", v, compare.Groups()); err != nil {
			return BadInput(err)
		}
	}
	return c.to.Parse()
}

// over returns the rules of the flags. For flags that are not set it takes declared, which may be nil.
func (c *Compare) over(declared *runfile.SuiteSignificance) runfile.SuiteSignificance {
	out := c.significance
	if declared == nil {
		return out
	}
	if len(out.Metrics) == 0 {
		out.Metrics = declared.Metrics
	}
	if !c.changed("alpha") {
		out.Alpha = declared.Alpha
	}
	if !c.changed("minimum-effect") {
		out.MinimumEffect = declared.MinimumEffect
	}
	if !c.changed("correction") {
		out.Correction = declared.Correction
	}
	return out
}

// Write compares two inputs, or the cells of one run, and writes the comparison.
func (c *Compare) Write(cmd *cobra.Command, in []Recorded, page report.PageOptions) error {
	q, err := c.request(in)
	if err != nil {
		return err
	}
	t := compare.Run(q)
	for _, warning := range t.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	page.MinimumEffect = q.MinimumEffect
	return c.to.Write(cmd, func(w io.Writer) error {
		switch {
		case c.to.Format == FormatJSON:
			return WriteJSON(w, t)
		case c.to.Format != FormatHTML:
			return WriteTable(w, t)
		case q.Accepted != nil:
			run := *q.Run
			run.Settings.Regression = &q.SuiteSignificance
			return report.SuitePage(w, run, compare.Run(compare.Request{Run: &run}), &t, page)
		case q.Run != nil:
			return report.SuitePage(w, *q.Run, t, nil, page)
		default:
			return report.ComparisonPage(w, q.Sides[0], q.Sides[1], t, page)
		}
	})
}

func (c *Compare) request(in []Recorded) (compare.Request, error) {
	if len(in) == 1 {
		if in[0].Run == nil {
			return compare.Request{}, BadInputf("%q is a single result: name another one to compare it with", in[0].Arg)
		}
		run, err := c.within(*in[0].Run)
		return compare.Request{Run: &run}, BadInput(err)
	}
	a, b := in[0], in[1]
	switch {
	case len(c.baseline) == 0, len(c.baseline) == 1 && c.baseline[0] == a.Arg:
	case len(c.baseline) == 1 && c.baseline[0] == b.Arg:
		a, b = b, a
	default:
		return compare.Request{}, BadInputf("--baseline is %q; it is one of the two, %q or %q",
			strings.Join(c.baseline, ","), a.Arg, b.Arg)
	}
	switch {
	case (a.Run == nil) != (b.Run == nil):
		return compare.Request{}, BadInputf("%s and %s are not of one kind: compare two results, or two runs of suites",
			a.Arg, b.Arg)
	case a.Run != nil && a.Run.Run == b.Run.Run && a.Run.Started.Equal(b.Run.Started):
		return compare.Request{}, BadInputf("both are run %q: name two runs", a.Run.Run)
	case a.Run != nil:
		return compare.Request{
			Accepted: a.Run, Run: b.Run, SuiteSignificance: c.over(compare.Declared(*b.Run)),
		}, nil
	case a.Arg == b.Arg:
		return compare.Request{}, BadInputf("%q is compared with itself: name two results", a.Arg)
	}
	q := compare.Request{SuiteSignificance: c.over(nil), Vary: c.vary}
	for _, r := range []Recorded{a, b} {
		side := compare.NewSide(r.Name, r.Result)
		if len(side.Points) == 0 {
			return compare.Request{}, fmt.Errorf("%q has no number to compare: nothing was measured", r.Arg)
		}
		q.Sides = append(q.Sides, side)
	}
	return q, nil
}

// within returns the run with the comparison of its cells that the flags request.
func (c *Compare) within(run runfile.SuiteRun) (runfile.SuiteRun, error) {
	set, declared := runfile.SuiteCompare{}, (*runfile.SuiteSignificance)(nil)
	if run.Settings.Compare != nil {
		set, declared = *run.Settings.Compare, &run.Settings.Compare.SuiteSignificance
	}
	set.SuiteSignificance = c.over(declared)
	if len(c.baseline) > 0 {
		baseline, err := baselineOf(c.baseline, run)
		if err != nil {
			return run, err
		}
		set.Baseline = baseline
	}
	if len(set.Baseline) == 0 {
		return run, fmt.Errorf("suite/%s declares no comparison: give --baseline AXIS=VALUE; it has %s", run.Suite,
			axesOf(run))
	}
	run.Settings.Compare = &set
	return run, nil
}

// baselineOf parses AXIS=VALUE, and checks it against the axes of a run.
func baselineOf(pairs []string, run runfile.SuiteRun) (map[string]string, error) {
	_, have := run.Axes()
	baseline := map[string]string{}
	for _, pair := range pairs {
		axis, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("--baseline is %q; for a suite write AXIS=VALUE, one of %s", pair, axesOf(run))
		case have[axis] == nil:
			return nil, fmt.Errorf("--baseline is %q and the suite has no axis %q; it has %s", pair, axis, axesOf(run))
		case !slices.Contains(have[axis], value):
			return nil, fmt.Errorf("--baseline is %q; axis %q has %s", pair, axis, Listed(have[axis]))
		}
		baseline[axis] = value
	}
	return baseline, nil
}

// axesOf names the axes with their values, as --baseline takes them.
func axesOf(run runfile.SuiteRun) string {
	order, have := run.Axes()
	for i, axis := range order {
		order[i] = axis + "=" + strings.Join(have[axis], "|")
	}
	return Listed(order)
}
