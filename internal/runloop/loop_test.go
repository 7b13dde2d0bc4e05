package runloop

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

type memory struct {
	events []runfile.Event
	loads  int
	err    error
}

func (m *memory) Event(e runfile.Event) { m.events = append(m.events, e) }

func (m *memory) Load(*runfile.Load) error {
	m.loads++
	return m.err
}

// oneLevel is a script of a single window of so long, which has begun.
func (c *Loop) oneLevel(began time.Time, each time.Duration) {
	c.Script = &Script{Rounds: 1, Most: 1, Each: each, levels: []int{1}, begun: 1}
	c.stretch = stretch{began, each}
}

func newLoop(sink Sink) *Loop {
	return New(Options{Plan: &runfile.Plan{}, Now: time.Now, Sink: sink, Patience: 10 * time.Second})
}

func TestSpansFollowEachOtherWithoutGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memory{}
		start := time.Now()
		c := newLoop(sink)
		c.oneLevel(start, 20*time.Second)
		wait := func(d time.Duration) {
			if err := c.Do(t.Context(), func(ctx context.Context) error { return Wait(ctx, d) }); err != nil {
				t.Fatal(err)
			}
		}
		c.Enter(runfile.SpanBaseline, 1, time.Time{})
		wait(10500 * time.Millisecond)
		c.Enter(runfile.SpanMeasure, 1, start.Add(10*time.Second)) // it began before this was written down
		wait(5 * time.Second)
		if err := c.done(); err != nil {
			t.Fatal(err)
		}
		end := start.Add(15500 * time.Millisecond)
		want := []runfile.Span{
			{Kind: runfile.SpanBaseline, Repetition: 1, Start: start, End: start.Add(10 * time.Second)},
			{Kind: runfile.SpanMeasure, Repetition: 1, Start: start.Add(10 * time.Second), End: end},
			{Kind: runfile.SpanDone, Start: end, End: end},
		}
		if diff := cmp.Diff(want, c.Load.Spans); diff != "" {
			t.Error(diff)
		}
		if sink.loads != 4 { // at 5, 10 and 15 seconds, and at the end
			t.Errorf("saved %d times", sink.loads)
		}
		checkEvents(t, sink.events)
	})
}

// checkEvents wants one event a second and one at each turn, half of the time at
// half of the run, and a percentage that never goes back.
func checkEvents(t *testing.T, events []runfile.Event) {
	t.Helper()
	if len(events) != 3+10+5 && len(events) != 3+10+4 { // the last tick and the end of the span may coincide
		t.Errorf("%d events", len(events))
	}
	last := int32(-1)
	for i, e := range events {
		if e.Percent < last || (e.Percent == 100) != (i == len(events)-1) {
			t.Errorf("event %d of %d: %d %% after %d %%", i, len(events), e.Percent, last)
		}
		last = e.Percent
	}
	if e := events[10]; e.Percent != 50 || *e.ETASeconds != 10 {
		t.Errorf("after 10 of 20 seconds: %d %%, %d s left", e.Percent, *e.ETASeconds)
	}
	if *events[len(events)-1].ETASeconds != 0 {
		t.Error("the last event has time left")
	}
}

func TestTimeLeftIsAbsentWhileItCannotBeKnown(t *testing.T) {
	sink := &memory{}
	newLoop(sink).Enter(runfile.SpanConnect, 0, time.Time{})
	if e := sink.events[0]; e.ETASeconds != nil || e.Percent != 0 {
		t.Errorf("%+v", e)
	}
}

func TestTheEstimate(t *testing.T) {
	start := time.Unix(1000, 0)
	cases := map[string]struct {
		reason  string
		filling filling
		planned time.Duration
		left    time.Duration
		known   bool
	}{
		"filling has just begun": {
			"nobody can know how long it takes", filling{began: start, total: 100}, time.Minute, 0, false,
		},
		"half filled in ten seconds": {
			"the other half takes as long, then comes the schedule", filling{began: start, total: 100, done: 50}, 80 * time.Second, 90 * time.Second, true,
		},
		"nothing to fill": {"the schedule is known", filling{}, 30 * time.Second, 30 * time.Second, true},
		"verifying":       {"nothing is planned any more", filling{total: 100, done: 100}, 0, 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newLoop(&memory{})
			c.Script = &Script{Rounds: 1, Most: 1, Each: tc.planned}
			c.filling = tc.filling
			left, known := c.left(start.Add(10 * time.Second))
			if left != tc.left || known != tc.known {
				t.Errorf("%s: %v left, known: %t; want %v, %t", tc.reason, left, known, tc.left, tc.known)
			}
		})
	}
}

func TestAStepThatDoesNotReturnIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		release := make(chan struct{})
		before := time.Now()
		err := newLoop(&memory{}).Do(ctx, func(context.Context) error {
			<-release
			return nil
		})
		if !errors.Is(err, ErrStuck) || !errors.Is(err, why) || time.Since(before) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(before))
		}
		close(release)
	})
}

func TestThePercentageNeverGoesBack(t *testing.T) {
	sink := &memory{}
	now, left := time.Unix(1000, 0), 30*time.Second
	c := New(Options{Plan: &runfile.Plan{}, Now: func() time.Time { return now }, Sink: sink})
	c.Script = &Script{Rounds: 1, Most: 1, Each: left}
	now = now.Add(10 * time.Second)
	c.Tell("")
	c.Script.Each = 90 * time.Second // slower than thought
	c.Tell("")
	c.Script.Each = 0
	c.Tell("")
	for i, want := range []struct {
		percent int32
		eta     int64
	}{{25, 30}, {25, 90}, {99, 0}} {
		if e := sink.events[i]; e.Percent != want.percent || *e.ETASeconds != want.eta {
			t.Errorf("event %d: %d %%, %d s left, want %+v", i, e.Percent, *e.ETASeconds, want)
		}
	}
}

func TestTheLastSaveCounts(t *testing.T) {
	sink := &memory{err: errors.New("disk full")}
	c := newLoop(sink)
	c.Save()
	if err := c.done(); !errors.Is(err, sink.err) {
		t.Errorf("%v", err)
	}
	sink.err = nil
	if err := c.done(); err != nil {
		t.Error(err)
	}
}

