// Command testsummary reads event streams of go test -json and says which tests
// could not run and why, then counts.
//
// A test counts once, however often it ran: one that is skipped under the race
// detector and passes without it has passed. It exits with 1 when a test
// failed, or when one was skipped and -forbid-skips is given.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	forbid := flag.Bool("forbid-skips", false, "a skipped test is a failure")
	flag.Parse()
	all := tests{}
	if err := all.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	if !all.report(os.Stdout, *forbid) {
		os.Exit(1)
	}
}

// event is one line of the stream.
type event struct {
	Action, Package, Test, Output string
}

// test is what became of one test in all its runs.
type test struct {
	passed, failed, skipped bool
	said                    string // its last own line: the reason of a skip
}

// tests are keyed by package and name.
type tests map[string]*test

func (ts tests) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Package != "" {
			ts.add(e)
		}
	}
	return lines.Err()
}

func (ts tests) add(e event) {
	if e.Test == "" && e.Action != "fail" {
		return // a package passes when its tests do; one that does not build fails alone
	}
	key := strings.TrimSpace(e.Package + " " + e.Test)
	t, ok := ts[key]
	if !ok {
		t = &test{}
		ts[key] = t
	}
	switch e.Action {
	case "pass":
		t.passed = true
	case "fail":
		t.failed = true
	case "skip":
		t.skipped = true
	case "output":
		if text := strings.TrimSpace(e.Output); text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
			t.said = text
		}
	}
}

// report writes the skipped tests and the counts, and tells whether all is well.
func (ts tests) report(w io.Writer, forbidSkips bool) bool {
	var passed, failed, skipped int
	for _, name := range slices.Sorted(maps.Keys(ts)) {
		switch t := ts[name]; {
		case t.failed:
			failed++
			fmt.Fprintf(w, "failed:  %s\n", name)
		case t.passed:
			passed++
		case t.skipped:
			skipped++
			fmt.Fprintf(w, "not run: %s: %s\n", name, t.said)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && (skipped == 0 || !forbidSkips)
}
