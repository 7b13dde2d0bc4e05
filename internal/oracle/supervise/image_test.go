package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/output"
)

// The scripts that stand for those of an Oracle image. They find their place by
// ORACLE_BASE, as the originals do.
const (
	startScript = `#!/bin/sh
trap 'echo "Shutting down"; rm -f "$ORACLE_BASE/ready"; echo down >> "$ORACLE_BASE/shutdowns"; exit 0' TERM
echo "ORACLE PASSWORD FOR SYS, SYSTEM AND PDBADMIN: $ORACLE_PWD"
echo started >> "$ORACLE_BASE/starts"
touch "$ORACLE_BASE/ready"
echo "DATABASE IS READY TO USE!"
while :; do sleep 0.02; done
`
	healthScript = `#!/bin/sh
test -f "$ORACLE_BASE/ready" || exit 2
`
	password = "Hunter2-is-secret"

	patience = 10 * time.Minute // with what must happen; it is there for hangs alone
)

// image is an Oracle image, as far as a supervisor looks at it.
type image struct {
	t                     *testing.T
	base, home, data, run string
	out                   *output.Buffer
	log                   *output.Buffer
	o                     Options
}

func newImage(t *testing.T) *image {
	t.Helper()
	root := t.TempDir()
	i := &image{
		t: t, base: filepath.Join(root, "oracle"), run: filepath.Join(root, "run"),
		out: &output.Buffer{}, log: &output.Buffer{},
	}
	i.home, i.data = filepath.Join(i.base, "product", "19c", "dbhome_1"), filepath.Join(i.base, "oradata")
	for _, dir := range []string{i.data, i.run, i.home + "/bin", i.home + "/lib", i.home + "/rdbms/lib/odm", root + "/proc/self"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	i.write(i.base+"/runOracle.sh", 0o755, startScript)
	i.write(i.base+"/checkDBStatus.sh", 0o755, healthScript)
	i.write(i.home+"/lib/libnfsodm19.so", 0o644, "the library")
	i.write(root+"/proc/self/status", 0o644, "Name:\tx\nNoNewPrivs:\t0\n")
	i.write(root+"/mtab", 0o644, "10.0.1.61:/export "+i.data+" nfs rw 0 0\n")
	i.oradism()
	i.o = Options{
		MountTable: filepath.Join(root, "mtab"),
		RunDir:     i.run, SID: "ORCLCDB", DataDirectory: i.data,
		ProductRoot: filepath.Join(i.base, "product"), ProcDir: filepath.Join(root, "proc"),
		StartupTimeout: patience, ShutdownTimeout: patience, HealthInterval: 20 * time.Millisecond,
		Env:     []string{"PATH=/usr/bin:/bin", "ORACLE_BASE=" + i.base, "ORACLE_HOME=" + i.home, "ORACLE_PWD=" + password},
		Secrets: []string{password},
		buffers: func() (runfile.SocketBuffers, error) {
			return runfile.SocketBuffers{ReceiveBytes: 4 << 20, SendBytes: 1 << 20}, nil
		},
		Out: i.out, Log: slog.New(slog.NewTextHandler(i.log, nil)), Now: time.Now,
	}
	return i
}

// oradism makes one that is setuid root. Who is not root borrows a program that is.
func (i *image) oradism() {
	i.t.Helper()
	path := i.home + "/bin/oradism"
	if os.Getuid() != 0 {
		if err := os.Symlink("/bin/su", path); err != nil {
			i.t.Fatal(err)
		}
		return
	}
	i.write(path, 0o750, "")
	if err := os.Chmod(path, 0o750|os.ModeSetuid); err != nil {
		i.t.Fatal(err)
	}
}

func (i *image) write(path string, mode os.FileMode, text string) {
	i.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		i.t.Fatal(err)
	}
	// A new file: one that runs cannot be written to.
	_ = os.Remove(path)
	// A process that another test starts meanwhile would hold the file open for writing
	// for a moment, and a program that is open for writing cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		i.t.Fatal(err)
	}
}

func (i *image) read(path string) string {
	i.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(raw)
}

// lines counts those of a file that may not be there.
func (i *image) lines(path string) int {
	raw, _ := os.ReadFile(path)
	return bytes.Count(raw, []byte("\n"))
}

