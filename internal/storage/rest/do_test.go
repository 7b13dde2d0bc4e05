package rest_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/ports"
)

const (
	user = "benchaccount"
	pass = `Pa"ss  w0rd`
)

// serve starts an array that h plays, and a client that trusts it.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*rest.Config)) *rest.Client {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	cred := rest.Credentials{Username: user, Password: pass}
	cfg := rest.Config{
		BaseURL: srv.URL, CABundle: bundle(srv), Pause: time.Millisecond, PerSecond: 1000, Now: time.Now, Redact: cred.Redact,
		Authorize: func(r *http.Request) error {
			r.SetBasicAuth(user, pass)
			return nil
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := rest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func bundle(srv *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
}

// noSecret fails if an error shows what only a Secret may hold.
func noSecret(t *testing.T, err error) {
	t.Helper()
	for _, s := range []string{user, pass, "w0rd"} {
		if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), s) {
			t.Errorf("the error shows %q: %v", s, err)
		}
	}
}

func TestAnAnswerIsReadAndCredentialsAreSent(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		w.Header().Set("X-Test", "yes")
		_, _ = fmt.Fprintf(w, `{"ok":%t,"query":%q,"path":%q}`, u == user && p == pass, r.URL.RawQuery, r.URL.EscapedPath())
	})
	var got struct {
		OK          bool
		Query, Path string
	}
	h, err := c.Get(t.Context(), "/api/a%3Ab?x=1", url.Values{"fields": {"name,uuid"}}, &got)
	if err != nil {
		t.Fatal(err)
	}
	if !got.OK || got.Query != "fields=name,uuid&x=1" || got.Path != "/api/a%3Ab" || h.Get("X-Test") != "yes" {
		t.Errorf("got %+v, header %v", got, h)
	}
}

func TestWhatServersSayOfAnError(t *testing.T) {
	cases := map[string]struct {
		status        int
		body          string
		code, message string
		permanent     bool
		reason        string
	}{
		"code as string":       {403, `{"error":{"message":"not authorized","code":"6"}}`, "6", "not authorized", true, runfile.SurveyRefused},
		"code as number":       {404, `{"error":{"message":"entry doesn't exist","code":4}}`, "4", "entry doesn't exist", true, runfile.SurveyFailed},
		"code of another kind": {400, `{"error":{"message":"m","code":{"a":1}}}`, "", "m", true, runfile.SurveyFailed},
		"credentials":          {401, `{"error":{"message":"User is not authorized: benchaccount","code":6691623}}`, "6691623", "User is not authorized: (hidden)", true, runfile.SurveyRefused},
		"FlashBlade":           {400, `{"errors":[{"context":"fs1","message":"File system does not exist."}]}`, "", "fs1: File system does not exist.", true, runfile.SurveyFailed},
		"FlashBlade, nulls":    {400, `{"errors":[{"context":null,"message":null}]}`, "", "", true, runfile.SurveyFailed},
		"Prometheus":           {422, `{"status":"error","errorType":"execution","error":"too many samples"}`, "execution", "too many samples", true, runfile.SurveyFailed},
		"a page for people":    {500, `<html>Internal Error</html>`, "", "", false, runfile.SurveyFailed},
		"text":                 {409, "busy\nnow", "", "busy now", true, runfile.SurveyFailed},
		"nothing":              {500, "", "", "", false, runfile.SurveyFailed},
		"an echo of secrets":   {400, `{"error":{"message":"bad login benchaccount Pa\"ss  w0rd","code":"2"}}`, "2", "bad login (hidden) (hidden)", true, runfile.SurveyFailed},
		"a secret at the cut":  {400, `{"error":{"message":"` + strings.Repeat("x", 508) + `Pa\"ss  w0rd"}}`, "", strings.Repeat("x", 508) + "(hid ...", true, runfile.SurveyFailed},
		"a redirect":           {302, "", "", "", true, runfile.SurveyFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			_, err := c.Get(t.Context(), "/api/x", url.Values{"secret": {pass}}, nil)
			var got *rest.StatusError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a StatusError", err)
			}
			if got.Status != tc.status || got.Code != tc.code || got.Message != tc.message {
				t.Errorf("got %d, code %q, message %q", got.Status, got.Code, got.Message)
			}
			if storage.IsPermanent(err) != tc.permanent || rest.Reason(err) != tc.reason {
				t.Errorf("permanent %v, reason %s", storage.IsPermanent(err), rest.Reason(err))
			}
			noSecret(t, err)
		})
	}
}

func TestOnlyHarmlessRequestsAreRepeatedAndOnlyWhenItMayHelp(t *testing.T) {
	cases := map[string]struct {
		method string
		status int
		want   int32
	}{
		"busy":                 {"GET", 429, 3},
		"bad gateway":          {"GET", 502, 3},
		"unavailable":          {"GET", 503, 3},
		"gateway timeout":      {"GET", 504, 3},
		"internal error":       {"GET", 500, 1},
		"forbidden":            {"GET", 403, 1},
		"POST is not repeated": {"POST", 503, 1},
		"nor is PATCH":         {"PATCH", 503, 1},
		"but DELETE is":        {"DELETE", 503, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				n.Add(1)
				w.WriteHeader(tc.status)
			}, func(c *rest.Config) { c.Attempts = 3 })
			if _, err := c.Do(t.Context(), tc.method, "/x", nil, nil, nil); err == nil {
				t.Error("want an error")
			}
			if n.Load() != tc.want {
				t.Errorf("sent %d times, want %d", n.Load(), tc.want)
			}
		})
	}
}

