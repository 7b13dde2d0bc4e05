// Package flashblade is a stand-in for the REST interface of a Pure FlashBlade: login by API
// token, sessions that end, collections in pages, one reading of performance a second, and
// faults on demand. It knows what internal/storage/flashblade asks for and nothing else, and
// is written after public documents, not against an array.
package flashblade

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
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
	s.change(func() {
		s.history = slices.DeleteFunc(s.history, func(p point) bool { age := s.now.Sub(p.at); return age <= from && age >= to })
	})
}

// SetClock sets the clock of the array.
func (s *Standin) SetClock(now time.Time) {
	s.change(func() {
		s.now = now.Truncate(time.Second)
		s.history = []point{{at: s.now}}
	})
}

func (s *Standin) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Expire ends all sessions.
func (s *Standin) Expire() { s.change(func() { clear(s.sessions) }) }

// SetToken makes another API token the right one and ends all sessions.
func (s *Standin) SetToken(token string) {
	s.change(func() {
		s.token = token
		clear(s.sessions)
	})
}

// Set makes f of all requests whose path behind /api/2.N begins with path; the zero Fault
// ends it. /api/login and /api/api_version are paths of their own.
func (s *Standin) Set(path string, f Fault) { s.change(func() { s.faults[path] = f }) }

// SetVersions sets what api_version says.
func (s *Standin) SetVersions(versions ...string) { s.change(func() { s.versions = versions }) }

// Put replaces the objects of a collection, such as /file-systems.
func (s *Standin) Put(path string, objects ...any) { s.change(func() { s.objects[path] = objects }) }

// Logins counts logins that were successful.
func (s *Standin) Logins() (n int) {
	s.change(func() { n = s.logins })
	return n
}

// Sessions counts those that are open.
func (s *Standin) Sessions() (n int) {
	s.change(func() { n = len(s.sessions) })
	return n
}

// Asked returns all requests so far, path and query.
func (s *Standin) Asked() (all []string) {
	s.change(func() { all = slices.Clone(s.asked) })
	return all
}

func (s *Standin) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/api/2."); ok {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RequestURI())
	var f Fault
	for prefix, other := range s.faults {
		if strings.HasPrefix(path, prefix) && other != (Fault{}) {
			f = other
		}
	}
	s.mu.Unlock()
	select {
	case <-time.After(f.Delay):
	case <-r.Context().Done():
		return
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
	_, _ = w.Write([]byte(`{"username":"nfsbench"}`))
}

func (s *Standin) answer(w http.ResponseWriter, r *http.Request, path string) {
	session := r.Header.Get("x-auth-token")
	switch path {
	case "/api/api_version":
		_ = json.NewEncoder(w).Encode(map[string]any{"versions": s.versions})
		return
	case "/api/login":
		s.login(w, r)
		return
	}
	if !s.sessions[session] {
		refuse(w, http.StatusUnauthorized, "", "Invalid session "+session)
		return
	}
	q := r.URL.Query()
	switch path {
	case "/api/logout":
		delete(s.sessions, session)
		return
	case "/arrays/performance", "/file-systems/performance":
		s.performance(w, path, q)
		return
	}
	objects, ok := s.objects[path]
	if !ok {
		refuse(w, http.StatusNotFound, path, "no such endpoint")
		return
	}
	if name := q.Get("names"); name != "" {
		objects = slices.DeleteFunc(slices.Clone(objects), func(o any) bool { return field(o, "name") != name })
		if len(objects) == 0 {
			refuse(w, http.StatusBadRequest, name, "File system does not exist.")
			return
		}
	}
	if policy := q.Get("policy_names"); policy != "" {
		objects = slices.DeleteFunc(slices.Clone(objects), func(o any) bool { return field(field(o, "policy"), "name") != policy })
	}
	s.page(w, q, objects)
}

func field(o any, name string) any { m, _ := o.(map[string]any); return m[name] }

