package main

import (
	"context"
	"testing"
	"time"
)

func TestAProcessThatStoodStillForLongerThanItsLeaseLastsEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		gaps []time.Duration
		want time.Duration
	}{
		"it runs":               {[]time.Duration{time.Second, time.Second, 3 * time.Second, time.Second}, 0},
		"it is starved":         {[]time.Duration{time.Second, 9 * time.Second, 9 * time.Second}, 0},
		"it was stopped":        {[]time.Duration{time.Second, 17 * time.Second, time.Second}, 17 * time.Second},
		"its clock is set back": {[]time.Duration{time.Second, -time.Hour, time.Second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
			left := tc.gaps
			beats := make(chan time.Time)
			ctx, cancel := context.WithCancel(t.Context())
			var stood time.Duration
			over := make(chan struct{})
			go func() {
				defer close(over)
				first := true
				now := func() time.Time {
					if !first {
						at, left = at.Add(left[0]), left[1:]
					}
					first = false
					return at
				}
				watchClock(ctx, now, beats, func(d time.Duration) { stood = d })
			}()
			for range tc.gaps {
				select {
				case beats <- time.Time{}:
				case <-over:
				}
			}
			cancel()
			<-over
			if stood != tc.want {
				t.Errorf("it ended after a pause of %v, want %v", stood, tc.want)
			}
		})
	}
}
