package course

import (
	"context"
	"errors"
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

func TestSpansFollowEachOtherWithoutGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load, sink := &runfile.Load{}, &memory{}
		start := time.Now()
		c := New(load, sink, time.Now, func(now time.Time) (time.Duration, bool) { return start.Add(20 * time.Second).Sub(now), true })
		c.Enter(runfile.SpanBaseline, 1, time.Time{})
		if err := c.Idle(t.Context(), 10500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		c.Enter(runfile.SpanMeasure, 1, start.Add(10*time.Second)) // it began before this was written down
		if err := c.Idle(t.Context(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if err := c.Done(); err != nil {
			t.Fatal(err)
		}
		end := start.Add(15500 * time.Millisecond)
		want := []runfile.Span{
			{Kind: runfile.SpanBaseline, Repetition: 1, Start: start, End: start.Add(10 * time.Second)},
			{Kind: runfile.SpanMeasure, Repetition: 1, Start: start.Add(10 * time.Second), End: end},
			{Kind: runfile.SpanDone, Start: end, End: end},
		}
		if diff := cmp.Diff(want, load.Spans); diff != "" {
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
	c := New(&runfile.Load{}, sink, time.Now, func(time.Time) (time.Duration, bool) { return 0, false })
	c.Enter(runfile.SpanConnect, 0, time.Time{})
	if e := sink.events[0]; e.ETASeconds != nil || e.Percent != 0 {
		t.Errorf("%+v", e)
	}
}

func TestAStepThatDoesNotReturnIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&runfile.Load{}, &memory{}, time.Now, func(time.Time) (time.Duration, bool) { return 0, true })
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		release := make(chan struct{})
		before := time.Now()
		err := c.During(ctx, nil, func(context.Context) error {
			<-release
			return nil
		})
		if !errors.Is(err, ErrStuck) || !errors.Is(err, why) || time.Since(before) != abandonAfter {
			t.Errorf("%v after %v", err, time.Since(before))
		}
		close(release)
	})
}

func TestHowLongToWaitForAStepIsTheCallersToSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&runfile.Load{}, &memory{}, time.Now, func(time.Time) (time.Duration, bool) { return 0, true })
		mine := errors.New("mine")
		c.GiveUp(10*time.Second, func(cause error) error { return errors.Join(mine, cause) })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		release := make(chan struct{})
		before := time.Now()
		err := c.During(ctx, nil, func(context.Context) error {
			<-release
			return nil
		})
		if !errors.Is(err, mine) || !errors.Is(err, context.Canceled) || time.Since(before) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(before))
		}
		close(release)
	})
}

func TestThePercentageNeverGoesBack(t *testing.T) {
	sink := &memory{}
	now, left := time.Unix(1000, 0), 30*time.Second
	c := New(&runfile.Load{}, sink, func() time.Time { return now }, func(time.Time) (time.Duration, bool) { return left, true })
	now = now.Add(10 * time.Second)
	c.Tell("")
	left = 90 * time.Second // slower than thought
	c.Tell("")
	left = 0
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
	c := New(&runfile.Load{}, sink, time.Now, func(time.Time) (time.Duration, bool) { return 0, true })
	c.Save()
	if err := c.Done(); !errors.Is(err, sink.err) {
		t.Errorf("%v", err)
	}
	sink.err = nil
	if err := c.Done(); err != nil {
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
