package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// throttle limits the processor time of a process with a control group, version 1 or 2.
type throttle struct {
	group string // its folder
	back  string // cgroup.procs of the original group of the process
	pid   int
}

const (
	controlGroups = "/sys/fs/cgroup"
	// throttlePeriod is that of Kubernetes: when the process has used its share, it waits for the next period.
	throttlePeriod = 100_000 // microseconds
)

// limitCPU limits a process to a percentage of one processor from now on.
func limitCPU(pid int, name string, percent int) (*throttle, error) {
	quota := throttlePeriod * percent / 100
	root, settings, from := filepath.Join(controlGroups, "cpu"), map[string]string{
		"cpu.cfs_period_us": strconv.Itoa(throttlePeriod), "cpu.cfs_quota_us": strconv.Itoa(quota),
	}, controllerCPU
	if exists(filepath.Join(controlGroups, "cgroup.controllers")) {
		root, settings, from = controlGroups, map[string]string{"cpu.max": fmt.Sprintf("%d %d", quota, throttlePeriod)}, controllersAll
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return nil, fmt.Errorf("let control groups limit processor time: %w", err)
		}
	}
	was, err := groupOf(fmt.Sprintf("/proc/%d/cgroup", pid), from)
	if err != nil {
		return nil, err
	}
	t := &throttle{group: filepath.Join(root, "nfsbench-"+name), back: filepath.Join(root, was, procsFile), pid: pid}
	if err := os.Mkdir(t.group, 0o755); err != nil && !errors.Is(err, os.ErrExist) { // a killed run left it
		return nil, err
	}
	for file, value := range settings {
		err = errors.Join(err, os.WriteFile(filepath.Join(t.group, file), []byte(value), 0))
	}
	if err = errors.Join(err, move(pid, filepath.Join(t.group, procsFile))); err != nil {
		return nil, errors.Join(fmt.Errorf("limit the processor time of process %d: %w", pid, err), os.Remove(t.group))
	}
	return t, nil
}

// lift undoes limitCPU.
func (t *throttle) lift() error {
	return errors.Join(move(t.pid, t.back), os.Remove(t.group))
}

const (
	procsFile = "cgroup.procs"
	// The names of the hierarchy in /proc/PID/cgroup.
	controllerCPU  = "cpu"
	controllersAll = ""
)

func move(pid int, procs string) error {
	return os.WriteFile(procs, []byte(strconv.Itoa(pid)), 0)
}

// groupOf returns the group of a process in the hierarchy of a controller.
func groupOf(file, controller string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		for name := range strings.SplitSeq(controllers, ",") {
			if ok && name == controller {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s names no group of controller %q: this machine does not limit processor time", file, controller)
}
