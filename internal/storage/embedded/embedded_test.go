package embedded_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/embedded"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

func newSource(t *testing.T, url string) *embedded.Source {
	t.Helper()
	s, err := embedded.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheEmbeddedSourceKeepsTheContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		t.Helper()
		newSet := func() *counters.Set {
			return counters.New("pod-1", time.Now, []string{"NULL", "READ", "WRITE"}, []string{":12050", ":12049"})
		}
		var set atomic.Pointer[counters.Set]
		set.Store(newSet())
		var broken atomic.Bool
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if broken.Load() {
				http.Error(w, "overloaded", http.StatusServiceUnavailable)
				return
			}
			set.Load().Handler().ServeHTTP(w, r)
		}))
		t.Cleanup(srv.Close)
		return storagetest.Subject{
			Source: newSource(t, srv.URL),
			Work: func(*testing.T) {
				set.Load().Listener(1).Operation(1)
				set.Load().Listener(1).ReadBytes.Add(8192)
			},
			Restart: func(*testing.T) { set.Store(newSet()) },
			Break:   func(*testing.T) { broken.Store(true) },
			Mend:    func(*testing.T) { broken.Store(false) },
		}
	})
}

func TestASnapshotHoldsWhatTheServerCounted(t *testing.T) {
	now := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	set := counters.New("pod-1", func() time.Time { return now }, []string{"NULL", "READ", "WRITE"}, []string{":12050", ":12049"})
	set.Listener(0).Operation(1)
	set.Listener(0).ReadBytes.Add(100)
	set.Listener(1).Operation(2)
	set.Listener(1).WrittenBytes.Add(7)
	set.Listener(1).Operation(0)
	srv := httptest.NewServer(set.Handler())
	defer srv.Close()
	now = now.Add(time.Minute)

	got, err := newSource(t, srv.URL).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !got.Time.Equal(now) || got.Epoch != "2026-08-01T10:00:00Z" {
		t.Errorf("time %v, epoch %q: both are the server's", got.Time, got.Epoch)
	}
	if len(got.Nodes) != 1 || got.Nodes[0].Name != "pod-1" || got.Nodes[0].BusyMicroseconds == nil || got.Nodes[0].Cores == nil {
		t.Errorf("nodes: %+v", got.Nodes)
	}
	if len(got.Paths) != 2 || got.Paths[0].Address != ":12049" || *got.Paths[0].WriteBytes != 7 || *got.Paths[1].ReadBytes != 100 || *got.Paths[0].Ops != 2 {
		t.Errorf("paths: %+v", got.Paths)
	}
	c := got
	if *c.ReadOps != 1 || *c.WriteOps != 1 || *c.OtherOps != 1 || *c.ReadBytes != 100 || *c.WriteBytes != 7 {
		t.Errorf("total: %d %d %d %d %d", *c.ReadOps, *c.WriteOps, *c.OtherOps, *c.ReadBytes, *c.WriteBytes)
	}
}

// Each document is right but for one thing.
func TestAnAnswerIsRefusedForOneFault(t *testing.T) {
	const times = `"time":"2026-11-01T10:00:00Z","startTime":"2026-11-01T09:00:00Z"`
	for reason, c := range map[string]struct {
		status           int
		body             string
		fails, permanent bool
	}{
		"nothing is wrong":                     {http.StatusOK, `{"version":1,` + times + `,"total":{}}`, false, false},
		"it has no total":                      {http.StatusOK, `{"version":1,` + times + `,"total":null}`, true, true},
		"only a newer program reads it":        {http.StatusOK, `{"version":2,` + times + `,"total":{}}`, true, true},
		"it has no version":                    {http.StatusOK, `{` + times + `,"total":{}}`, true, true},
		"it has no start":                      {http.StatusOK, `{"version":1,"time":"2026-11-01T10:00:00Z","total":{}}`, true, true},
		"nothing could be divided by it":       {http.StatusOK, `{"version":1,"total":{}}`, true, true},
		"the body is bounded":                  {http.StatusOK, strings.Repeat(" ", 2<<20), true, true},
		"it is no JSON":                        {http.StatusOK, "<html>", true, true},
		"nobody else's counters are read":      {http.StatusFound, "", true, true},
		"the server asks us to come later":     {http.StatusTooManyRequests, "", true, false},
		"the server is not well":               {http.StatusInternalServerError, "", true, false},
		"what is before it is not well":        {http.StatusBadGateway, "", true, false},
		"another server is there":              {http.StatusNotFound, "", true, true},
		"another server is there, and says so": {http.StatusForbidden, "", true, true},
	} {
		t.Run(reason, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer srv.Close()
			_, err := newSource(t, srv.URL).Sample(t.Context())
			if (err != nil) != c.fails || storage.IsPermanent(err) != c.permanent {
				t.Errorf("error %v, permanent %t", err, storage.IsPermanent(err))
			}
		})
	}
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	for _, base := range []string{"", "10.0.0.7:8080", "ftp://x", "http://", "http://[::1"} {
		if _, err := embedded.New(base); err == nil {
			t.Errorf("%q must be refused", base)
		}
	}
}
