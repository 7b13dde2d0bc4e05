package supervise

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/waiting"
)

// envSupervise makes this test binary a supervisor of the image in that folder:
// one that inherits orphans must be a process of its own.
const envSupervise = "NFSBENCH_TEST_SUPERVISE"

// envOpenFiles is Options.MaxOpenFiles of such a process.
const envOpenFiles = "NFSBENCH_TEST_OPEN_FILES"

func TestMain(m *testing.M) {
	base := os.Getenv(envSupervise)
	if base == "" {
		os.Exit(waiting.Run(m))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:usetesting // there is no test here
	defer stop()
	most, _ := strconv.ParseUint(os.Getenv(envOpenFiles), 10, 64)
	err := Run(ctx, Options{
		MaxOpenFiles: most, RunDir: filepath.Join(filepath.Dir(base), "run"), DataDirectory: base + "/oradata",
		StartupTimeout: patience, ShutdownTimeout: patience, HealthInterval: 20 * time.Millisecond,
		Env: append(os.Environ(), "ORACLE_BASE="+base), Reap: true,
		Out: os.Stdout, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Now: time.Now,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signals
	}
	os.Exit(0)
}

// asProcess runs the supervisor of the image as a process with more of an environment, and ends
// it with the test. Its soft limit of open files is none that Oracle works with.
func (i *image) asProcess(env ...string) (*running, *exec.Cmd) {
	i.t.Helper()
	self, err := os.Executable()
	if err != nil {
		i.t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `ulimit -Sn 512 && exec "$0"`, self)
	cmd.Env = slices.Concat(os.Environ(), env, []string{envSupervise + "=" + i.base})
	cmd.Stdout, cmd.Stderr = i.out, i.log
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &running{image: i}, cmd
}

// below lists the processes whose parent is pid, with their states.
func below(pid int) map[int]byte {
	out := map[int]byte{}
	for _, p := range newFamily("/proc").processes() {
		if p.parent == pid {
			out[p.pid] = p.state
		}
	}
	return out
}

func TestOrphansAreBuriedAndNobodyElse(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	// Orphans die all the time: some with the start, some later.
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "while :; do", `while :; do ( sh -c 'echo orphan >> "$ORACLE_BASE/orphans"' & )
`, 1))
	r, cmd := i.asProcess()
	r.ready(1)
	i.until("orphans", func() bool { return i.lines(i.base+"/orphans") >= 20 })
	// Zombies may be seen for a moment, but do not add up.
	zombies := func() (n int) {
		for _, state := range below(cmd.Process.Pid) {
			if state == 'Z' {
				n++
			}
		}
		return n
	}
	i.until("the burial of the zombies", func() bool { return zombies() <= 1 })
	// Had the burial taken the database away, it would count as ended.
	if s := i.state(); s.State != runfile.DatabaseReady {
		t.Errorf("state %+v", s)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v\n%s", err, i.log)
	}
	if n := i.lines(i.base + "/shutdowns"); n != 1 {
		t.Errorf("%d shutdowns in order, want 1", n)
	}
}

func TestNothingOfTheLastStartLivesInTheNext(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	// A background process in a session of its own, as those of an instance.
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `( setsid sh -c 'echo $$ >> "$ORACLE_BASE/background"; exec sleep 1000' & )
touch`, 1))
	r, cmd := i.asProcess()
	alive := func(pid string) bool {
		raw, err := os.ReadFile("/proc/" + pid + "/cmdline")
		return err == nil && bytes.HasPrefix(raw, []byte("sleep"))
	}
	// It says its number, and becomes what it is, beside the start.
	begun := func(n int) (pids []string) {
		i.until("a background process", func() bool {
			said, _ := os.ReadFile(i.base + "/background")
			pids = strings.Fields(string(said))
			return len(pids) == n && alive(pids[n-1])
		})
		return pids
	}
	r.ready(1)
	begun(1)
	i.asksFor("2")
	r.ready(2)
	pids := begun(2)
	if alive(pids[0]) || !alive(pids[1]) {
		t.Errorf("of the first start lives %t, of the second %t", alive(pids[0]), alive(pids[1]))
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v\n%s", err, i.log)
	}
	// It was killed before the supervisor ended, and takes a moment to be gone.
	i.until("the end of process "+pids[1], func() bool { return !alive(pids[1]) })
}

func TestProcessesAreReadWhateverTheirNames(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for pid, stat := range map[int]string{
		10: "10 (ora_pmon_FREE) S 1 10 10 0 -1",
		11: "11 (a) b) (c) Z 10 11 11 0",
		12: "12 (short)",
		13: "13 (x) R z",
	} {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/stat", []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.MkdirAll(proc+"/self", 0o755)
	got := newFamily(proc).processes()
	want := []process{{10, 1, 'S'}, {11, 10, 'Z'}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("processes %+v, want %+v", got, want)
	}
}

// TestThoseThatAreAwaitedAreNotBuried is not parallel: it buries every dead child
// of this process that is not its own.
func TestThoseThatAreAwaitedAreNotBuried(t *testing.T) {
	f := newFamily("/proc")
	awaited, orphan := exec.Command("sh", "-c", "exit 7"), exec.Command("true")
	if err := f.start(awaited); err != nil {
		t.Fatal(err)
	}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{awaited, orphan} {
		for deadline := time.Now().Add(patience); below(os.Getpid())[cmd.Process.Pid] != 'Z'; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it does not end")
			}
		}
	}
	f.bury()
	if err := f.wait(awaited); err == nil || err.Error() != "exit status 7" {
		t.Errorf("awaited: %v", err)
	}
	if err := orphan.Wait(); err == nil {
		t.Error("the orphan was not buried")
	}
}
