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
	if c.result.Plan.Database != nil {
		return c.databasePaths(parts)
	}
	t := newPathTable(declaredPaths(c.result.Plan))
	for _, p := range parts {
		for _, ch := range p.rep.Channels {
			t.find(pathPair{Local: ch.Local, Path: ch.Path}).add(ch, p.seconds)
		}
	}
	return t.shared(PathShare.Bytes)
}

// databasePaths are those of V$DNFS_CHANNELS, which counts calls and no bytes.
// Without a row nothing is known of the paths, not even that they are missing.
func (c *judging) databasePaths(parts []clientRep) []PathShare {
	t, seen := newPathTable(declaredPaths(c.result.Plan)), false
	for _, p := range parts {
		if p.rep.Oracle == nil {
			continue
		}
		for _, ch := range ownChannels(c.result.Plan, p.rep.Oracle.DirectNFS.Channels) {
			seen = true
			share := t.find(pathPair{Local: ch.Local, Path: ch.Path})
			share.State = "Up"
			share.Calls += ch.Sends + ch.Receives
			share.Reconnects += ch.Reconnects
		}
	}
	if !seen {
		return nil
	}
	return t.shared(func(p PathShare) int64 { return p.Calls })
}

// ownChannels are those of the server of the plan; a database may use others.
// Where none has that label, the oranfstab was not used, and all are.
func ownChannels(plan runfile.Plan, all []runfile.DNFSChannel) []runfile.DNFSChannel {
	var own []runfile.DNFSChannel
	for _, ch := range all {
		if ch.Server == plan.Engine.Server {
			own = append(own, ch)
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}

// pathTable collects what each path did, the declared ones first.
type pathTable struct {
	declared []pathPair
	shares   []PathShare
}

func newPathTable(declared []pathPair) *pathTable {
	t := &pathTable{declared: declared}
	for _, d := range declared {
		t.shares = append(t.shares, PathShare{Local: d.Local, Path: d.Path, State: stateMissing})
	}
	return t
}

func (t *pathTable) find(used pathPair) *PathShare {
	p := declaredAs(t.declared, used)
	for i := range t.shares {
		if t.shares[i].Local == p.Local && t.shares[i].Path == p.Path {
			return &t.shares[i]
		}
	}
	t.shares = append(t.shares, PathShare{Local: p.Local, Path: p.Path, State: stateMissing})
	return &t.shares[len(t.shares)-1]
}

func (t *pathTable) shared(amount func(PathShare) int64) []PathShare {
	total := int64(0)
	for _, p := range t.shares {
		total += amount(p)
	}
	for i := range t.shares {
		if total > 0 {
			t.shares[i].SharePermille = *permille(float64(amount(t.shares[i])) / float64(total))
		}
	}
	return t.shares
}

// declaredAs finds the declared path that a channel serves. A path without a
// local address in the oranfstab serves whatever the system chose, and a channel
// without one (V$DNFS_CHANNELS before 11.2.0.2) the first to its address.
func declaredAs(declared []pathPair, used pathPair) pathPair {
	if slices.Contains(declared, used) {
		return used
	}
	for _, d := range declared {
		if sameHost(d.Path, used.Path) && (d.Local == "" || used.Local == "" || sameHost(d.Local, used.Local)) {
			return d
		}
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
		used += databaseCPU(p)
		unknown := p.rep.Oracle != nil && databaseCPU(p) == 0 // most of the load's CPU is the database's
		known = known && used > 0 && !unknown
		micros += used
		cpu.Millicores += int64(float64(used) / p.seconds / 1000)
		if limit := p.client.Host.CPULimit; limit != nil && *limit > 0 {
			own := float64(used-databaseCPU(p)) / 1e6
			cpu.BusiestLimitPermille = larger(cpu.BusiestLimitPermille, permille(own/p.seconds / *limit))
		}
		cpu.BusiestNodePermille = larger(cpu.BusiestNodePermille, hostBusy(p))
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

// databaseCPU are the microseconds that the sessions of a database used, which
// are the load's as much as the loader's own.
func databaseCPU(p clientRep) int64 {
	if p.rep.Oracle == nil {
		return 0
	}
	const microsecondsEach = 10_000 // it counts hundredths of seconds
	return p.rep.Oracle.Statistics[statCPU] * microsecondsEach
}

// hostBusy is how busy the machines of the database were, as it says itself.
func hostBusy(p clientRep) *int32 {
	o := p.rep.Oracle
	if o == nil || o.BusyCentiseconds == nil || o.IdleCentiseconds == nil {
		return nil
	}
	busy, idle := float64(*o.BusyCentiseconds), float64(*o.IdleCentiseconds)
	if busy < 0 || idle < 0 || busy+idle == 0 {
		return nil
	}
	return permille(busy / (busy + idle))
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
