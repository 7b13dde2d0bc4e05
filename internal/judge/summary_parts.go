package judge

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	stateMissing = "Missing"
	stateDown    = "Down"
)

// pathShares adds up the channels of each path over the clients. A declared
// path that no client connected stands there too, as Missing.
func (c *judging) pathShares(parts []clientRep) []PathShare {
	if c.result.Plan.Engine.Client != runfile.ClientDirectNFS {
		return nil
	}
	var shares []PathShare
	find := func(p pathPair) *PathShare {
		for i := range shares {
			if shares[i].Local == p.Local && shares[i].Path == p.Path {
				return &shares[i]
			}
		}
		shares = append(shares, PathShare{Local: p.Local, Path: p.Path, State: stateMissing})
		return &shares[len(shares)-1]
	}
	declared := declaredPaths(c.result.Plan)
	for _, d := range declared {
		find(d)
	}
	total := int64(0)
	for _, p := range parts {
		for _, ch := range p.rep.Channels {
			find(declaredAs(declared, ch)).add(ch, p.seconds)
			total += ch.BytesRead + ch.BytesWritten
		}
	}
	for i := range shares {
		if total > 0 {
			shares[i].SharePermille = *permille(float64(shares[i].Bytes()) / float64(total))
		}
	}
	return shares
}

// declaredAs finds the declared path that a channel serves. A path without a
// local address in the oranfstab serves whatever the system chose.
func declaredAs(declared []pathPair, ch runfile.Channel) pathPair {
	used := pathPair{Local: ch.Local, Path: ch.Path}
	if slices.Contains(declared, used) {
		return used
	}
	if open := (pathPair{Path: ch.Path}); slices.Contains(declared, open) {
		return open
	}
	return used
}

func (s *PathShare) add(ch runfile.Channel, seconds float64) {
	s.BytesRead += ch.BytesRead
	s.BytesWritten += ch.BytesWritten
	s.BytesPerSecond += int64(float64(ch.BytesRead+ch.BytesWritten) / seconds)
	s.Reconnects += ch.Reconnects
	// A loss is noticed later than it begins, perhaps only in the window.
	s.DownMilliseconds = max(s.DownMilliseconds, min(ch.DownMilliseconds, int64(seconds*1000)))
	s.Retransmits += ch.Retransmits
	if s.State != stateDown { // one client's broken path is a broken path
		s.State = ch.State
	}
}

func clientCPU(parts []clientRep, bytes int64) ClientCPU {
	var cpu ClientCPU
	micros, known := int64(0), true
	for _, p := range parts {
		used := p.rep.CPUMicroseconds
		// The kernel's client works outside of the loader process, but inside
		// its cgroup for what it does in system calls: the larger is nearer.
		if p.window != nil && p.window.CgroupCPUMicroseconds != nil {
			used = max(used, *p.window.CgroupCPUMicroseconds)
		}
		known = known && used > 0
		micros += used
		cpu.Millicores += int64(float64(used) / p.seconds / 1000)
		if limit := p.client.Host.CPULimit; limit != nil && *limit > 0 {
			cpu.BusiestLimitPermille = larger(cpu.BusiestLimitPermille, permille(float64(used)/1e6/p.seconds / *limit))
		}
		if p.window == nil {
			continue
		}
		cpu.BusiestNodePermille = larger(cpu.BusiestNodePermille, p.window.NodeCPUPermille)
		if t := p.window.CgroupThrottledMicros; t != nil {
			cpu.WorstThrottlePermille = larger(cpu.WorstThrottlePermille, permille(float64(*t)/1e6/p.seconds))
		}
	}
	if known && bytes > 0 {
		per := int64(float64(micros) / (float64(bytes) / mebibyte))
		cpu.MicrosecondsPerMiB = &per
	}
	return cpu
}

func larger(a, b *int32) *int32 {
	switch {
	case a == nil:
		return b
	case b == nil || *a >= *b:
		return a
	default:
		return b
	}
}
