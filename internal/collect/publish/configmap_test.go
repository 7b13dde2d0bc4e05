package publish

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// apiStub answers with the answers in turn, and then as an API server that
// takes everything.
type apiStub struct {
	mu       sync.Mutex
	answers  []http.HandlerFunc
	then     http.Handler // after the answers; nil = answers with data
	requests []string     // method, path, content type, token, body
	data     string       // JSON of the ConfigMap
	refused  refusals
}

func (a *apiStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.mu.Lock()
	a.requests = append(a.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL.Path,
		r.Header.Get("Content-Type"), r.Header.Get("Authorization"), body)))
	var answer http.HandlerFunc
	if len(a.answers) > 0 {
		answer, a.answers = a.answers[0], a.answers[1:]
	}
	a.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
		return
	case a.then != nil:
		a.then.ServeHTTP(w, r)
		return
	}
	_, _ = io.WriteString(w, a.data)
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"kind":"Status","message":"says the server"}`)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// refusals gets the log of a server, whose lines are about connections that are refused.
type refusals chan struct{}

func (r refusals) Write(p []byte) (int, error) {
	select {
	case r <- struct{}{}:
	default:
	}
	return len(p), nil
}

// newStub starts an API server over TLS and a ConfigMap publisher for client 1.
func newStub(t *testing.T, answers ...http.HandlerFunc) (*apiStub, *ConfigMap, string) {
	t.Helper()
	stub := &apiStub{answers: answers, data: `{"kind":"PartialObjectMetadata"}`}
	server := httptest.NewUnstartedServer(stub)
	stub.refused = make(refusals, 1)
	server.Config.ErrorLog = log.New(stub.refused, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	write(t, filepath.Join(dir, "ca.crt"), string(ca))
	write(t, filepath.Join(dir, "token"), "first\n")
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return stub, connect(t, at, dir), dir
}

// connect returns the publisher of client 1 to the API server at that address, with the CA and the token in dir. Its
// clock stands still.
func connect(t *testing.T, at *url.URL, dir string) *ConfigMap {
	t.Helper()
	env := map[string]string{"KUBERNETES_SERVICE_HOST": at.Hostname(), "KUBERNETES_SERVICE_PORT": at.Port()}
	now := func() time.Time { return start }
	api, err := inCluster(func(k string) string { return env[k] }, dir, now, slog.New(slog.DiscardHandler), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return NewConfigMap(api, "ns", "demo-result", 1)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPublishPatchesOnlyTheKeysOfThisClient(t *testing.T) {
	stub, c, dir := newStub(t)
	progress := &runfile.Progress{Event: runfile.Event{Time: start, Span: "Fill", Percent: 3}}
	if err := c.Publish(t.Context(), Update{Progress: progress}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "token"), "second\n")
	if err := c.Publish(t.Context(), Update{Result: []byte("zip")}); err != nil {
		t.Fatal(err)
	}
	const head = "PATCH /api/v1/namespaces/ns/configmaps/demo-result application/merge-patch+json Bearer "
	want := []string{
		head + `first {}`,
		head + `first {"data":{"client-1.progress.json":"{\"time\":\"2026-05-01T12:00:00Z\",\"span\":\"Fill\",\"percent\":3}"}}`,
		head + `second {"binaryData":{"client-1.result.json.gz":"` + b64("zip") + `"}}`,
	}
	if diff := cmp.Diff(want, stub.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestPublishTriesAgainWhatMayPass(t *testing.T) {
	stub, c, _ := newStub(t,
		status(http.StatusTooManyRequests, "Retry-After", "0"), hangUp,
		status(http.StatusInternalServerError), status(http.StatusUnauthorized), status(http.StatusServiceUnavailable))
	if err := c.Publish(t.Context(), Update{Result: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if len(stub.requests) != 7 {
		t.Errorf("%d requests, want 7: %q", len(stub.requests), stub.requests)
	}
	for _, r := range stub.requests[1:6] {
		if r != stub.requests[0] {
			t.Errorf("%q was repeated as %q", stub.requests[0], r)
		}
	}
}

// versioned executes patches as an API server does: of the version that they name, if they name one.
type versioned struct {
	mu      sync.Mutex
	version int
	result  string
}

func (v *versioned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var patch mergePatch
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if named := patch.Metadata.ResourceVersion; named != "" && named != strconv.Itoa(v.version) {
		w.WriteHeader(http.StatusConflict)
		return
	}
	if result, ok := patch.BinaryData[runfile.ResultKey(1)]; ok {
		v.version, v.result = v.version+1, string(result)
	}
	_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"}}`, v.version)
}

func TestARequestThatWasGivenUpDoesNotReplaceWhatFollowed(t *testing.T) {
	v := &versioned{version: 7}
	ctx, giveUp := context.WithCancel(t.Context())
	var late *http.Request
	hold := func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		late = httptest.NewRequest(r.Method, r.URL.Path, bytes.NewReader(body))
		giveUp()
		<-r.Context().Done()
	}
	stub, c, _ := newStub(t, v.ServeHTTP, hold)
	stub.then = v
	if err := c.Publish(ctx, Update{Result: []byte("partial")}); err == nil {
		t.Fatal("a request without an answer has succeeded")
	}
	if err := c.Publish(t.Context(), Update{Result: []byte("final")}); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	v.ServeHTTP(answer, late)
	if answer.Code != http.StatusConflict || v.result != "final" {
		t.Errorf("the late request is answered with %d, and the result is %q", answer.Code, v.result)
	}
}

