// Command testsummary says at the end of a run of hack/test.sh what failed and how to
// repeat it, which tests could not run and why, what each part took, and which tests
// were slowest.
//
// usage: testsummary [-forbid-skips] FOLDER
//
// FOLDER holds what hack/test.sh and hack/test/part.sh write: results (a line for
// each part), PART.N.json (events of go test -json), PART.N.graph (the go command's
// actions) and PART.needs (seconds until what the part needs was there).
//
// The program exits with 1 when a part failed, or when a test was skipped and
// -forbid-skips is given.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	forbid := flag.Bool("forbid-skips", false, "a skipped test is a failure")
	flag.Parse()
	r, err := readRun(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	r.report(os.Stdout)
	if !r.ok(*forbid) {
		os.Exit(1)
	}
}

// part is a part of the tests, as it ended.
type part struct {
	name     string
	reason   string // why it was not run; "" if it was
	failed   bool
	took     time.Duration
	needs    time.Duration // until its cluster, images and tools were there
	compiled time.Duration // of all compilers and linkers together
	load     time.Duration // in which the benchmarks of its tests were measured, together
	tests    map[string]*test
}

// test is the outcome of one test.
type test struct {
	pkg, name               string
	passed, failed, skipped bool
	took                    time.Duration
	said                    string // its last own line: the reason of a skip
}

// run is everything that one call of hack/test.sh ran.
type run struct{ parts []*part }

func readRun(folder string) (*run, error) {
	text, err := os.ReadFile(filepath.Join(folder, "results"))
	if err != nil {
		return nil, err
	}
	r := &run{}
	for line := range strings.Lines(string(text)) {
		p, err := parseResult(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		if err := p.read(folder); err != nil {
			return nil, err
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

// parseResult reads "PART CODE SECONDS" or "PART - 0 REASON".
func parseResult(line string) (*part, error) {
	words := strings.SplitN(line, " ", 4)
	if len(words) < 3 {
		return nil, fmt.Errorf("results: %q has no code and seconds", line)
	}
	p := &part{name: words[0], tests: map[string]*test{}}
	if words[1] == "-" {
		p.reason = strings.Join(words[3:], " ")
		return p, nil
	}
	seconds, err := strconv.Atoi(words[2])
	p.failed, p.took = words[1] != "0", time.Duration(seconds)*time.Second
	return p, err
}

func (p *part) read(folder string) error {
	if text, err := os.ReadFile(filepath.Join(folder, p.name+".needs")); err == nil {
		seconds, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return err
		}
		p.needs = time.Duration(seconds) * time.Second
	}
	if err := eachFile(folder, p.name+".*.graph", p.readGraph); err != nil {
		return err
	}
	return eachFile(folder, p.name+".*.json", p.readEvents)
}

func eachFile(folder, pattern string, read func(io.Reader) error) error {
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = read(f)
		if err := f.Close(); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// readGraph adds the time of compilers and linkers. A go command that failed early
// leaves no graph.
func (p *part) readGraph(r io.Reader) error {
	var actions []struct {
		Mode                string
		TimeStart, TimeDone time.Time
	}
	if err := json.NewDecoder(r).Decode(&actions); err != nil && err != io.EOF {
		return err
	}
	for _, a := range actions {
		if a.Mode == "build" || a.Mode == "link" {
			p.compiled += a.TimeDone.Sub(a.TimeStart)
		}
	}
	return nil
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, Key, Value string
	Elapsed                                   float64
}

func (p *part) readEvents(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Package != "" {
			p.add(e)
		}
	}
	return lines.Err()
}

// AttrMeasured is the attribute by which a test says for how many seconds the load of
// a benchmark was measured.
const AttrMeasured = "measured-seconds"

func (p *part) add(e event) {
	if e.Test == "" && e.Action != "fail" {
		return // a package passes when its tests do; one that does not build fails alone
	}
	key := e.Package + " " + e.Test
	t, ok := p.tests[key]
	if !ok {
		t = &test{pkg: e.Package, name: e.Test}
		p.tests[key] = t
	}
	switch e.Action {
	case "pass":
		t.passed = true
	case "fail":
		t.failed = true
	case "skip":
		t.skipped = true
	case "attr":
		if s, err := strconv.ParseFloat(e.Value, 64); err == nil && e.Key == AttrMeasured {
			p.load += time.Duration(s * float64(time.Second))
		}
	case "output":
		if text := strings.TrimSpace(e.Output); text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
			t.said = text
		}
	}
	t.took = max(t.took, time.Duration(e.Elapsed*float64(time.Second)))
}

// counts are the passed, failed and skipped tests of a part.
func (p *part) counts() (passed, failed, skipped int) {
	for _, t := range p.tests {
		switch {
		case t.name == "" && p.failedBelow(t): // the package is no test of its own
		case t.failed:
			failed++
		case t.passed:
			passed++
		case t.skipped:
			skipped++
		}
	}
	return passed, failed, skipped
}

func (r *run) ok(forbidSkips bool) bool {
	for _, p := range r.parts {
		_, failed, skipped := p.counts()
		if p.failed || failed > 0 || forbidSkips && skipped > 0 {
			return false
		}
	}
	return true
}
