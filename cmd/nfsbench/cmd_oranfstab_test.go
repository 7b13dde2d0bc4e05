package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// transcript runs the program and returns what a user sees of it. Log lines are
// left out: they begin with the time.
func transcript(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(args, strings.NewReader(stdin), &out, &errOut)
	var b strings.Builder
	fmt.Fprintf(&b, "$ nfsbench %s\n%s", strings.Join(args, " "), out.String())
	for line := range strings.Lines(errOut.String()) {
		if !strings.HasPrefix(line, "time=") {
			b.WriteString("stderr: " + line)
		}
	}
	fmt.Fprintf(&b, "exit code %d\n", code)
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "oranfstab", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

const (
	mistakes = "testdata/oranfstab/mistakes.oranfstab"
	warnings = "testdata/oranfstab/warnings.oranfstab"
	clean    = "testdata/oranfstab/clean.oranfstab"
)

func TestOranfstabTranscripts(t *testing.T) {
	cases := map[string]struct {
		reason string
		stdin  string
		args   []string
	}{
		"lint-mistakes": {"errors fail", "", []string{"lint", mistakes}},
		"lint-warnings": {"warnings pass", "", []string{"lint", warnings, clean}},
		"lint-stdin":    {"a pipe has no name, and control characters do not reach the terminal", "\ufeffserver:\t\x1b[31mnas\r\n", []string{"lint", "-"}},
		"lint-no-file":  {"bad usage", "", []string{"lint"}},
		"lint-missing":  {"nothing is done if one file cannot be read", "", []string{"lint", mistakes, "testdata/none"}},
		"help-lint":     {"the help has examples", "", []string{"lint", "--help"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			golden(t, name, transcript(t, tc.stdin, append([]string{"oranfstab"}, tc.args...)...))
		})
	}
}

func TestAHugeFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, make([]byte, maxOranfstabBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := transcript(t, "", "oranfstab", "lint", file); !strings.Contains(got, "is larger than 1 MiB") || !strings.Contains(got, "exit code 2") {
		t.Errorf("got %s", got)
	}
}

func TestReadingATerminalEndsWithTheContext(t *testing.T) {
	in, _ := io.Pipe() // nobody writes
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cli.ReadInput(ctx, in, "-", "oranfstab", maxOranfstabBytes); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
