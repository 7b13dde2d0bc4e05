package loadgen

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheEstimate(t *testing.T) {
	start := time.Unix(1000, 0)
	cases := map[string]struct {
		reason string
		p      progress
		left   time.Duration
		known  bool
	}{
		"filling has just begun": {
			"nobody can know how long it takes", progress{fillStart: start, fillBytes: 100, planned: time.Minute}, 0, false,
		},
		"half filled in ten seconds": {
			"the other half takes as long, then comes the schedule",
			progress{fillStart: start, fillBytes: 100, filled: 50, planned: 80 * time.Second},
			90 * time.Second, true,
		},
		"nothing to fill": {
			"the schedule is known", progress{planned: 30 * time.Second}, 30 * time.Second, true,
		},
		"verifying": {
			"nothing is planned any more", progress{fillBytes: 100, filled: 100}, 0, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			left, known := tc.p.left(start.Add(10 * time.Second))
			if left != tc.left || known != tc.known {
				t.Errorf("%s: %v left, known: %t; want %v, %t", tc.reason, left, known, tc.left, tc.known)
			}
		})
	}
}

func TestFailuresHaveTheCodeOfTheirCause(t *testing.T) {
	live := t.Context()
	cancelled, cancel := context.WithCancelCause(live)
	cancel(errors.New("terminated"))
	late, cancelLate := context.WithCancelCause(live)
	cancelLate(errTimeout)
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
		"timeout of a step":  {"an error that wraps it", live, errTimeout, runfile.FailureTimeout},
		"unanswered":         {"no answer is no I/O error", live, errNotAnswered, runfile.FailureTimeout},
		"unanswered, reason": {"but a reason counts more", live, errors.Join(noSpace, errNotAnswered), runfile.FailureNoSpace},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := failureOf(tc.ctx, tc.err, runfile.FailureIO); got == nil || got.Code != tc.want || got.Message == "" {
				t.Errorf("%s: %+v, want %s", tc.reason, got, tc.want)
			}
		})
	}
	if failureOf(live, nil, runfile.FailureIO) != nil {
		t.Error("no error became a failure")
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
	if got := channelsSince(nil, nil); got != nil {
		t.Errorf("no channels became %v", got)
	}
}
