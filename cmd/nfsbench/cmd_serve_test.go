package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/output"
)

func TestServeSaysHowToUseItAndEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &output.Buffer{}
	cmd := newServeCommand(&app{log: slog.New(slog.NewTextHandler(log, nil)), now: time.Now})
	cmd.SetArgs([]string{"--dir", t.TempDir(), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--size", "1Gi"})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()

	address := regexp.MustCompile(`counters=(http://\S+)`)
	var found []string
	for deadline := time.Now().Add(2 * time.Minute); found == nil; time.Sleep(time.Millisecond) {
		found = address.FindStringSubmatch(log.String())
		if time.Now().After(deadline) {
			t.Fatalf("no address in the log: %s", log.String())
		}
	}
	resp, err := http.Get(found[1]) //nolint:noctx // a test against this process
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(body), `"startTime"`) {
		t.Errorf("counters: %s, %v", body, err)
	}
	if !regexp.MustCompile(`nfsbench load --server 127\.0\.0\.1:\d+ --export /export`).MatchString(log.String()) {
		t.Errorf("the log does not say how to use the server: %s", log.String())
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the end by a signal is a success, got %v", err)
	}
}

func TestServeRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"no directory":      {"nothing is served by accident", nil, `required flag(s) "dir" not set`},
		"missing directory": {"it is not made", []string{"--dir", filepath.Join(dir, "no")}, "no such file"},
		"bad size":          {"a unit is no guess", []string{"--dir", dir, "--size", "10GiB"}, `"10GiB" for "--size" flag: it is no size`},
		"bad transfer":      {"clients would not understand it", []string{"--dir", dir, "--max-transfer", "1000"}, "must be from 4096"},
		"bad port":          {"no such port", []string{"--dir", dir, "--advertise-port", "70000"}, "from 0 to 65535"},
		"bad address":       {"the reason names it", []string{"--dir", dir, "--listen", "256.0.0.1:1"}, `listen on "256.0.0.1:1"`},
		"bad HTTP address":  {"the NFS addresses are closed again", []string{"--dir", dir, "--listen", "127.0.0.1:0", "--http", "x"}, `listen on "x"`},
	}
	for name, tc := range cases {
		t.Run(name+": "+tc.reason, func(t *testing.T) { refuses(t, append([]string{"serve"}, tc.args...), tc.want) })
	}
}

func TestLoadExampleReachesThisMachine(t *testing.T) {
	got := loadExample([]string{"[::]:12049", "10.0.0.1:12050"}, "/x")
	if want := "nfsbench load --server 127.0.0.1:12049,10.0.0.1:12050 --export /x --pattern read"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