func TestFailuresHaveTheCodeThatFits(t *testing.T) {
	codeOf := func(err error) string {
		if err.Error() == "full" {
			return runfile.FailureNoSpace
		}
		return ""
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("SIGTERM"))
	late, cancelLate := context.WithCancelCause(t.Context())
	cancelLate(ErrTimeout)
	for name, c := range map[string]struct {
		reason string
		ctx    context.Context //nolint:containedctx // a table of contexts
		err    error
		want   *runfile.Failure
	}{
		"none":      {"no error is no failure", t.Context(), nil, nil},
		"coded":     {"an error brings its code along", t.Context(), errors.New("full"), &runfile.Failure{Code: runfile.FailureNoSpace, Message: "full"}},
		"other":     {"what nobody foresaw is ours", t.Context(), errors.Join(errors.New("a"), errors.New("b")), &runfile.Failure{Code: runfile.FailureInternal, Message: "a; b"}},
		"cancelled": {"what a cancelled call says is not the reason", cancelled, errors.New("full"), &runfile.Failure{Code: runfile.FailureCancelled, Message: "the run was stopped before its end: SIGTERM"}},
		"late":      {"the plan's timeout is named", late, errors.New("full"), &runfile.Failure{Code: runfile.FailureTimeout, Message: ErrTimeout.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FailureOf(c.ctx, c.err, codeOf)); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

// engine notes what it is asked for. A level takes ten seconds.
type engine struct {
	c     *Loop
	calls []string
	fail  string // the call that fails
	stuck error
}

func (e *engine) call(name string) error {
	e.calls = append(e.calls, name)
	if e.fail == name {
		return errors.Join(errors.New(name+" failed"), e.stuck)
	}
	return nil
}

func (e *engine) Prepare(context.Context) error {
	e.c.Script = &Script{
		Rounds: 2, Most: 2, Each: 10 * time.Second, PauseSeconds: 2, Schedule: e.c.opt.Plan.Schedule,
		Next: Fixed(func(int) []Level { return []Level{{}, {}} }),
	}
	return e.call("prepare")
}

func (e *engine) Measure(ctx context.Context, index int32, _ Level) (Outcome, error) {
	e.c.Enter(runfile.SpanMeasure, index, time.Time{})
	if err := e.c.Do(ctx, func(ctx context.Context) error { return Wait(ctx, 10*time.Second) }); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, e.call(fmt.Sprint("measure ", index))
}

func (e *engine) Verify(context.Context) error { return e.call("verify") }
func (e *engine) Close(stuck bool) {
	_ = e.call("close " + map[bool]string{true: "stuck", false: "all"}[stuck])
}

func (e *engine) Clean(context.Context) error {
	e.c.Enter(runfile.SpanClean, 0, time.Time{})
	return e.call("clean")
}

func (e *engine) Failure(ctx context.Context, err error) *runfile.Failure {
	return FailureOf(ctx, err, func(error) string { return runfile.FailureIO })
}

func TestARunGoesThroughItsRoundsAndCleansUpWhateverHappens(t *testing.T) {
	measured := []string{"measure 1", "measure 2", "measure 3", "measure 4"}
	whole := append(append([]string{"prepare"}, measured...), "verify", "clean", "close all")
	for name, tc := range map[string]struct {
		fail    string
		stuck   error
		timeout int32 // seconds
		calls   []string
		code    string
	}{
		"as planned":       {calls: whole},
		"prepare":          {fail: "prepare", calls: []string{"prepare", "clean", "close all"}, code: runfile.FailureIO},
		"a level":          {fail: "measure 2", calls: []string{"prepare", "measure 1", "measure 2", "clean", "close all"}, code: runfile.FailureIO},
		"too late":         {timeout: 18, calls: []string{"prepare", "measure 1", "clean", "close all"}, code: runfile.FailureTimeout},
		"stuck":            {fail: "measure 1", stuck: ErrStuck, calls: []string{"prepare", "measure 1", "close stuck"}, code: runfile.FailureIO},
		"cannot be undone": {fail: "clean", calls: whole, code: runfile.FailureIO},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &memory{}
				plan := &runfile.Plan{Clients: 1}
				plan.Schedule = runfile.Schedule{BaselineSeconds: 3, CooldownSeconds: 5, TimeoutSeconds: tc.timeout}
				c := New(Options{
					Plan: plan, Now: time.Now, Sink: sink, Patience: time.Second, CleanTimeout: time.Second, Leftovers: "files",
				})
				e := &engine{c: c, fail: tc.fail, stuck: tc.stuck}
				start := time.Now()
				if err := c.Run(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.calls, e.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				f := c.Load.Failure
				if (f != nil) != (tc.code != "") || f != nil && f.Code != tc.code || c.Load.Partial != (f != nil) {
					t.Errorf("failure %+v, partial %v; want %q", f, c.Load.Partial, tc.code)
				}
				if took := time.Since(start); f == nil && took != 2*(3+10+2+10)*time.Second+5*time.Second {
					t.Errorf("the run took %v", took)
				}
				for _, e := range sink.events {
					want := (start.Add(55*time.Second).Sub(e.Time) + time.Second - 1).Truncate(time.Second)
					if told := time.Duration(*e.ETASeconds) * time.Second; f == nil && told != want {
						t.Errorf("after %v in %s %d, %v are left", e.Time.Sub(start), e.Span, e.Repetition, told)
					}
				}
				if last := sink.events[len(sink.events)-1]; last.Span != runfile.SpanDone || last.Percent != 100 {
					t.Errorf("the last event is %+v", last)
				}
			})
		})
	}
}

func TestALaterRoundIsAsLongAsTheOneBefore(t *testing.T) {
	for _, tc := range []struct {
		levels []int
		left   int
		want   int // levels of all three rounds
	}{
		{nil, 0, 3 * 11},               // nothing is known but the most
		{[]int{4}, 7, 3 * 11},          // nor in the first round
		{[]int{6, 0}, 11, 3 * 6},       // as many as the first had
		{[]int{6, 7}, 4, 6 + 8 + 8},    // more than that, and one more at least
		{[]int{6, 7}, 0, 6 + 7 + 7},    // the present one has no more
		{[]int{6, 8, 6}, 0, 6 + 8 + 6}, // all are over
	} {
		s := &Script{Rounds: 3, Most: 11, Each: time.Second, levels: tc.levels, left: tc.left}
		if got := s.Total(); got != time.Duration(tc.want)*time.Second {
			t.Errorf("%v levels, %d may follow: %v, want %d s", tc.levels, tc.left, got, tc.want)
		}
	}
}
