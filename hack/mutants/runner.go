package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// runner builds test programs and runs them.
type runner struct {
	root, scratch string
	timeout       time.Duration
	known         map[string]error // by folder: how the tests of the unchanged tree went
	located       map[string]bool  // folders whose tests look for files beside their source
	lasted        map[string]time.Duration
	skipped       map[string][]string // tests that fail without a mutant
}

var errNoTests = errors.New("it has no tests")

// program is where the test program of a folder is kept.
func (r *runner) program(dir, kind string) string {
	return filepath.Join(r.scratch, strings.ReplaceAll(dir, "/", "_")+"."+kind)
}

// clean builds and runs the tests of a folder in the unchanged tree, once. Tests
// that fail there say nothing of a mutant. Those with an API server are trusted:
// they run for minutes.
func (r *runner) clean(ctx context.Context, dir string) error {
	if err, ok := r.known[dir]; ok {
		return err
	}
	if r.known == nil {
		r.known, r.located, r.lasted = map[string]error{}, map[string]bool{}, map[string]time.Duration{}
		r.skipped = map[string][]string{}
	}
	r.known[dir] = r.firstRun(ctx, dir)
	return r.known[dir]
}

func (r *runner) firstRun(ctx context.Context, dir string) error {
	var failed string
	// Built with -trimpath, what others have compiled is used again, but a test that
	// asks for the place of its source is told none.
	for _, located := range []bool{strings.HasPrefix(dir, "test/chart"), true} {
		r.located[dir] = located
		if said := r.build(ctx, dir, "clean"); said != "" {
			return errors.New(said)
		}
		if _, err := os.Stat(r.program(dir, "clean")); err != nil {
			return errNoTests
		}
		if tierOf(dir) == tierIntegration {
			return nil
		}
		if failed = r.timed(ctx, dir); failed == "" {
			return nil
		}
	}
	// The others go on without a few that fail, as on a machine that is busy.
	for range 3 {
		if !isTest(failed) || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(os.Stderr, "%s of %s fails without a mutant: it is left out\n", failed, dir)
		r.skipped[dir] = append(r.skipped[dir], regexp.QuoteMeta(failed))
		if failed = r.timed(ctx, dir); failed == "" {
			return nil
		}
	}
	return errors.New(failed)
}

// timed runs the tests of the unchanged tree.
func (r *runner) timed(ctx context.Context, dir string) string {
	began := time.Now()
	failed := r.execute(ctx, testRun{dir: dir}, "clean", r.timeout)
	r.lasted[dir] = time.Since(began)
	return failed
}

// isTest tells a test from what is said of a program that ends in another way.
func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example")
}

// build says why the tests of a folder do not compile; empty = they do.
func (r *runner) build(ctx context.Context, dir, kind string) string {
	return r.goTool(ctx, "test", "-c", "-vet=off", fmt.Sprintf("-trimpath=%t", !r.located[dir]), "-ldflags=-w", "-o", r.program(dir, kind), "./"+dir)
}

func (r *runner) goTool(ctx context.Context, verb string, args ...string) string {
	cmd := exec.CommandContext(ctx, "go", append([]string{verb, "-p", "2"}, args...)...) //nolint:gosec // our own words
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return oneLine(string(out) + err.Error())
	}
	return ""
}

// passes runs one test of the unchanged tree.
func (r *runner) passes(ctx context.Context, dir, test string) bool {
	alone := testRun{dir: dir, pattern: "^" + regexp.QuoteMeta(test) + "$"}
	return r.execute(ctx, alone, "clean", r.timeout) == ""
}

// nameOf is the top test of what execute has returned, which may go on with the name
// of a part of it, or with what a panic said.
func nameOf(test string) string {
	test, _, _ = strings.Cut(test, " ")
	test, _, _ = strings.Cut(test, "/")
	return test
}

// limit is how long the tests of a folder may take with a mutant. One that hangs is
// known sooner where they are quick without it.
func (r *runner) limit(dir string) time.Duration {
	const least, times, integration = time.Minute, 3, 6
	if tierOf(dir) == tierIntegration { // all of them take 10 minutes on a busy machine
		return integration * r.timeout
	}
	return min(max(times*r.lasted[dir], least), r.timeout)
}

// execute runs a test program and returns the first test that fails, as soon as
// it does. What hangs is named by the test that ran when time was up.
func (r *runner) execute(ctx context.Context, t testRun, kind string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, limit+20*time.Second)
	defer cancel()
	args := []string{"-test.failfast", "-test.timeout=" + limit.String()}
	if t.pattern != "" {
		args = append(args, "-test.run="+t.pattern)
	}
	if tierOf(t.dir) == tierIntegration {
		args = append(args, "-test.parallel=4")
	}
	if skip := r.skipped[t.dir]; len(skip) > 0 {
		args = append(args, "-test.skip=^("+strings.Join(skip, "|")+")$")
	}
	cmd := exec.CommandContext(ctx, r.program(t.dir, kind), args...) //nolint:gosec // built by us
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(t.dir))
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(r.scratch, "tmp"))
	// What a test has started goes with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return "(does not start: " + err.Error() + ")"
	}
	go func() {
		err := cmd.Wait()
		_ = in.Close() // a pipe in memory closes
		ended <- err
	}()
	name := firstFailure(out)
	if name != "" && tierOf(t.dir) != tierIntegration { // that one stops its API server itself
		cancel()
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // nobody reads the rest
	if err := <-ended; err != nil && name == "" {
		name = "(" + err.Error() + ")"
	}
	killOrphans()
	return name
}

// firstFailure reads the output of a test program up to the first failure.
func firstFailure(out io.Reader) string {
	failed := regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	running := regexp.MustCompile(`^\s+(Test\S+) \(`)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	timeout, crash := false, ""
	for lines.Scan() {
		line := lines.Text()
		switch m := failed.FindStringSubmatch(line); {
		case m != nil:
			return m[1] + crash
		case strings.HasPrefix(line, "panic: test timed out"):
			timeout = true
		case timeout:
			if m := running.FindStringSubmatch(line); m != nil {
				return "timeout (" + m[1] + ")"
			}
		case strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: "):
			crash = " (" + oneLine(line) + ")"
		}
	}
	return strings.TrimSpace(crash)
}

func oneLine(text string) string {
	const most = 300
	words := strings.Join(strings.Fields(text), " ")
	return words[:min(len(words), most)]
}