func TestPublishTriesAgainWhenSomebodyElseWasFirst(t *testing.T) {
	v := &versioned{version: 7}
	stub, c, _ := newStub(t)
	stub.then = v
	for _, result := range []string{"first", "second"} {
		if err := c.Publish(t.Context(), Update{Result: []byte(result)}); err != nil || v.result != result {
			t.Fatalf("%q was published as %q: %v", result, v.result, err)
		}
		v.mu.Lock()
		v.version++ // another client, or the controller
		v.mu.Unlock()
	}
	if len(stub.requests) != 5 {
		t.Errorf("%d requests, want a look, a patch, a conflict, a look and a patch: %q", len(stub.requests), stub.requests)
	}
}

func TestPublishSaysWhatToDoAboutWhatDoesNotPass(t *testing.T) {
	const head = "publish to ConfigMap ns/demo-result: the API server answers "
	cases := map[string]struct {
		code int
		want string
	}{
		"forbidden": {403, head + "403 Forbidden: the Role must allow get and patch on this one ConfigMap (says the server)"},
		"gone":      {404, head + "404 Not Found: the ConfigMap is gone, the benchmark was probably deleted (says the server)"},
		"too large": {413, head + "413 Request Entity Too Large: the results do not fit the ConfigMap, use fewer repetitions or clients (says the server)"},
		"bad":       {400, head + "400 Bad Request (says the server)"},
		"redirect":  {307, head + "307 Temporary Redirect (says the server)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stub, c, _ := newStub(t, status(tc.code, "Location", "https://127.0.0.1:1/"))
			err := c.Publish(t.Context(), Update{Result: []byte("x")})
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if !storage.IsPermanent(err) || len(stub.requests) != 1 {
				t.Errorf("permanent %v after %d requests, want one", storage.IsPermanent(err), len(stub.requests))
			}
		})
	}
}

func TestPublishEndsWithItsContextAndSaysWhatWasWrong(t *testing.T) {
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	slow := func(http.ResponseWriter, *http.Request) { cancel(); <-release }
	_, c, _ := newStub(t, status(http.StatusBadGateway), slow)
	defer close(release)
	err := c.Publish(ctx, Update{Result: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), "502 Bad Gateway") || storage.IsPermanent(err) {
		t.Errorf("error %v", err)
	}
}

func TestReleasedLooksForTheKey(t *testing.T) {
	stub, c, _ := newStub(t)
	stub.data = `{"data":{"client-0.progress.json":"{}"}}`
	assertReleased(t, c, false)
	stub.data = `{"data":{"release":""}}`
	assertReleased(t, c, true)
	stub.data = `{"data":{"release":"","levels":"{}"}}`
	if s, err := c.Signal(t.Context()); err != nil || string(s.Levels) != "{}" {
		t.Errorf("levels %q, %v", s.Levels, err)
	}
	stub.data = `{"data":`
	if _, err := c.Signal(t.Context()); err == nil {
		t.Error("half an answer was taken for one")
	}
	if want := "GET /api/v1/namespaces/ns/configmaps/demo-result  Bearer first"; stub.requests[0] != want {
		t.Errorf("request %q, want %q", stub.requests[0], want)
	}
}

func TestAServerThatIsNotTheAPIServerGetsNoToken(t *testing.T) {
	stub, c, dir := newStub(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	another, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "ca.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: another})))
	at, err := url.Parse("https://" + c.api.Host())
	if err != nil {
		t.Fatal(err)
	}
	c = connect(t, at, dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for range 2 { // with the second attempt, the error of the first is known
			<-stub.refused
		}
		cancel()
	}()
	if err := c.Publish(ctx, Update{Result: []byte("x")}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want one about the certificate", err)
	}
	if len(stub.requests) != 0 {
		t.Errorf("requests reached it: %q", stub.requests)
	}
}

func TestInClusterSaysWhatIsMissing(t *testing.T) {
	none := func(string) string { return "" }
	if _, err := InCluster(none, t.TempDir(), time.Now, slog.Default()); err == nil || !strings.Contains(err.Error(), "can only be reached from a pod") {
		t.Errorf("error %v", err)
	}
	dir := t.TempDir()
	set := func(string) string { return "1" }
	if _, err := InCluster(set, dir, time.Now, slog.Default()); err == nil || !strings.Contains(err.Error(), "read the CA") {
		t.Errorf("error %v", err)
	}
	write(t, filepath.Join(dir, "ca.crt"), "nonsense")
	if _, err := InCluster(set, dir, time.Now, slog.Default()); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("error %v", err)
	}
}

func TestTheClockOfTheAPIServerIsLearnedFromItsAnswers(t *testing.T) {
	early := start.Add(-time.Minute).Format(http.TimeFormat)
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", early)
		_, _ = io.WriteString(w, `{}`)
	}
	_, c, _ := newStub(t, status(http.StatusServiceUnavailable, "Date", early), answer, answer)
	if ahead, known := c.ClockOffset(); known {
		t.Errorf("%v before any answer", ahead)
	}
	if err := c.Publish(t.Context(), Update{Result: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if ahead, known := c.ClockOffset(); !known || ahead != -time.Minute+500*time.Millisecond { // a Date is cut to a second
		t.Errorf("the server is ahead by %v (%v), want -59.5s", ahead, known)
	}
}

func TestPutReplacesOneKey(t *testing.T) {
	stub, c, _ := newStub(t, status(http.StatusServiceUnavailable))
	if err := c.Put(t.Context(), "survey.json", `{"a":"b"}`); err != nil {
		t.Fatal(err)
	}
	const head = `PATCH /api/v1/namespaces/ns/configmaps/demo-result application/merge-patch+json Bearer first `
	want := []string{head + `{}`, head + `{}`, head + `{"data":{"survey.json":"{\"a\":\"b\"}"}}`}
	if diff := cmp.Diff(want, stub.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
