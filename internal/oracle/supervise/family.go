package supervise

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// family is every process below this one. The first process of a container
// inherits the orphans of all others; who does not bury them fills the table of
// processes. It must not bury those that a goroutine waits for, so every process
// is started and awaited here. It is safe for several goroutines.
type family struct {
	proc string // usually /proc
	mu   sync.Mutex
	own  map[int]bool // somebody waits for them
}

func newFamily(proc string) *family { return &family{proc: proc, own: map[int]bool{}} }

// start starts a command in a process group of its own.
func (f *family) start(cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.own[cmd.Process.Pid] = true
	return nil
}

// wait waits for a command that start has started.
func (f *family) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.own, cmd.Process.Pid)
	return err
}

// adopt makes this process inherit orphans and buries them until ctx ends.
func (f *family) adopt(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		defer signal.Stop(died)
		// A signal may be lost where many die at once.
		tick := time.NewTicker(healthInterval)
		defer tick.Stop()
		for {
			f.bury()
			select {
			case <-died:
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// bury collects the dead children that nobody waits for.
func (f *family) bury() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.processes() {
		if p.parent == os.Getpid() && p.state == 'Z' && !f.own[p.pid] {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// process is what the kernel reports about one.
type process struct {
	pid, parent int
	state       byte
}

// processes lists all that can be seen.
func (f *family) processes() []process {
	entries, err := os.ReadDir(f.proc)
	if err != nil {
		return nil
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(f.proc, e.Name(), "stat"))
		if err != nil {
			continue // it is gone
		}
		// The name of the program is in brackets and may contain any of them.
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err == nil {
			out = append(out, process{pid: pid, parent: parent, state: fields[0][0]})
		}
	}
	return out
}

// descendants lists the living processes below this one, orphans included that
// it inherited.
func (f *family) descendants() []int {
	all := f.processes()
	below := []int{os.Getpid()}
	for i := 0; i < len(below); i++ {
		for _, p := range all {
			if p.parent == below[i] && p.state != 'Z' && !slices.Contains(below, p.pid) {
				below = append(below, p.pid)
			}
		}
	}
	return below[1:]
}

// extinguish kills all that is left below this process, once it has had the time
// to end by itself.
func (f *family) extinguish(patience time.Duration) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval / 10)
	defer tick.Stop()
	for expired := false; ; {
		left := f.descendants()
		if len(left) == 0 {
			return
		}
		if expired {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			expired = true
		}
	}
}
