package embedded_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// Each document is right but for one thing.
func TestADocumentIsRefusedForOneFault(t *testing.T) {
	const times = `"time":"2026-11-01T10:00:00Z","startTime":"2026-11-01T09:00:00Z"`
	for reason, c := range map[string]struct {
		status           int
		body             string
		fails, permanent bool
	}{
		"nothing is wrong":                     {http.StatusOK, `{"version":1,` + times + `}`, false, false},
		"only a newer program reads it":        {http.StatusOK, `{"version":2,` + times + `}`, true, true},
		"it has no version":                    {http.StatusOK, `{` + times + `}`, true, true},
		"it has no start":                      {http.StatusOK, `{"version":1,"time":"2026-11-01T10:00:00Z"}`, true, true},
		"the server asks us to come later":     {http.StatusTooManyRequests, "", true, false},
		"the server is not well":               {http.StatusInternalServerError, "", true, false},
		"another server is there, and says so": {http.StatusForbidden, "", true, true},
	} {
		t.Run(reason, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