func (i *image) state() runfile.DatabaseState {
	i.t.Helper()
	var s runfile.DatabaseState
	if err := json.Unmarshal([]byte(i.read(filepath.Join(i.run, runfile.DatabaseFile))), &s); err != nil {
		i.t.Fatal(err)
	}
	return s
}

// fails runs to the end, which must be a failure with this code and these words, told in the
// state and in the error alike and without the password.
func (i *image) fails(code string, words ...string) runfile.Failure {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), patience)
	defer cancel()
	err := Run(ctx, i.o)
	s := i.state()
	if err == nil || s.State != runfile.DatabaseFailed || s.Failure == nil {
		i.t.Fatalf("ended with %v in state %+v, want the failure %s", err, s, code)
	}
	if s.Failure.Code != code {
		i.t.Errorf("code %s, want %s: %s", s.Failure.Code, code, s.Failure.Message)
	}
	if want := s.Failure.Code + ": " + s.Failure.Message; err.Error() != want {
		i.t.Errorf("error %q, state %q", err, want)
	}
	for name, text := range map[string]string{"error": err.Error(), "log": i.log.String(), "output": i.out.String()} {
		if strings.Contains(text, password) {
			i.t.Errorf("the password is in the %s: %s", name, text)
		}
	}
	i.says(s.Failure.Message, words...)
	return *s.Failure
}

// says checks that a message has these words.
func (i *image) says(message string, words ...string) {
	i.t.Helper()
	for _, w := range words {
		if !strings.Contains(message, w) {
			i.t.Errorf("%q is not in %q", w, message)
		}
	}
}

// running is a supervisor at work.
type running struct {
	*image
	stop context.CancelFunc
	done chan error
	last error // for nobody: the test may have ended it itself
}

func (i *image) start() *running {
	i.t.Helper()
	ctx, cancel := context.WithCancel(i.t.Context())
	r := &running{image: i, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- Run(ctx, i.o) }()
	i.t.Cleanup(func() { cancel(); r.last = <-r.done })
	return r
}

// until waits for what must come.
func (i *image) until(what string, is func() bool) {
	i.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			i.t.Fatalf("%s did not come; state %+v\n%s", what, i.state(), i.log)
		}
	}
}

// await waits for a state, which must come.
func (r *running) await(what string, is func(runfile.DatabaseState) bool) (s runfile.DatabaseState) {
	r.t.Helper()
	r.until(what, func() bool {
		if _, err := os.Stat(filepath.Join(r.run, runfile.DatabaseFile)); err != nil {
			return false
		}
		s = r.state()
		return is(s)
	})
	return s
}

func (r *running) ready(generation int32) runfile.DatabaseState {
	r.t.Helper()
	return r.await("ready", func(s runfile.DatabaseState) bool {
		return s.State == runfile.DatabaseReady && s.Generation == generation
	})
}

// failed waits for a failure with this code and these words.
func (r *running) failed(code string, words ...string) {
	r.t.Helper()
	s := r.await("failed", func(s runfile.DatabaseState) bool { return s.State == runfile.DatabaseFailed })
	if s.Failure.Code != code {
		r.t.Errorf("code %s, want %s: %s", s.Failure.Code, code, s.Failure.Message)
	}
	r.says(s.Failure.Message, words...)
}

// asksFor asks for a start of this generation, as the loader does.
func (i *image) asksFor(text string) {
	i.t.Helper()
	i.write(filepath.Join(i.run, runfile.DatabaseGenerationFile), 0o644, text)
}

// started checks how often the image was started.
func (i *image) started(times int) {
	i.t.Helper()
	if n := i.lines(i.base + "/starts"); n != times {
		i.t.Errorf("started %d times, want %d", n, times)
	}
}

// remove removes a file or a folder with all that is in it.
func (i *image) remove(path string) {
	i.t.Helper()
	if err := os.RemoveAll(path); err != nil {
		i.t.Fatal(err)
	}
}

// ends stops it, which must be no failure.
func (r *running) ends() {
	r.t.Helper()
	if err := r.end(); err != nil {
		r.t.Error(err)
	}
}

// end ends it as the kubelet does and returns what Run returned.
func (r *running) end() error {
	r.t.Helper()
	r.stop()
	err := <-r.done
	r.done <- err // for the clean-up
	return err
}
