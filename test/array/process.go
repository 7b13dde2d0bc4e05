package array

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one that runs in a node.
type process struct {
	name string
	id   identity
	gone chan struct{}
}

// identity is a pid that no stranger can have taken over.
type identity struct {
	PID   int    `json:"pid"`
	Began uint64 `json:"began"` // in clock ticks since the machine started
}

// launcher starts processes from a thread of its own, because the kernel ends
// them when the thread that started them ends, not the process.
type launcher struct {
	work chan func()
	once sync.Once
}

func newLauncher() *launcher {
	l := &launcher{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range l.work {
			f()
		}
	}()
	return l
}

func (l *launcher) stop() { l.once.Do(func() { close(l.work) }) }

// run starts cmd on some processors.
func (l *launcher) run(cmd *exec.Cmd, cpus []int) error {
	failed := make(chan error, 1)
	l.work <- func() {
		var set unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			failed <- fmt.Errorf("choose processors %v: %w", cpus, err)
			return
		}
		failed <- cmd.Start()
	}
	return <-failed
}

// cpusOf are the processors of the i-th node, from those that this process may
// use: all of them if cores is 0.
func cpusOf(i, cores int) []int {
	var set unix.CPUSet
	var have []int
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		for c := range len(set) * 64 {
			if set.IsSet(c) {
				have = append(have, c)
			}
		}
	}
	if len(have) == 0 {
		have = []int{0}
	}
	if cores == 0 {
		return have
	}
	var cpus []int
	for k := range min(cores, len(have)) {
		cpus = append(cpus, have[(i*cores+k)%len(have)])
	}
	return cpus
}

// launch starts a process of a node. It does not outlive this process.
func (a *Array) launch(n *node, what string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(a.dir, "log", n.name+"-"+what+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := a.launcher.run(cmd, n.cpus); err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	p := &process{name: what + " of " + n.name, gone: make(chan struct{})}
	p.id.PID = cmd.Process.Pid
	if st, err := readStat(p.id.PID); err == nil {
		p.id.Began = st.began
	}
	go func() {
		err := cmd.Wait()
		close(p.gone)
		select {
		case a.died <- fmt.Errorf("%s ended: %v", p.name, err): //nolint:errorlint // nil is an end as well
		default:
		}
	}()
	return p, a.keep(p.id)
}

// stat is a part of /proc/PID/stat.
type stat struct {
	began uint64        // clock ticks since the machine started
	cpu   time.Duration // user and system time of all threads, those that ended included
}

// ticks per second in /proc, on every architecture that Linux has today.
const ticks = 100

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	_, after, ok := strings.Cut(string(text), ") ") // the name may hold anything
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 {
		return stat{}, fmt.Errorf("process %d: what the kernel tells is too short", pid)
	}
	var numbers [3]uint64
	for i, f := range []int{11, 12, 19} { // utime, stime, starttime: fields 14, 15, 22
		if numbers[i], err = strconv.ParseUint(fields[f], 10, 64); err != nil {
			return stat{}, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return stat{began: numbers[2], cpu: time.Duration(numbers[0]+numbers[1]) * time.Second / ticks}, nil
}

// alive reports whether the process still runs; a zombie does not.
func (id identity) alive() bool {
	st, err := readStat(id.PID)
	if err != nil || st.began != id.Began || id.PID == 0 {
		return false
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// end ends a process and returns when it is gone. Nothing that it knows is
// worth a word of farewell.
func (id identity) end(ctx context.Context, signal syscall.Signal) error {
	for id.alive() {
		if err := syscall.Kill(id.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end process %d: %w", id.PID, err)
		}
		if err := pass(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("end process %d: %w", id.PID, err)
		}
	}
	return nil
}

// pass waits, but not beyond the end of the context.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// until repeats a check until it succeeds; after readyTime it returns its error.
func until(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if pass(ctx, readyStep) != nil {
			return err
		}
	}
}
