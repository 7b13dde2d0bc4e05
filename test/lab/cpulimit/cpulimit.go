// Package cpulimit limits the processor time of processes with a control group, version 1 or 2.
package cpulimit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	root  = "/sys/fs/cgroup"
	procs = "cgroup.procs"
	// period is that of Kubernetes, in microseconds: when a group has used its share, it waits for the next.
	period = 100_000
)

// Group is a control group. It is not safe for concurrent use.
type Group struct {
	unified bool     // version 2
	folders []string // version 1 has one for the limit and one for the counters
}

// New creates a group without a limit, or takes over one that a killed program left.
func New(name string) (*Group, error) {
	_, err := os.Stat(filepath.Join(root, "cgroup.controllers"))
	g := &Group{unified: err == nil}
	controllers := []string{"cpu", "cpuacct"}
	if g.unified {
		controllers = []string{""}
		err = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0)
	} else {
		err = nil
	}
	for _, c := range controllers {
		g.folders = append(g.folders, filepath.Join(root, c, name))
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, c, name), 0o755))
	}
	if err == nil {
		err = g.Limit(0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("limit processor time: %w", err), g.Remove())
	}
	return g, nil
}

// Limit gives the processes of the group together a number of processors, such as 0.2; 0 = no limit.
func (g *Group) Limit(processors float64) error {
	file, quota := "cpu.cfs_quota_us", "-1"
	if processors > 0 {
		quota = strconv.Itoa(int(processors * period))
	}
	if g.unified {
		file = "cpu.max"
		if processors > 0 {
			quota += " " + strconv.Itoa(period)
		} else {
			quota = "max"
		}
	}
	return os.WriteFile(filepath.Join(g.folders[0], file), []byte(quota), 0)
}

// Move moves a process into the group.
func (g *Group) Move(pid int) error {
	var errs []error
	for _, f := range g.folders {
		errs = append(errs, move(strconv.Itoa(pid), f))
	}
	return errors.Join(errs...)
}

// Within returns a command line that executes its further arguments in the group, with the process ID
// of the command.
func (g *Group) Within() []string {
	var script strings.Builder
	for _, f := range g.folders {
		fmt.Fprintf(&script, "echo $$ >%s; ", filepath.Join(f, procs))
	}
	return []string{"sh", "-ec", script.String() + `exec "$@"`, "sh"}
}

// Remove moves the processes of the group to its parent and removes it.
func (g *Group) Remove() error {
	var errs []error
	for _, f := range g.folders {
		text, err := os.ReadFile(filepath.Join(f, procs))
		if errors.Is(err, fs.ErrNotExist) { // the folder of another controller is the same
			continue
		}
		errs = append(errs, err)
		for pid := range strings.FieldsSeq(string(text)) {
			errs = append(errs, move(pid, filepath.Dir(f)))
		}
		errs = append(errs, os.Remove(f))
	}
	return errors.Join(errs...)
}

func move(pid, folder string) error {
	return os.WriteFile(filepath.Join(folder, procs), []byte(pid), 0)
}
