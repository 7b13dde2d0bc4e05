package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errHangs is what a process that did not end in time is said to do.
var errHangs = errors.New("did not end in time and was killed")

// hang is errHangs with the last words of the process. Asked by SIGQUIT, a Go
// program tells where each of its goroutines stands.
type hang struct{ words []byte }

func (h *hang) Error() string { return errHangs.Error() }

// Unwrap makes it errHangs.
func (h *hang) Unwrap() error { return errHangs }

// badge is an environment variable with a value of its own for each command:
// whatever carries it was started by that command, sessions and parents aside.
// fio, for one, gives each of its jobs a session, and orphans them when it dies.
const badge = "NFSBENCH_BENCH_CHILD"

// usage is what a command and all that it waited for has used.
type usage struct {
	Took      time.Duration
	CPU       time.Duration
	PeakBytes int64 // of the largest process
}

// runChild runs a command to its end and returns its standard output. After
// patience, or when ctx ends, it and all its descendants are killed; after
// patience the error is a hang.
func runChild(ctx context.Context, patience time.Duration, command []string) ([]byte, usage, error) {
	limited, cancel := context.WithTimeoutCause(ctx, patience, errHangs)
	defer cancel()
	mark := badge + "=" + rand.Text()
	cmd := exec.CommandContext(limited, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), mark)
	// Interrupts of the terminal are for this program alone, which passes on what it wants to.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 2 * time.Second // then it is killed
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if command[len(command)-1] == discard {
		cmd.Args, cmd.Stdout = cmd.Args[:len(cmd.Args)-1], nil
	}
	began := time.Now()
	err := cmd.Run()
	used := usage{Took: time.Since(began)}
	err = errors.Join(err, killAll(mark)) // whom a crash has left behind
	if state := cmd.ProcessState; state != nil {
		used.CPU = state.UserTime() + state.SystemTime()
		if r, ok := state.SysUsage().(*syscall.Rusage); ok {
			used.PeakBytes = r.Maxrss * 1024
		}
	}
	if cause := context.Cause(limited); errors.Is(cause, errHangs) {
		return nil, used, &hang{words: stderr.Bytes()}
	} else if cause != nil {
		return nil, used, cause
	}
	if err != nil {
		return nil, used, fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, lastLine(stderr.String()+stdout.String()))
	}
	return stdout.Bytes(), used, nil
}

// discard as the last argument stands for an output that nobody wants.
const discard = ">/dev/null"

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// killAll kills every process that carries the mark.
func killAll(mark string) error {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, file := range environments {
		environment, err := os.ReadFile(file)
		if err != nil || !carries(environment, mark) { // it has ended meanwhile, or is none of ours
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %d: %w", pid, err)
		}
	}
	return nil
}

// carries tells whether an environment as /proc shows it has the variable.
func carries(environment []byte, variable string) bool {
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}
