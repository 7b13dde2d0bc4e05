// Package flashblade is a stand-in for the REST interface of a Pure FlashBlade: login by API
// token, sessions that end, collections in pages, one reading of performance a second, and
// faults on demand. It knows what internal/storage/flashblade asks for and nothing else, and
// is written after public documents, not against an array.
package flashblade

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Token is the API token that the stand-in takes at first.
const Token = "T-0f00ba44-5eed-4bad-cafe-0123456789ab"

// Second is what happened in one second: means.
type Second struct {
	Reads, Writes, Others     float64 // per second
	ReadBytes, WriteBytes     float64 // per second
	ReadLatency, WriteLatency float64 // microseconds
}

// Standin is one array. Its methods may be called from several goroutines.
type Standin struct {
	server *httptest.Server

	mu       sync.Mutex
	token    string
	sessions map[string]bool
	logins   int
	now      time.Time
	history  []point
	faults   map[string]Fault
	asked    []string
	objects  map[string][]any
	pageSize int // how many items a page has at most
	versions []string
}

type point struct {
	at time.Time
	Second
}

// Fault is what becomes of the requests below a path.
type Fault struct {
	Status int           // 0 = it is answered as usual
	Delay  time.Duration // before the answer
	Drop   bool          // the connection ends instead of an answer
	Body   string
}

// New starts an array with one file system, fs1, two VIPs for data and three blades. Its
// clock stands at now until Pass moves it.
func New(now time.Time) *Standin {
	s := &Standin{
		token: Token, sessions: map[string]bool{}, now: now.Truncate(time.Second), faults: map[string]Fault{},
		objects: example(), pageSize: 2, versions: []string{"1.0", "1.12", "2.0", "2.2", "2.17", "2.9"},
	}
	s.history = []point{{at: s.now}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that go away are part of the tests
	s.server.StartTLS()
	return s
}

// Close stops it.
func (s *Standin) Close() { s.server.Close() }

// URL is where it answers.
func (s *Standin) URL() string { return s.server.URL }

// CABundle is the certificate to trust, in PEM.
func (s *Standin) CABundle() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw}))
}

// Pass lets seconds go by in which all is as in what.
func (s *Standin) Pass(seconds int, what Second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range seconds {
		s.now = s.now.Add(time.Second)
		s.history = append(s.history, point{at: s.now, Second: what})
	}
}

// Forget loses the readings of seconds between now-from and now-to.
func (s *Standin) Forget(from, to time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []point
	for _, p := range s.history {
		if age := s.now.Sub(p.at); age > from || age < to {
			kept = append(kept, p)
		}
	}
	s.history = kept
}

// SetClock sets the clock of the array.
func (s *Standin) SetClock(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now.Truncate(time.Second)
	s.history = []point{{at: s.now}}
}

// Expire ends all sessions.
func (s *Standin) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// SetToken makes another API token the right one and ends all sessions.
func (s *Standin) SetToken(token string) {
	s.mu.Lock()
	s.token = token
	s.mu.Unlock()
	s.Expire()
}

// Set makes f of all requests whose path behind /api/2.N begins with path; the zero Fault
// ends it. /api/login and /api/api_version are paths of their own.
func (s *Standin) Set(path string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = f
}

// SetVersions sets what api_version says.
func (s *Standin) SetVersions(versions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = versions
}

// Put replaces the objects of a collection, such as /file-systems.
func (s *Standin) Put(path string, objects ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = objects
}

// Logins counts logins that were successful.
func (s *Standin) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Sessions counts those that are open.
func (s *Standin) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Asked returns all requests so far, path and query.
func (s *Standin) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func (s *Standin) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/api/2."); ok {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RequestURI())
	f := s.fault(path)
	s.mu.Unlock()
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer(w, r, path)
}

func (s *Standin) fault(path string) Fault {
	for prefix, f := range s.faults {
		if strings.HasPrefix(path, prefix) && f != (Fault{}) {
			return f
		}
	}
	return Fault{}
}

// refuse writes an error as FlashBlade does.
func refuse(w http.ResponseWriter, status int, context, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]any{"context": context, "message": message}}})
}

func (s *Standin) login(w http.ResponseWriter, r *http.Request) {
	token := r.Header.Get("api-token")
	if r.Method != http.MethodPost || token != s.token {
		// A careless array repeats what it was given.
		refuse(w, http.StatusUnauthorized, token, "Invalid API token "+token)
		return
	}
	s.logins++
	session := fmt.Sprintf("session-%d-of-a-secret", s.logins)
	s.sessions[session] = true
	w.Header().Set("x-auth-token", session)
	_, _ = w.Write([]byte(`{"items":[{"username":"nfsbench"}]}`))
}