// page writes one page; its continuation token is where the next begins.
func (s *Standin) page(w http.ResponseWriter, q url.Values, objects []any) {
	from, err := strconv.Atoi(cmp.Or(q.Get("continuation_token"), "0"))
	if err != nil || from < 0 || from > len(objects) {
		refuse(w, http.StatusBadRequest, "continuation_token", "Invalid continuation token.")
		return
	}
	to := min(from+s.pageSize, len(objects))
	doc := map[string]any{"items": objects[from:to], "total_item_count": len(objects), "continuation_token": nil}
	if to < len(objects) {
		doc["continuation_token"] = strconv.Itoa(to)
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// performance gives the newest reading, or with start_time all since then.
func (s *Standin) performance(w http.ResponseWriter, path string, q url.Values) {
	name := "array1"
	if path == "/file-systems/performance" {
		name = q.Get("names")
		if !slices.ContainsFunc(s.objects["/file-systems"], func(o any) bool { return field(o, "name") == name }) {
			refuse(w, http.StatusBadRequest, name, "File system does not exist.")
			return
		}
	}
	if q.Get("protocol") != "NFS" {
		refuse(w, http.StatusBadRequest, "protocol", "this stand-in knows NFS only")
		return
	}
	points := s.history[max(0, len(s.history)-1):]
	if start := q.Get("start_time"); start != "" {
		ms, err := strconv.ParseInt(start, 10, 64)
		if err != nil || q.Get("resolution") != "1000" {
			refuse(w, http.StatusBadRequest, "start_time", "Invalid start_time or resolution.")
			return
		}
		points = slices.DeleteFunc(slices.Clone(s.history), func(p point) bool { return p.at.Before(time.UnixMilli(ms)) })
	}
	items := []any{}
	for _, p := range points {
		items = append(items, map[string]any{
			"name": name, "time": p.at.UnixMilli(), "reads_per_sec": p.Reads, "writes_per_sec": p.Writes, "others_per_sec": p.Others,
			"read_bytes_per_sec": p.ReadBytes, "write_bytes_per_sec": p.WriteBytes,
			"usec_per_read_op": p.ReadLatency, "usec_per_write_op": p.WriteLatency,
		})
	}
	s.page(w, q, items)
}

func example() map[string][]any {
	vip := func(name, address, service string, enabled bool) any {
		return map[string]any{"name": name, "address": address, "netmask": "255.255.255.0", "services": []string{service}, "type": "vip", "enabled": enabled}
	}
	blade := func(name, status string) any { return map[string]any{"name": name, "status": status} }
	rule := func(policy, client, permission, access string, index int, security ...string) any {
		return map[string]any{
			"policy": map[string]any{"name": policy}, "client": client, "permission": permission, "access": access, "index": index, "security": security,
		}
	}
	return map[string][]any{
		"/arrays": {map[string]any{"name": "fb01", "os": "Purity//FB", "version": "4.5.6"}},
		"/blades": {blade("CH1.FB2", "healthy"), blade("CH1.FB1", "healthy"), blade("CH1.FB3", "unhealthy"), blade("CH1.FB4", "unused")},
		"/network-interfaces": {
			vip("vip2", "10.0.2.10", "data", true), vip("vip1", "10.0.1.10", "data", true), vip("mgmt", "10.0.9.1", "management", true), vip("vip3", "10.0.3.10", "data", false),
		},
		"/file-systems": {
			FileSystem("fs1"),
			map[string]any{"name": "gone", "destroyed": true},
		},
		"/nfs-export-policies/rules": {
			rule("oracle", "10.0.2.0/24", "ro", "root-squash", 2, "sys", "krb5"),
			rule("oracle", "10.0.1.0/24", "rw", "no-squash", 1),
			rule("other", "*", "rw", "no-squash", 1),
		},
	}
}

// FileSystem is a file system of 1 TB with a hard limit, 250 GB of it used, and an export
// policy.
func FileSystem(name string) map[string]any {
	return map[string]any{
		"name": name, "id": "4ff1-" + name, "provisioned": int64(1e12), "hard_limit_enabled": true, "destroyed": false, "writable": true,
		"space": map[string]any{"virtual": int64(25e10), "total_physical": int64(1e10)},
		"nfs":   map[string]any{"v3_enabled": true, "v4_1_enabled": false, "rules": "", "export_policy": map[string]any{"name": "oracle"}},
	}
}
