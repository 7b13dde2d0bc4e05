package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// throttle limits the processor time of a process with a control group, version 1 or 2.
type throttle struct {
	group string // its folder
	pid   int
	back  string // cgroup.procs of the root, where the process goes in the end
}

const (
	controlGroups = "/sys/fs/cgroup"
	// throttlePeriod is that of Kubernetes: when the process has used its share, it waits for the next period.
	throttlePeriod = 100_000 // microseconds
)

// limitCPU limits a process to a percentage of one processor from now on.
func limitCPU(pid int, name string, percent int) (*throttle, error) {
	quota := throttlePeriod * percent / 100
	root, settings := filepath.Join(controlGroups, "cpu"), map[string]string{
		"cpu.cfs_period_us": strconv.Itoa(throttlePeriod), "cpu.cfs_quota_us": strconv.Itoa(quota),
	}
	if exists(filepath.Join(controlGroups, "cgroup.controllers")) {
		root, settings = controlGroups, map[string]string{"cpu.max": fmt.Sprintf("%d %d", quota, throttlePeriod)}
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return nil, fmt.Errorf("let control groups limit processor time: %w", err)
		}
	}
	t := &throttle{group: filepath.Join(root, "nfsbench-"+name), pid: pid, back: filepath.Join(root, procsFile)}
	err := os.Mkdir(t.group, 0o755)
	if errors.Is(err, os.ErrExist) { // a killed run left it
		err = nil
	}
	for file, value := range settings {
		err = errors.Join(err, os.WriteFile(filepath.Join(t.group, file), []byte(value), 0))
	}
	if err == nil {
		err = move(pid, filepath.Join(t.group, procsFile))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("limit the processor time of process %d: %w", pid, err), os.Remove(t.group))
	}
	return t, nil
}

// lift undoes limitCPU.
func (t *throttle) lift() error {
	return errors.Join(move(t.pid, t.back), os.Remove(t.group))
}

const procsFile = "cgroup.procs"

func move(pid int, procs string) error {
	return os.WriteFile(procs, []byte(strconv.Itoa(pid)), 0)
}
