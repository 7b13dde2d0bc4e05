package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownMachine is the machine of a load as it would be if no other lane used it: the CPU time of the
// load and of the noise, and otherwise idle time. The load reads it in place of /proc/stat. On
// the real machine, half of the CPU time is that of other lanes, and each load would rightly
// report a foreign one.
type ownMachine struct {
	path  string
	noise *machineNoise
}

// ticksPerSecond is USER_HZ, the unit of /proc/stat.
const ticksPerSecond = 100

// statEvery is the interval of updates: less than the collector's.
const statEvery = 50 * time.Millisecond

func newOwnMachine(dir string, noise *machineNoise) (*ownMachine, error) {
	m := &ownMachine{path: filepath.Join(dir, "stat"), noise: noise}
	return m, m.write(0, 0)
}

// within returns a command line that executes its further arguments with this machine's
// /proc/stat, in a mount namespace of its own and with the process ID of the command.
func (m *ownMachine) within() []string {
	return []string{"unshare", "--mount", "sh", "-ec", `mount --bind "$0" /proc/stat; exec "$@"`, m.path}
}

// follow updates the file until the context ends. pid is the load.
func (m *ownMachine) follow(ctx context.Context, pid int) error {
	tick := time.NewTicker(statEvery)
	defer tick.Stop()
	start, last, noise := time.Now(), time.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		used, err := ticksOf(pid)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH): // the load has ended
			return nil
		case err != nil:
			return err
		}
		now := time.Now()
		if m.noise.on() {
			noise += noiseShare * now.Sub(last).Seconds() * ticksPerSecond
		}
		last = now
		all := int64(now.Sub(start).Seconds() * ticksPerSecond * float64(runtime.NumCPU()))
		busy := min(used+int64(noise), all)
		if err := m.write(busy, all-busy); err != nil {
			return err
		}
	}
}

// write replaces the file's contents in place, at the same length, because the load has the file open.
func (m *ownMachine) write(busy, idle int64) error {
	var b strings.Builder
	for cpu := -1; cpu < runtime.NumCPU(); cpu++ {
		name, of := "cpu ", int64(1)
		if cpu >= 0 {
			name, of = fmt.Sprintf("cpu%d", cpu), int64(runtime.NumCPU())
		}
		fmt.Fprintf(&b, "%s %015d 0 0 %015d 0 0 0 0 0 0\n", name, busy/of, idle/of)
	}
	f, err := os.OpenFile(m.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(b.String()), 0)
	return errors.Join(err, f.Close())
}

// ticksOf returns the CPU time of a process, in user and system mode.
func ticksOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program may contain spaces; state follows its parenthesis.
	fields := strings.Fields(string(text[slices.Index(text, ')')+1:]))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	u, err := strconv.ParseInt(fields[user], 10, 64)
	s, err2 := strconv.ParseInt(fields[system], 10, 64)
	return u + s, errors.Join(err, err2)
}