func TestABusyServerIsLeftAloneAsLongAsItWants(t *testing.T) {
	var n atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	})
	start := time.Now()
	if _, err := c.Get(t.Context(), "/x", nil, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < time.Second {
		t.Errorf("asked again after %v", d)
	}
}

func TestALongRetryAfterIsNotWaitedFor(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err := c.Get(t.Context(), "/x", nil, nil)
	if err == nil || storage.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestASlowServerIsUnreachableAndTheContextBoundsIt(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Get(ctx, "/x", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || rest.Reason(err) != runfile.SurveyUnreachable || storage.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

// deadline is a context whose deadline is exceeded when the test says so.
type deadline struct {
	context.Context //nolint:containedctx // it is one

	exceeded chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.exceeded }

func (d deadline) Err() error {
	select {
	case <-d.exceeded:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestTheLastAnswerIsToldWhenTimeIsUp(t *testing.T) {
	ctx := deadline{t.Context(), make(chan struct{})}
	var asked atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 2 { // the first answer has come
			close(ctx.exceeded)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"message":"giving back"}}`))
	}, func(c *rest.Config) { c.Attempts = 1000 })
	_, err := c.Get(ctx, "/x", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "giving back") {
		t.Errorf("got %v", err)
	}
}

func TestTheLastAnswerIsToldWhenTheNextTurnComesTooLate(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"message":"giving back"}}`))
	}, func(c *rest.Config) { c.PerSecond = 1e-6 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := c.Get(ctx, "/x", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "giving back") {
		t.Errorf("got %v", err)
	}
}

func TestNobodyThereIsUnreachable(t *testing.T) {
	c, err := rest.New(rest.Config{BaseURL: "https://" + ports.Reserve(t).String(), Pause: time.Millisecond, Attempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(t.Context(), "/x", url.Values{"p": {pass}}, nil)
	if rest.Reason(err) != runfile.SurveyUnreachable || storage.IsPermanent(err) ||
		!strings.HasSuffix(err.Error(), ": no connection to https://"+c.Host()+": connection refused") {
		t.Errorf("got %v", err)
	}
	noSecret(t, err)
}

// TestASilentHostIsAskedOnce: an account of ONTAP waited a minute for an address that answers nothing.
func TestASilentHostIsAskedOnce(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and ignores the handshake
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() //nolint:errcheck // of a test
	repeats := func(int) bool { return true }
	for name, tc := range map[string]struct {
		repeat func(int) bool
		want   bool
	}{"array": {nil, false}, "API server": {repeats, true}} {
		again := false
		c, err := rest.New(rest.Config{
			BaseURL: "https://" + silent.Addr().String(), ConnectTimeout: 50 * time.Millisecond, Pause: time.Millisecond,
			Attempts: 2, Repeat: tc.repeat, Notify: func(error, time.Duration) { again = true },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Get(t.Context(), "/x", nil, nil)
		want := "GET " + c.Host() + "/x: no answer from https://" + c.Host() + " within 0.05 s"
		if err == nil || err.Error() != want || rest.Reason(err) != runfile.SurveyUnreachable || storage.IsPermanent(err) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		if again != tc.want {
			t.Errorf("%s: asked again %t", name, again)
		}
	}
}

func TestAConnectErrorSaysWhatHappened(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for want, err := range map[string]error{
		"no answer from https://a within 10 s":               dial(os.ErrDeadlineExceeded),
		"no connection to https://a: no route to host":       dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)),
		"no connection to https://a: lookup a: no such host": dial(&net.DNSError{Err: "no such host", Name: "a"}),
		"no connection to https://a: lookup a: timed out":    dial(&net.DNSError{Err: "timed out", Name: "a", IsTimeout: true}),
	} {
		e := &rest.ConnectError{BaseURL: "https://a", Port: "443", Within: 10 * time.Second, Err: err}
		if e.Error() != want || rest.Reason(e) != runfile.SurveyUnreachable {
			t.Errorf("got %q, %s, want %q", e, rest.Reason(e), want)
		}
	}
}

func TestAnUntrustedCertificateSaysWhatToDo(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	srv.Config.ErrorLog = nil
	t.Cleanup(srv.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	cases := map[string]struct {
		url, bundle, want string
	}{
		"unknown issuer": {srv.URL, "", "caBundle"},
		"another name":   {strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), bundle(srv), "verification: Disabled"},
		"no TLS":         {strings.Replace(plain.URL, "http:", "https:", 1), "", "check address and port"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := rest.New(rest.Config{BaseURL: tc.url, CABundle: tc.bundle})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Get(t.Context(), "/x", nil, nil)
			if rest.Reason(err) != runfile.SurveyUntrusted || !storage.IsPermanent(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %s: %v", rest.Reason(err), err)
			}
		})
	}
	c, err := rest.New(rest.Config{BaseURL: srv.URL, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Get(t.Context(), "/x", nil, nil); rest.Reason(err) != runfile.SurveyFailed {
		t.Errorf("with verification disabled the answer must come through: %v", err)
	}
}
