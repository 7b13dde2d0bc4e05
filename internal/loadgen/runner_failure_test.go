package loadgen

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

func TestFailuresHaveTheCodeOfTheirCause(t *testing.T) {
	live := t.Context()
	cancelled, cancel := context.WithCancelCause(live)
	cancel(errors.New("terminated"))
	late, cancelLate := context.WithCancelCause(live)
	cancelLate(runloop.ErrTimeout)
	noSpace := target.Fail(runfile.FailureNoSpace, "full", nil)
	cases := map[string]struct {
		reason string
		ctx    context.Context
		err    error
		want   string
	}{
		"bare":               {"the span says what it is", live, errors.New("x"), runfile.FailureIO},
		"with a code":        {"its own code counts", live, noSpace, runfile.FailureNoSpace},
		"stopped":            {"whatever a stopped run breaks is no failure of the storage", cancelled, noSpace, runfile.FailureCancelled},
		"timeout":            {"the error may be a consequence", late, errors.New("context canceled"), runfile.FailureTimeout},
		"timeout of a step":  {"an error that wraps it", live, runloop.ErrTimeout, runfile.FailureTimeout},
		"unanswered":         {"no answer is no I/O error", live, errNotAnswered, runfile.FailureTimeout},
		"unanswered, reason": {"but a reason counts more", live, errors.Join(noSpace, errNotAnswered), runfile.FailureNoSpace},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := inSpan(runfile.SpanMeasure).Failure(tc.ctx, tc.err); got == nil || got.Code != tc.want || got.Message == "" {
				t.Errorf("%s: %+v, want %s", tc.reason, got, tc.want)
			}
		})
	}
	if inSpan(runfile.SpanMeasure).Failure(live, nil) != nil {
		t.Error("no error became a failure")
	}
	for span, want := range map[string]string{
		runfile.SpanConnect: runfile.FailureInternal, runfile.SpanFill: runfile.FailureIO, runfile.SpanWait: runfile.FailureTimeout,
	} {
		if got := inSpan(span).Failure(live, errors.New("x")); got.Code != want {
			t.Errorf("a failure in %s is %+v, not %s", span, got, want)
		}
	}
}

// inSpan gives a Runner that has come to a span.
func inSpan(kind string) *Runner {
	c := runloop.New(runloop.Options{Now: time.Now, Sink: &memory{}})
	c.Enter(kind, 0, time.Time{})
	return &Runner{loop: c}
}

func TestAFailureIsOneSentenceWhateverWasJoined(t *testing.T) {
	err := errors.Join(errors.New("connect to 10.0.1.61: no answer"), errors.New("connect to 10.0.2.61: refused"))
	f := inSpan(runfile.SpanConnect).Failure(t.Context(), err)
	if want := "connect to 10.0.1.61: no answer; connect to 10.0.2.61: refused"; f.Message != want {
		t.Errorf("message is %q, want %q", f.Message, want)
	}
}

func TestServersOfAWindowAreDifferences(t *testing.T) {
	before := []runfile.NFSServer{{
		ID: 1, Recoveries: 1, RecoveryMilliseconds: 2, Callbacks: 3, LayoutsGranted: 4, LayoutsRecalled: 5,
		LayoutFallbacks: 6, LayoutFallbackBytes: 7,
	}}
	now := []runfile.NFSServer{
		{ID: 2, Role: bench.PathDataServer, Callbacks: 1},
		{
			ID: 1, Role: bench.PathMetadata, Slots: 64, Recoveries: 11, RecoveryMilliseconds: 22, Callbacks: 33, LayoutsGranted: 44,
			LayoutsRecalled: 55, LayoutFallbacks: 66, LayoutFallbackBytes: 77,
		},
	}
	want := []runfile.NFSServer{
		{ID: 2, Role: bench.PathDataServer, Callbacks: 1},
		{
			ID: 1, Role: bench.PathMetadata, Slots: 64, Recoveries: 10, RecoveryMilliseconds: 20, Callbacks: 30, LayoutsGranted: 40,
			LayoutsRecalled: 50, LayoutFallbacks: 60, LayoutFallbackBytes: 70,
		},
	}
	if diff := cmp.Diff(want, serversSince(before, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if now[1].Callbacks != 33 {
		t.Error("the servers of the target were changed")
	}
	if got := serversSince(nil, nil); got != nil {
		t.Errorf("no servers became %v", got)
	}
	if got := serversSince(nil, make([]runfile.NFSServer, 100)); len(got) != runfile.MaxServers {
		t.Errorf("%d servers are kept", len(got))
	}
}

func TestChannelsOfAWindowAreDifferences(t *testing.T) {
	before := []runfile.Channel{
		{ID: 0, Path: "a", State: "Up", Sends: 1, Receives: 2, BytesRead: 3, BytesWritten: 4, Reconnects: 5, Retransmits: 6, DownMilliseconds: 7},
	}
	now := []runfile.Channel{
		{ID: 0, Path: "a", State: "Down", Sends: 11, Receives: 22, BytesRead: 33, BytesWritten: 44, Reconnects: 55, Retransmits: 66, DownMilliseconds: 77},
		{ID: 1, Path: "b", State: "Up", Sends: 9},
	}
	want := []runfile.Channel{
		{ID: 0, Path: "a", State: "Down", Sends: 10, Receives: 20, BytesRead: 30, BytesWritten: 40, Reconnects: 50, Retransmits: 60, DownMilliseconds: 70},
		{ID: 1, Path: "b", State: "Up", Sends: 9},
	}
	if diff := cmp.Diff(want, channelsSince(before, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := channelsSince(before, []runfile.Channel{now[1], now[0]}); got[0].Sends != 9 || got[1].Sends != 10 {
		t.Errorf("a data server's channel that came first was subtracted from another: %+v", got)
	}
	if got := channelsSince(nil, nil); got != nil {
		t.Errorf("no channels became %v", got)
	}
}
