package flashblade

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

func TestNoTokenIsShown(t *testing.T) {
	s := newSession(rest.Credentials{Token: "api-token-1"})
	if got := s.redact("no session yet"); got != "no session yet" {
		t.Errorf("redact: %q", got)
	}
	s.token = "session-token-1"
	if got := s.redact("api-token-1 gave session-token-1"); strings.Contains(got, "token-1") {
		t.Errorf("redact: %q", got)
	}
}

// Sessions are few on an array, and live for half an hour.
func TestTheSessionIsClosed(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get(headerSession))
		switch r.URL.Path {
		case pathVersions:
			_, _ = w.Write([]byte(`{"versions":["2.2","2.17","2.9"]}`))
		case pathLogin:
			w.Header().Set(headerSession, "session-1")
		default:
			w.WriteHeader(http.StatusOK)
		}
	}))
	defer srv.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	s, err := New(runfile.Source{URL: srv.URL, CABundle: string(ca)}, rest.Credentials{Token: "api"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, api, err := s.begin(t.Context())
	if err != nil || api != "/api/2.17" {
		t.Fatalf("begin: %q, %v", api, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if last := asked[len(asked)-1]; last != "POST /api/logout session-1" {
		t.Errorf("asked %q", asked)
	}
	if token, _ := s.session.state(); token != "" {
		t.Errorf("the token %q is kept", token)
	}
}
