package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// maxOpenFiles and softOpenFiles are the limits of open files that Oracle's images are documented with: nofile
// 1024:65536. Many container runtimes set no limit. Programs that allocate a table of that size then fail: "unable to
// allocate file descriptor table - out of memory". If a script of an image calls su, PAM sets the same limits, which
// needs no privilege as long as the hard limit is not lower.
const (
	maxOpenFiles  = 65536
	softOpenFiles = 1024
)

const openFiles = "Max open files" // in /proc/self/limits

// lowered returns the limits that replace a hard limit. It ignores the soft limit of this process, because Go raises
// it to the hard limit when a program starts.
func lowered(hard, most uint64) syscall.Rlimit {
	hard = min(hard, most)
	return syscall.Rlimit{Cur: min(hard, softOpenFiles), Max: hard}
}

// limitProcesses lowers the limits of open files of this process, which all its children inherit. It returns all
// limits.
func (o Options) limitProcesses() ([]runfile.ProcessLimit, error) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		return nil, fmt.Errorf("read the limit of open files: %w", err)
	}
	after := lowered(before.Max, cmp.Or(o.MaxOpenFiles, maxOpenFiles))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &after); err != nil {
		return nil, fmt.Errorf("lower the limit of open files to %d: %w", after.Max, err)
	}
	limits, err := o.readLimits()
	for i := range limits {
		if limits[i].Name == openFiles && after.Max != before.Max {
			limits[i].HardBefore = new(int64(min(before.Max, 1<<63-1))) //nolint:gosec // bounded
		}
	}
	return limits, err
}

const maxLimitsBytes = 8 << 10

func (o Options) readLimits() ([]runfile.ProcessLimit, error) {
	raw, err := shareddir.ReadStart(filepath.Join(o.ProcDir, "self"), "limits", maxLimitsBytes)
	if err != nil {
		return nil, err
	}
	var limits []runfile.ProcessLimit
	var errs []error
	for _, m := range regexp.MustCompile(`(?m)^(Max .{21}) +(\S+) +(\S+)`).FindAllStringSubmatch(string(raw), -1) {
		soft, err1 := limit(m[2])
		hard, err2 := limit(m[3])
		errs = append(errs, err1, err2)
		limits = append(limits, runfile.ProcessLimit{Name: strings.TrimSpace(m[1]), Soft: soft, Hard: hard})
	}
	return limits, errors.Join(errs...)
}

// limit parses a number; nil = unlimited.
func limit(text string) (*int64, error) {
	if text == "unlimited" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return &n, err
}
