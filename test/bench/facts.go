package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

// machineFacts says what the figures depend on. What cannot be found out is left out.
func machineFacts(ctx context.Context, p programs, notes map[string]string) score.Machine {
	m := score.Machine{
		Cores: runtime.NumCPU(), Kernel: fileText("/proc/sys/kernel/osrelease"),
		CPU: after(fileText("/proc/cpuinfo"), "model name", ":"), System: strings.Trim(after(fileText("/etc/os-release"), "PRETTY_NAME", "="), `"`),
		Congestion: fileText("/proc/sys/net/ipv4/tcp_congestion_control"), Versions: map[string]string{},
	}
	kib, _ := strconv.ParseInt(strings.TrimSuffix(after(fileText("/proc/meminfo"), "MemTotal", ":"), " kB"), 10, 64)
	m.MemoryBytes = kib * 1024
	if load, _, ok := strings.Cut(fileText("/proc/loadavg"), " "); ok {
		m.LoadBefore, _ = strconv.ParseFloat(load, 64)
	}
	for name, command := range map[string][]string{
		"nfsbench":    {p.Ours, "--version"},
		"other build": {p.Other, "--version"},
		"fio":         {p.Fio, "--version"},
		"iperf3":      {p.Iperf, "--version"},
		"NFS-Ganesha": {"dpkg-query", "-W", "-f=${Version}", "nfs-ganesha"},
		"libnfs":      {"dpkg-query", "-W", "-f=${Version}", "libnfs-dev"},
	} {
		if command[0] == "" {
			continue
		}
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			m.Versions[name] = first
		}
	}
	for name, note := range notes {
		m.Versions[name] = strings.TrimSpace(m.Versions[name] + " " + note)
	}
	return m
}

func fileText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// after finds the first line that begins with a key and returns what stands
// after the separator.
func after(text, key, separator string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			_, value, _ := strings.Cut(rest, separator)
			return strings.TrimSpace(value)
		}
	}
	return ""
}
