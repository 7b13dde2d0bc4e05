package kernelnfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	root = "../../.."
	vm   = root + "/hack/vm/run.sh"
	// cannotBoot is the exit code of run.sh on a machine that can have no guest.
	cannotBoot = 3
	// guestSeconds bounds the life of a guest that hangs. Beside twenty busy processes it has needed
	// 1560 s, and on two quiet cores less than 420.
	guestSeconds = 3600
)

// guest is what a guest left behind.
type guest struct {
	files    map[string][]byte // by path below /out
	nfsbench string            // the program that ran in it, which runs here as well
}

// boot runs everything in a guest.
func boot(t *testing.T) guest {
	t.Helper()
	if os.Getenv("NFSBENCH_VM") == "" {
		t.Skip("set NFSBENCH_VM=1 to run this in a virtual machine; takes some minutes")
	}
	if out, err := exec.CommandContext(t.Context(), vm, "prepare").CombinedOutput(); err != nil {
		if exitCode(err) == cannotBoot {
			t.Skip(strings.TrimSpace(string(out)))
		}
		t.Fatalf("prepare the guest: %v\n%s", err, out)
	}
	job := t.TempDir()
	build(t, job)
	copyFile(t, "guest/run", filepath.Join(job, "run"))
	writePlans(t, filepath.Join(job, "plans"))

	console, archive := filepath.Join(t.TempDir(), "console"), filepath.Join(t.TempDir(), "out.tar")
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := os.ReadFile(console)
			t.Logf("what the guest said:\n%s", said)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), (guestSeconds+60)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, vm, "boot", "--job", job, "--out", archive, "--console", console, "--timeout", strconv.Itoa(guestSeconds))
	// The script ends QEMU when it is asked to end, and cannot when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the guest did not do all its steps: %v\n%s", err, out)
	}
	t.Logf("the guest lived for %.0f s", time.Since(began).Seconds())
	return guest{files: unpack(t, archive), nfsbench: filepath.Join(job, "nfsbench")}
}

// build makes static programs: the guest has no Go and few libraries.
func build(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"build", "-trimpath", "-ldflags=-s -w", "-o", "nfsbench", "./cmd/nfsbench"},
		{"build", "-C", "test/lab", "-trimpath", "-ldflags=-s -w", "-o", "guesttool", "./kernelnfs/guesttool"},
		{"test", "-c", "-ldflags=-s -w", "-o", "kernel.test", "./internal/loadgen/target/kernel"},
		{"test", "-C", "test/lab", "-c", "-ldflags=-s -w", "-o", "real.test", "./realserver"},
	} {
		for i, arg := range args {
			if arg == "-o" {
				args[i+1] = filepath.Join(dir, args[i+1])
			}
		}
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// unpack reads the archive that the guest wrote on a disk.
func unpack(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("read what the guest left: %v", err)
		}
		if files[filepath.Clean(head.Name)], err = io.ReadAll(r); err != nil {
			t.Fatalf("read %s of the guest: %v", head.Name, err)
		}
	}
}

// step is what one step of guest/run left.
type step struct {
	name           string
	code           string
	stdout, stderr string
	before, after  string // /proc/self/mountstats
}

func (g guest) step(t *testing.T, name string) step {
	t.Helper()
	code, ok := g.files[name+"/code"]
	if !ok {
		t.Fatalf("the guest did not come to the end of step %s", name)
	}
	text := func(file string) string { return string(g.files[name+"/"+file]) }
	return step{name, strings.TrimSpace(string(code)), text("stdout"), text("stderr"), text("before"), text("after")}
}

// succeeded is step, which must have ended well.
func (g guest) succeeded(t *testing.T, name string) step {
	t.Helper()
	s := g.step(t, name)
	if s.code != "0" {
		t.Fatalf("step %s ended with %s:\n%s\n%s", name, s.code, s.stdout, s.stderr)
	}
	return s
}

// result is the result file that a step left: the collector's, or its own.
func (g guest) result(t *testing.T, name string) runfile.Result {
	t.Helper()
	raw := g.raw(t, name)
	r, err := runfile.ReadResult(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("result of step %s: %v\n%s", name, err, g.step(t, name).stderr)
	}
	return r
}

func (g guest) raw(t *testing.T, name string) []byte {
	t.Helper()
	for _, file := range []string{name + "/collected/" + runfile.ResultKey(0), name + ".json", name + "/stdout"} {
		if raw, ok := g.files[file]; ok {
			return raw
		}
	}
	t.Fatalf("step %s left no result", name)
	return nil
}

// report is the output of nfsbench report for the step's result, on this machine.
func (g guest) report(t *testing.T, name string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result")
	if err := os.WriteFile(file, g.raw(t, name), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), g.nfsbench, "report", "--output", "json", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("nfsbench report: %v\n%s", err, stderr.String())
	}
	return out
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return -1
}

// counters are what the kernel counted of one mount.
type counters struct {
	normalRead, normalWrite, directRead, directWrite int64
	reads, writes                                    operation
	sends                                            int64 // calls of any kind, on all connections
}

type operation struct{ ops, sent, received int64 }

// countersOf reads the mount at point from a copy of mountstats, by itself: the
// reader of the collector is among what is tested.
func countersOf(t *testing.T, mountstats, point string) counters {
	t.Helper()
	_, mine, ok := strings.Cut(mountstats, " mounted on "+point+" with fstype nfs")
	if !ok {
		t.Fatalf("mountstats has no NFS mount at %s:\n%s", point, mountstats)
	}
	mine, _, _ = strings.Cut(mine, "\ndevice ")
	var c counters
	for line := range strings.Lines(mine) {
		var err error
		switch name, rest, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "bytes":
			_, err = fmt.Sscan(rest, &c.normalRead, &c.normalWrite, &c.directRead, &c.directWrite)
		case "READ":
			err = c.reads.scan(rest)
		case "WRITE":
			err = c.writes.scan(rest)
		case "xprt":
			var sends int64
			_, err = fmt.Sscan(rest, new(string), new(int), new(int), new(int), new(int), new(int), &sends)
			c.sends += sends
		}
		if err != nil {
			t.Fatalf("mountstats, %q: %v", line, err)
		}
	}
	return c
}

func (o *operation) scan(columns string) error {
	var again, timeouts int64
	_, err := fmt.Sscan(columns, &o.ops, &again, &timeouts, &o.sent, &o.received)
	return err
}

// since subtracts the counters of an earlier moment.
func (c counters) since(b counters) counters {
	return counters{
		normalRead: c.normalRead - b.normalRead, normalWrite: c.normalWrite - b.normalWrite,
		directRead: c.directRead - b.directRead, directWrite: c.directWrite - b.directWrite,
		reads:  operation{c.reads.ops - b.reads.ops, c.reads.sent - b.reads.sent, c.reads.received - b.reads.received},
		writes: operation{c.writes.ops - b.writes.ops, c.writes.sent - b.writes.sent, c.writes.received - b.writes.received},
		sends:  c.sends - b.sends,
	}
}
