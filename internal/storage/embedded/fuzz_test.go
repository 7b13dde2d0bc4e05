package embedded

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzDecodeCounters reads hostile bytes as the counters of a server: what is no
// counter document is refused for good, and the rest has a time.
func FuzzDecodeCounters(f *testing.F) {
	set := counters.New("pod-1", time.Now, []string{"NULL", "READ"}, []string{":2049", ":12049"})
	set.Listener(0).Operation(1)
	answer := httptest.NewRecorder()
	set.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/counters", nil))
	f.Add(answer.Body.Bytes())
	f.Add([]byte(`{"version":1,"time":"2026-11-01T10:00:00Z","startTime":"0001-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		memory.Bound(t, 512*len(body), func() {
			doc, err := decode(body)
			if err != nil {
				if !storage.IsPermanent(err) {
					t.Fatalf("asked again after %v", err)
				}
				return
			}
			if s := snapshot(doc); s.Time.IsZero() || s.Epoch == "" || len(s.Paths) != len(doc.Listeners) {
				t.Fatalf("snapshot %+v", s)
			}
		})
	})
}
