package rest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestAddressesThatAreRefused(t *testing.T) {
	cases := map[string]struct {
		cfg  rest.Config
		want string
	}{
		"nothing":       {rest.Config{}, "must look like https://host"},
		"no scheme":     {rest.Config{BaseURL: "10.0.0.5"}, "must look like https://host"},
		"plain":         {rest.Config{BaseURL: "http://10.0.0.5"}, "must begin with https://"},
		"an account":    {rest.Config{BaseURL: "https://benchaccount:hunter22@10.0.0.5"}, "Secret"},
		"no URL at all": {rest.Config{BaseURL: "https://benchaccount:hunter22@[::1"}, "no URL"},
		"a query":       {rest.Config{BaseURL: "https://10.0.0.5?x=1"}, "must look like https://host"},
		"no PEM":        {rest.Config{BaseURL: "https://10.0.0.5", CABundle: "x"}, "no PEM certificate"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := rest.New(tc.cfg)
			if err == nil || !storage.IsPermanent(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter22") || strings.Contains(err.Error(), "benchaccount")) {
				t.Errorf("the error shows the account: %v", err)
			}
		})
	}
	if _, err := rest.New(rest.Config{BaseURL: "http://10.0.0.5", AllowPlain: true}); err != nil {
		t.Errorf("plain HTTP is allowed where it is asked for: %v", err)
	}
}

func TestPathsCannotLeadElsewhere(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("nothing may be asked") })
	for _, path := range []string{"", "x", "//evil/x", "@evil/x", ".evil/x", ":1/x"} {
		if _, err := c.Get(t.Context(), path, nil, nil); err == nil || !storage.IsPermanent(err) {
			t.Errorf("path %q: got %v", path, err)
		}
	}
}

func TestNewCredentialsAreTriedOnceAfterA401(t *testing.T) {
	cases := map[string]struct {
		renewed bool
		valid   bool
		want    int32
		ok      bool
	}{
		"new and good": {true, true, 2, true},
		"new and bad":  {true, false, 2, false},
		"none":         {false, true, 1, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var token atomic.Value
			token.Store("old")
			var asked, renewals atomic.Int32
			var c *rest.Client
			c = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/login" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				asked.Add(1)
				if r.Header.Get("X-Auth-Token") != "new" || !tc.valid {
					w.WriteHeader(http.StatusUnauthorized)
				}
			}, func(cfg *rest.Config) {
				cfg.Authorize = func(r *http.Request) error {
					r.Header.Set("X-Auth-Token", token.Load().(string))
					return nil
				}
				cfg.Renew = func(ctx context.Context) (bool, error) {
					renewals.Add(1)
					// A login that is refused must not lead to the next login.
					_, _ = c.Do(ctx, http.MethodPost, "/login", nil, nil, nil)
					token.Store("new")
					return tc.renewed, nil
				}
			})
			_, err := c.Do(t.Context(), http.MethodPatch, "/x", nil, map[string]int{"a": 1}, nil)
			if (err == nil) != tc.ok || asked.Load() != tc.want || renewals.Load() != 1 {
				t.Errorf("asked %d times, renewed %d times: %v", asked.Load(), renewals.Load(), err)
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 17<<20))
	})
	_, err := c.Get(t.Context(), "/x", nil, &struct{}{})
	if err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

// TestAnErrorOfAnArrayIsShort: its code may be a number of any length, and an answer that is no success may not end.
func TestAnErrorOfAnArrayIsShort(t *testing.T) {
	long := strings.Repeat("1", 60<<10)
	for name, after := range map[string]string{"code": "}}", "endless": long} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, err := w.Write([]byte(`{"error":{"message":"no","code":` + long + after))
			for name == "endless" && err == nil {
				_, err = w.Write([]byte(long))
			}
		})
		_, err := c.Get(t.Context(), "/x", nil, nil)
		status, ok := errors.AsType[*rest.StatusError](err)
		if !ok || status.Status != http.StatusNotFound || len(err.Error()) > 2000 {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestAnswersOfTooManyElementsAreNotDecoded: 16 MiB of an array's answer made 5 million
// volumes.
func TestAnswersOfTooManyElementsAreNotDecoded(t *testing.T) {
	body := []byte(`{"records":[` + strings.Repeat("{},", 1_000_000) + "{}]}")
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	memory.Bound(t, 1<<20+8*len(body), func() {
		var into struct {
			Records []struct{ Counters [43]uint64 }
		}
		if _, err := c.Get(t.Context(), "/x", nil, &into); err == nil || !storage.IsPermanent(err) || !strings.Contains(err.Error(), "list elements") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnAnswerThatIsNoJSONIsNoSuchStorage(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	if _, err := c.Get(t.Context(), "/x", nil, &struct{}{}); err == nil || !storage.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestTheRateIsLimited(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) },
		func(cfg *rest.Config) { cfg.PerSecond = 10 })
	start := time.Now()
	for range 15 { // 10 at once, 5 at 100 ms each
		if _, err := c.Get(t.Context(), "/x", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(start); d < 450*time.Millisecond {
		t.Errorf("15 requests took %v", d)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	seen := make(chan string, 100)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.RemoteAddr
		_, _ = w.Write([]byte(`{}`))
	})
	for range 10 {
		if _, err := c.Get(t.Context(), "/x", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(seen)
	addresses := map[string]bool{}
	for a := range seen {
		addresses[a] = true
	}
	if len(addresses) != 1 {
		t.Errorf("%d connections for requests one after the other", len(addresses))
	}
}
