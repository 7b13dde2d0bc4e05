package ontap_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

const (
	user     = "benchaccount"
	password = "hunter22 and more"
)

// clock is an array's clock that a test steps.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is a stand-in that serves, what it is based on, and a client of it.
type world struct {
	*ontap.Standin
	truth *scripted
	clock *clock
	url   string
	ca    []byte
	http  *http.Client
	// user and password are what the client signs in with.
	user, password string
}

// begin starts a stand-in of two nodes, on which user may do everything.
func begin(t *testing.T, change ...func(*ontap.Options)) *world {
	t.Helper()
	w := &world{truth: &scripted{}, clock: &clock{now: time.Unix(1_800_000_003, 0)}, user: user, password: password}
	o := ontap.Options{
		Truth: w.truth, Now: w.clock.Now,
		Model: example(ontap.Admin(user, password)),
	}
	for _, c := range change {
		c(&o)
	}
	w.Standin = ontap.New(o)
	t.Cleanup(w.Close)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if w.url, w.ca, err = w.StartTLS(l); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.ca)
	w.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	t.Cleanup(w.http.CloseIdleConnections)
	return w
}

// ask sends a request and returns the status and the decoded body.
func (w *world) ask(t *testing.T, method, path, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(w.user, w.password)
	a, err := w.http.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer a.Body.Close() //nolint:errcheck // it was only read
	var into map[string]any
	if err := json.NewDecoder(a.Body).Decode(&into); err != nil {
		t.Fatalf("%s %s: body: %v", method, path, err)
	}
	return a.StatusCode, into
}

// get wants a 200 and returns the body.
func (w *world) get(t *testing.T, path string) map[string]any {
	t.Helper()
	status, body := w.ask(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, status, body)
	}
	return body
}

// records wants a 200 and returns the records.
func (w *world) records(t *testing.T, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, r := range w.get(t, path)["records"].([]any) {
		all = append(all, r.(map[string]any))
	}
	return all
}

// at is the value at a dotted path of a body, nil if there is none.
func at(body map[string]any, path string) any {
	var v any = body
	for p := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}
