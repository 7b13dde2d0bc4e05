package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
)

// view shows how far a run is.
type view interface {
	show(s sight)
}

// newView makes the view that --progress asks for.
func newView(w io.Writer, mode string, now func() time.Time) (view, error) {
	switch mode {
	case "auto":
		if cli.TerminalWidth(w) > 0 {
			return barView{cli.NewBar(w)}, nil
		}
		return &plainView{w: w, now: now}, nil
	case "bar":
		return barView{cli.NewBar(w)}, nil
	case "plain":
		return &plainView{w: w, now: now}, nil
	case "none":
		return noView{}, nil
	default:
		return nil, fmt.Errorf("--progress is %q; use auto, bar, plain or none", mode)
	}
}

type noView struct{}

func (noView) show(sight) {}

// quiet is how long a plain view is silent while only numbers change.
const quiet = 30 * time.Second

// plainView writes a line for each change of phase, and now and then how far it
// is: for logs.
type plainView struct {
	w     io.Writer
	now   func() time.Time
	state string
	last  time.Time
}

func (v *plainView) show(s sight) {
	state := s.name + s.phase + s.detail
	if s.current != nil {
		state += s.current.name + s.current.phase + s.current.detail
	}
	now := v.now()
	if state == v.state && now.Sub(v.last) < quiet {
		return
	}
	v.state, v.last = state, now
	line := fmt.Sprintf("%s  %s  %3d %%  %s", now.Format(time.TimeOnly), s.name, s.percent, s.words())
	if c := s.current; c != nil {
		line += fmt.Sprintf("  |  %s  %3d %%  %s", c.name, c.percent, c.words())
	}
	fmt.Fprintln(v.w, line)
}

// barView draws a bar, and below that of a suite the one of its benchmark.
type barView struct{ bar *cli.Bar }

func (v barView) show(s sight) {
	lines := []cli.BarLine{s.line()}
	if s.current != nil {
		lines = append(lines, s.current.line())
	}
	v.bar.Show(lines...)
}

func (s sight) line() cli.BarLine {
	const least, most = 8, 30 // columns of names
	return cli.BarLine{Percent: s.percent, Words: fmt.Sprintf("%-*s  %s", least, cli.Clip(s.name, most), s.words())}
}

// sight is one look at a run.
type sight struct {
	name    string
	phase   string // and where in it
	detail  string // in a sentence, where there is something to say
	speed   string
	percent int32
	eta     *int64 // seconds
	over    bool
	current *sight // the benchmark under way of a suite
}

// ref is what the user types for it.
func (f found) ref() string {
	if f.suite != nil {
		return "suite/" + f.suite.Name
	}
	return f.benchmark.Name
}

// current is the benchmark under way of a suite; "" if there is none.
func (f found) current() string {
	if f.suite == nil || f.suite.Status.Run == nil {
		return ""
	}
	return f.suite.Status.Run.Current
}

func (f found) sight() sight {
	if f.suite != nil {
		return suiteSight(f.suite)
	}
	return benchmarkSight(f.benchmark)
}

func benchmarkSight(b *v1alpha1.NFSBenchmark) sight {
	st := b.Status
	s := sight{name: b.Name, phase: string(st.Phase), over: st.Phase.IsFinished()}
	switch {
	case st.Phase == "":
		s.phase, s.detail = "Created", "waiting for the operator"
	case st.Queue != nil && st.Phase == v1alpha1.PhaseQueued:
		s.phase = fmt.Sprintf("Queued %d.", st.Queue.Position)
		if st.Queue.Behind != "" {
			s.detail = "behind " + st.Queue.Behind
		}
	case st.Phase != v1alpha1.PhaseRunning && !s.over:
		s.detail = st.Message
	}
	if p := st.Progress; p != nil && !s.over {
		s.percent, s.eta = p.Percent, p.ETASeconds
		if p.Step != "" {
			s.phase += " " + p.Step
		}
		if p.Repetition > 0 {
			s.phase += fmt.Sprintf(" %d", p.Repetition)
		}
		if v := p.ThroughputMegabytesPerSecond; v != nil {
			s.speed = fmt.Sprintf("%d MB/s", *v)
		}
	}
	if s.over {
		s.percent = 100
	}
	return s
}

func suiteSight(x *v1alpha1.NFSBenchmarkSuite) sight {
	st := x.Status
	s := sight{name: "suite/" + x.Name, phase: string(st.Phase), over: isOver(x)}
	if st.Phase == "" {
		s.phase, s.detail = "Created", "waiting for the operator"
	}
	r := st.Run
	if r != nil && st.Matrix != nil {
		s.phase += fmt.Sprintf(" %d/%d", r.Finished, st.Matrix.Benchmarks)
		if r.Failed > 0 {
			s.phase += fmt.Sprintf(", %d failed", r.Failed)
		}
		s.percent, s.eta = r.Percent, r.ETASeconds
	}
	if st.Phase == v1alpha1.SuitePending || st.Phase == v1alpha1.SuiteSuspended {
		s.detail = st.Message
	}
	if s.over {
		s.percent, s.eta = 100, nil
	}
	return s
}

// isOver says that there is nothing under way, and that the operator has seen
// what was asked for last.
func isOver(x *v1alpha1.NFSBenchmarkSuite) bool {
	st := x.Status
	if st.ObservedGeneration < x.Generation || asks(x) {
		return false
	}
	switch st.Phase {
	case v1alpha1.SuiteScheduled:
		return st.Run == nil || st.Run.CompletionTime != nil
	case v1alpha1.SuiteSuspended:
		return x.Spec.Schedule != nil && (st.Run == nil || st.Run.CompletionTime != nil)
	default:
		return st.Phase.IsFinished()
	}
}

// asks says that an annotation asks for a run that the operator has not begun.
func asks(x *v1alpha1.NFSBenchmarkSuite) bool {
	var handled v1alpha1.HandledAnnotations
	if x.Status.Handled != nil {
		handled = *x.Status.Handled
	}
	rerun, resubmit := x.Annotations[v1alpha1.AnnotationRerun], x.Annotations[v1alpha1.AnnotationResubmit]
	return x.Spec.Schedule == nil && rerun != handled.Rerun || resubmit != handled.Resubmit
}

// words is a sight without its percentage.
func (s sight) words() string {
	parts := []string{s.phase}
	if s.speed != "" {
		parts = append(parts, s.speed)
	}
	if s.eta != nil && *s.eta > 0 {
		parts = append(parts, (time.Duration(*s.eta)*time.Second).String()+" left")
	}
	if s.detail != "" {
		parts = append(parts, s.detail)
	}
	return strings.Join(parts, "  ")
}
