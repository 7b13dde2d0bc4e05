package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
)

// quiet is the interval of lines while only numbers change.
const quiet = 30 * time.Second

// newProgress returns a function that shows the progress of a run: on a terminal a bar, elsewhere a line for each
// change of state, and a line with numbers at intervals.
func newProgress(w io.Writer, now func() time.Time) func(sight) {
	if cli.TerminalWidth(w) > 0 {
		bar := cli.NewBar(w)
		return func(s sight) { bar.Show(s.percent, s.name+"  "+s.words()) }
	}
	state, last := "", time.Time{}
	return func(s sight) {
		if s.state() == state && now().Sub(last) < quiet {
			return
		}
		state, last = s.state(), now()
		fmt.Fprintf(w, "%s  %s  %3d %%  %s\n", last.Format(time.TimeOnly), s.name, s.percent, s.words())
	}
}

// sight is the state of a run at one time.
type sight struct {
	name    string
	phase   string // with the step
	detail  string // a sentence; may be empty
	speed   string
	percent int32
	eta     *int64 // seconds
	over    bool
	current *sight // the benchmark under way of a suite
}

// state returns the parts whose change is worth a line.
func (s sight) state() string {
	state := s.phase + s.detail
	if s.current != nil {
		state += s.current.name + s.current.state()
	}
	return state
}

// words returns a sight as text, without its name and its percentage.
func (s sight) words() string {
	parts := []string{s.phase, s.speed, "", s.detail}
	if s.eta != nil && *s.eta > 0 {
		parts[2] = (time.Duration(*s.eta) * time.Second).String() + " left"
	}
	if c := s.current; c != nil {
		parts = append(parts, "|", c.name, fmt.Sprintf("%3d %%", c.percent), c.words())
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "  ")
}

// ref returns the argument that names the object.
func (f found) ref() string {
	if f.suite != nil {
		return "suite/" + f.suite.Name
	}
	return f.benchmark.Name
}

// current returns the benchmark of a suite that is under way; "" if there is none.
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
			failed := "failed"
			if st.Phase == v1alpha1.SuiteCancelled {
				failed = "failed or stopped"
			}
			s.phase += fmt.Sprintf(", %d %s", r.Failed, failed)
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

// isOver reports whether nothing is under way and the operator has seen the last request.
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

// asks reports whether an annotation requests a run that the operator has not begun.
func asks(x *v1alpha1.NFSBenchmarkSuite) bool {
	var handled v1alpha1.HandledAnnotations
	if x.Status.Handled != nil {
		handled = *x.Status.Handled
	}
	rerun, resubmit := x.Annotations[v1alpha1.AnnotationRerun], x.Annotations[v1alpha1.AnnotationResubmit]
	return x.Spec.Schedule == nil && rerun != handled.Rerun || resubmit != handled.Resubmit
}
