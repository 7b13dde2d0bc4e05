package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// within waits for something that happens by itself, and reports whether it did. The limit is against hangs.
func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// line is the line that a child has written to a file; empty until then.
func line(file string) string {
	text, _ := os.ReadFile(file) // there is none before
	line, _, whole := strings.Cut(string(text), "\n")
	if !whole {
		return ""
	}
	return line
}

// cancelWith ends a context when a child has written a line to a file.
func cancelWith(t *testing.T, file string, cause error) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		within(2*time.Minute, func() bool { return line(file) != "" || ctx.Err() != nil })
		cancel(cause)
	}()
	return ctx
}

// alive reports whether a process whose pid a child has written to a file still runs. A killed one takes a
// while to be gone.
func alive(t *testing.T, file string) bool {
	t.Helper()
	pid := line(file)
	if n, err := strconv.Atoi(pid); err != nil || n < 2 {
		t.Fatalf("%s has no pid, but %q", file, pid)
	}
	return !within(2*time.Minute, func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
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
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	_, _, err := runChild(cancelWith(t, file, errHangs), time.Hour, orphan(file, "sleep 300"))
	if !errors.Is(err, errHangs) {
		t.Errorf("error %v, want that it hangs", err)
	}
	if alive(t, file) {
		t.Error("what it started still runs")
	}
}

func TestAChildThatHangsSaysItsLastWords(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready")
	_, _, err := runChild(cancelWith(t, file, errHangs), time.Hour, []string{
		"sh", "-c", `trap 'echo here I stand >&2; exit 2' QUIT; echo ready >"$0"; while :; do sleep 0.05; done`, file,
	})
	var h *hang
	if !errors.As(err, &h) || string(h.words) != "here I stand\n" {
		t.Errorf("error %v, last words %+v", err, h)
	}
}

func TestWhatACrashedChildLeftBehindIsKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	if _, _, err := runChild(t.Context(), time.Hour, orphan(file, "exit 1")); err == nil || errors.Is(err, errHangs) {
		t.Errorf("error %v, want that of the exit", err)
	}
	if alive(t, file) {
		t.Error("what it started still runs")
	}
}

func TestAnInterruptEndsTheChild(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	reason := errors.New("interrupted")
	if _, _, err := runChild(cancelWith(t, file, reason), time.Hour, orphan(file, "sleep 300")); !errors.Is(err, reason) {
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
