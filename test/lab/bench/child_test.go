package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAChildGivesItsOutputAndWhatItUsed(t *testing.T) {
	out, used, err := runChild(t.Context(), time.Minute, []string{"sh", "-c", "echo hello; exec 1>&2; echo complaint"})
	if err != nil || string(out) != "hello\n" {
		t.Errorf("output %q, %v", out, err)
	}
	if used.Took <= 0 || used.PeakBytes <= 0 {
		t.Errorf("used %+v", used)
	}
	if out, _, err := runChild(t.Context(), time.Minute, []string{"echo", "hello", discard}); err != nil || len(out) > 0 {
		t.Errorf("discarded output %q, %v", out, err)
	}
}

func TestAChildThatFailsSaysWhy(t *testing.T) {
	_, _, err := runChild(t.Context(), time.Minute, []string{"sh", "-c", "echo first >&2; echo the reason >&2; exit 3"})
	if err == nil || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
}

// alive reports whether a pid that a child has written to a file still runs.
func alive(t *testing.T, file string) bool {
	t.Helper()
	var pid int
	for range 500 {
		text, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(string(text), "\n") {
			for _, c := range strings.TrimSpace(string(text)) {
				pid = pid*10 + int(c-'0')
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if pid < 2 {
		t.Fatalf("%s has no pid", file)
	}
	for range 500 { // a killed process takes a moment to be gone
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(readText(t, file)), "stat"))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return syscall.Kill(pid, 0) == nil
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// orphan is a script that leaves a process in a session of its own behind and
// then goes on.
func orphan(file, then string) []string {
	return []string{"sh", "-c", `setsid sh -c 'echo $$ >"$0"; exec sleep 300' "$0" & while ! [ -s "$0" ]; do sleep 0.01; done; ` + then, file}
}

func TestAChildThatHangsIsKilledWithAllThatItStarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for readable := false; !readable; time.Sleep(10 * time.Millisecond) {
			text, err := os.ReadFile(file)
			readable = err == nil && len(text) > 0
		}
		cancel(errHangs)
	}()
	_, _, err := runChild(ctx, time.Minute, orphan(file, "sleep 300"))
	if !errors.Is(err, errHangs) {
		t.Errorf("error %v, want that it hangs", err)
	}
	if alive(t, file) {
		t.Error("what it started still runs")
	}
}

func TestAChildThatHangsSaysItsLastWords(t *testing.T) {
	_, _, err := runChild(t.Context(), time.Second, []string{"sh", "-c", `trap 'echo here I stand >&2; exit 2' QUIT; while :; do sleep 0.05; done`})
	var h *hang
	if !errors.As(err, &h) || string(h.words) != "here I stand\n" {
		t.Errorf("error %v, last words %+v", err, h)
	}
}

func TestWhatACrashedChildLeftBehindIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	if _, _, err := runChild(t.Context(), time.Minute, orphan(file, "exit 1")); err == nil || errors.Is(err, errHangs) {
		t.Errorf("error %v, want that of the exit", err)
	}
	if alive(t, file) {
		t.Error("what it started still runs")
	}
}

func TestAnInterruptEndsTheChild(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	file := filepath.Join(t.TempDir(), "pid")
	reason := errors.New("interrupted")
	go func() {
		for {
			if _, err := os.Stat(file); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(reason)
	}()
	if _, _, err := runChild(ctx, time.Minute, orphan(file, "sleep 300")); !errors.Is(err, reason) {
		t.Errorf("error %v, want the reason of the interrupt", err)
	}
	if alive(t, file) {
		t.Error("what it started still runs")
	}
}

func TestABadgeIsAWholeVariable(t *testing.T) {
	environment := []byte("HOME=/root\x00" + badge + "=ABC\x00OTHER=" + badge + "=DEF\x00")
	for variable, want := range map[string]bool{badge + "=ABC": true, badge + "=AB": false, badge + "=DEF": false, "HOME=/root": true} {
		if got := carries(environment, variable); got != want {
			t.Errorf("%s: %v", variable, got)
		}
	}
}

func TestFactsComeFromTheFirstLineWithTheKey(t *testing.T) {
	text := "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Another\n"
	if got := after(text, "model name", ":"); got != "Some CPU @ 2 GHz" {
		t.Errorf("model name = %q", got)
	}
	if got := after(text, "nothing", ":"); got != "" {
		t.Errorf("nothing = %q", got)
	}
}
