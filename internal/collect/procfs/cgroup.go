package procfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// cgroupMount is the mount point of control groups, relative to the root.
const cgroupMount = "sys/fs/cgroup"

// Cgroup is the control group of this process, version 1 or 2. In a container it is the container's own
// group; the groups of its neighbours and of the pod are not visible.
type Cgroup struct {
	reader Reader
	v2     bool
	// The directories of the controllers, innermost first; all groups up to the root have limits.
	cpu, usage, memory []string
}

// Cgroup finds the control group of the process. It returns an error if the process is in the root group,
// which has no accounting.
func (r Reader) Cgroup() (Cgroup, error) {
	paths, err := parseFile(r, "proc/self/cgroup", parseCgroupPaths)
	if err != nil {
		return Cgroup{}, err
	}
	g := Cgroup{reader: r}
	if own, ok := paths[""]; ok && r.exists(path.Join(cgroupMount, "cgroup.controllers")) {
		dirs := r.ancestors(cgroupMount, own, "cpu.stat")
		g.v2, g.cpu, g.usage, g.memory = true, dirs, dirs, dirs
		// Only groups below the root of the machine have limits.
		if len(dirs) == 0 || !r.exists(path.Join(dirs[0], "cpu.max")) && !r.exists(path.Join(dirs[0], "memory.max")) {
			return Cgroup{}, errors.New("the process is in the root control group")
		}
		return g, nil
	}
	g.cpu = r.controller(paths, "cpu", "cpu.cfs_quota_us")
	g.usage = r.controller(paths, "cpuacct", "cpuacct.usage")
	g.memory = r.controller(paths, "memory", "memory.limit_in_bytes")
	if len(g.cpu)+len(g.usage)+len(g.memory) == 0 {
		return Cgroup{}, errors.New("no control group of version 1 or 2 is to be seen")
	}
	return g, nil
}

// controller returns the directories of a version 1 controller, which may be mounted alone or together with
// others.
func (r Reader) controller(paths map[string]string, name, file string) []string {
	for _, dir := range []string{name, "cpu,cpuacct", "cpuacct,cpu"} {
		if dirs := r.ancestors(path.Join(cgroupMount, dir), paths[name], file); len(dirs) > 0 {
			return dirs
		}
	}
	return nil
}

// ancestors returns own and the groups above it that have the file. Inside a container the path of the group
// may be the machine's path, which does not exist there: then only the root of the mount remains, which is
// the group itself. It omits the root of all groups of version 1, which is the whole machine; only this root
// has a release_agent.
func (r Reader) ancestors(mount, own, file string) []string {
	var dirs []string
	for at := path.Clean("/" + own); ; at = path.Dir(at) {
		dir := path.Join(mount, at)
		if r.exists(path.Join(dir, file)) && !r.exists(path.Join(dir, "release_agent")) {
			dirs = append(dirs, dir)
		}
		if at == "/" {
			return dirs
		}
	}
}

func (r Reader) exists(name string) bool {
	_, err := fs.Stat(r.Root, name)
	return err == nil
}

// parseCgroupPaths parses /proc/self/cgroup: the path by controller. The empty controller is version 2.
func parseCgroupPaths(in io.Reader) (paths map[string]string, err error) {
	paths = map[string]string{}
	for _, text := range lines(in, &err) {
		parts := strings.SplitN(text, ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	return paths, err
}

// CPU returns the CPU time, in microseconds, that the group used, and the time for which its limit throttled
// it. Nil = unknown.
func (g Cgroup) CPU() (used, throttled *int64) {
	if g.v2 {
		return g.stat("usage_usec", 1), g.stat("throttled_usec", 1)
	}
	if len(g.usage) > 0 {
		if nanoseconds, err := g.reader.readCounter(path.Join(g.usage[0], "cpuacct.usage")); err == nil {
			used = new(nanoseconds / 1000)
		}
	}
	return used, g.stat("throttled_time", 1000)
}

// stat returns a key of cpu.stat of the innermost group, divided by divisor.
func (g Cgroup) stat(key string, divisor int64) *int64 {
	if len(g.cpu) == 0 {
		return nil
	}
	value, err := g.reader.valueOf(path.Join(g.cpu[0], "cpu.stat"), key)
	if err != nil {
		return nil
	}
	return new(value / divisor)
}

// CPULimit returns how many CPUs the group and the groups above it may use, nil without a limit.
func (g Cgroup) CPULimit() *float64 {
	limits := make([]float64, 0, len(g.cpu))
	for _, dir := range g.cpu {
		if limit, ok := g.quota(dir); ok {
			limits = append(limits, limit)
		}
	}
	if len(limits) == 0 {
		return nil
	}
	return new(slices.Min(limits))
}

func (g Cgroup) quota(dir string) (float64, bool) {
	var quota, period string
	if g.v2 {
		word, err := g.reader.readWord(path.Join(dir, "cpu.max")) // "max 100000"
		fields := strings.Fields(word)
		if err != nil || len(fields) != 2 {
			return 0, false
		}
		quota, period = fields[0], fields[1]
	} else {
		// Unreadable files give empty words, which do not parse below.
		quota, _ = g.reader.readWord(path.Join(dir, "cpu.cfs_quota_us"))
		period, _ = g.reader.readWord(path.Join(dir, "cpu.cfs_period_us"))
	}
	q, errQ := strconv.ParseInt(quota, 10, 64)
	p, errP := strconv.ParseInt(period, 10, 64)
	if errQ != nil || errP != nil || q <= 0 || p <= 0 {
		return 0, false // "max", or -1 in version 1
	}
	return float64(q) / float64(p), true
}

// MemoryLimitBytes returns the smallest memory limit of the group and the groups above it, 0 without a limit.
func (g Cgroup) MemoryLimitBytes() int64 {
	file := "memory.limit_in_bytes"
	if g.v2 {
		file = "memory.max"
	}
	var smallest int64
	for _, dir := range g.memory {
		limit, err := g.reader.readCounter(path.Join(dir, file))
		// Version 1 writes "no limit" as the largest number of whole pages.
		if err != nil || limit <= 0 || limit > math.MaxInt64-(1<<20) {
			continue
		}
		if smallest == 0 || limit < smallest {
			smallest = limit
		}
	}
	return smallest
}
