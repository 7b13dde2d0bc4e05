package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of what its children leave behind. A
// mutant of a program that starts others may lose them, and they would keep a
// processor busy until the machine is restarted.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// killOrphans ends all children of this process, and theirs as they become ours. No
// other child may run then.
func killOrphans() {
	for {
		children := childrenOf(os.Getpid())
		if len(children) == 0 {
			return
		}
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			_, _ = syscall.Wait4(pid, nil, 0, nil) //nolint:errcheck // it may have been waited for
		}
	}
}

// childrenOf reads them from /proc.
func childrenOf(parent int) []int {
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid: the name may have blanks and brackets.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			out = append(out, pid)
		}
	}
	return out
}
