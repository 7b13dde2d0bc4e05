package publish

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzAPIAnswer reads hostile answers of an API server, or of what stands in its
// place. How long to wait is bounded, whatever a header asks for.
func FuzzAPIAnswer(f *testing.F) {
	f.Add(429, "3", []byte(`{"message":"slow down"}`))
	f.Add(503, "Wed, 21 Oct 2099 07:28:00 GMT", []byte("<html>"))
	f.Add(404, "-1", []byte(`{"message":["a"]}`))
	f.Add(500, "99999999999999999999", []byte(nil))
	f.Fuzz(func(t *testing.T, code int, retryAfter string, body []byte) {
		a := &API{now: func() time.Time { return time.Unix(1_800_000_000, 0) }, firstWait: time.Millisecond}
		response := &http.Response{
			StatusCode: code, Header: http.Header{"Retry-After": {retryAfter}}, Body: io.NopCloser(bytes.NewReader(body)),
		}
		memory.Bound(t, 64*len(body)+64*len(retryAfter), func() {
			err := a.readStatus(response)
			if err == nil || len(err.Error()) > len(body)*4+1000 {
				t.Fatalf("status %d gives %v", code, err)
			}
			for attempt := range 20 {
				if wait := a.backoff(attempt, err); wait < 0 || wait > longestRetryAfter+longestWait {
					t.Fatalf("attempt %d waits %v", attempt, wait)
				}
			}
		})
	})
}
