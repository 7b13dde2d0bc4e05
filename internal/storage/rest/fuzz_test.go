package rest

import (
	"net/http"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// answering makes a client that repeats after each answer, at a time that stands still.
func answering(t testing.TB, now time.Time) *Client {
	t.Helper()
	c, err := New(Config{
		BaseURL: "https://h", Now: func() time.Time { return now }, Repeat: func(int) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pause is how long the server is left alone after an answer with that header, 0 for as long as without one.
func (c *Client) pause(t *testing.T, status int, header string, body []byte) (time.Duration, *StatusError) {
	t.Helper()
	e := statusError(status, body, c.cfg.Redact)
	e.retryAfter = c.retryAfter(header)
	if after, ok := c.verdict(t.Context(), http.MethodPatch, e).(*backoff.RetryAfterError); ok { //nolint:errorlint // not wrapped
		return after.Duration, e
	}
	return 0, e
}

func TestRetryAfterIsObeyedWithinReason(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		header string
		want   time.Duration
	}{
		"seconds": {"7", 7 * time.Second},
		"date":    {start.Add(9 * time.Second).Format(http.TimeFormat), 9 * time.Second},
		"past":    {start.Add(-time.Hour).Format(http.TimeFormat), 0},
		"long":    {"86400", maxRetryAfter},
		"huge":    {"9000000000000000000", maxRetryAfter},
		"garbage": {"soon", 0},
		"none":    {"", 0},
	}
	for name, tc := range cases {
		if got, _ := answering(t, start).pause(t, http.StatusTooManyRequests, tc.header, nil); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestTheQuickestAnswerTellsTheTimeBest(t *testing.T) {
	asked := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	answer := http.Header{"Date": {asked.Add(10 * time.Second).Format(http.TimeFormat)}}
	clock := answering(t, asked)
	if ahead, known := clock.ClockAhead(); known {
		t.Errorf("ahead by %v before any answer", ahead)
	}
	clock.learn(http.Header{}, asked, 0) // nothing to learn from
	clock.learn(answer, asked, time.Second)
	clock.learn(answer, asked.Add(9*time.Second), 8*time.Second) // slow: where in between was it?
	if ahead, known := clock.ClockAhead(); !known || ahead != 10*time.Second {
		t.Errorf("ahead by %v (%v), want 10s", ahead, known)
	}
}

// FuzzAnswer reads hostile answers of a server, or of what stands in its place. How long
// to wait is bounded, whatever a header asks for, and so is what is said of it.
func FuzzAnswer(f *testing.F) {
	f.Add(429, "3", []byte(`{"message":"slow down"}`))
	f.Add(503, "Wed, 21 Oct 2099 07:28:00 GMT", []byte("<html>"))
	f.Add(404, "-1", []byte(`{"message":["a"]}`))
	f.Add(500, "99999999999999999999", []byte(nil))
	f.Add(400, "0", []byte(`{"errors":[{"context":"a","message":"b"}],"error":{"message":"c","code":1}}`))
	f.Fuzz(func(t *testing.T, code int, retryAfter string, body []byte) {
		c := answering(t, time.Unix(1_800_000_000, 0))
		memory.Bound(t, 64*len(body)+64*len(retryAfter)+4096, func() {
			wait, err := c.pause(t, code, retryAfter, body)
			if len(err.Error()) > len(body)*4+1000 {
				t.Fatalf("status %d gives %v", code, err)
			}
			if wait < 0 || wait > maxRetryAfter {
				t.Fatalf("waits %v", wait)
			}
		})
	})
}
