package measure

import (
	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// EverRead returns the bytes read in all measured windows.
func (c *Facts) EverRead() (sum int64) {
	for _, s := range c.Repetitions {
		sum += bench.OrZero(s.Read).Bytes
	}
	return sum
}

// OpsRate returns the operations per second in a window of storage counters; false if unknown.
func OpsRate(w runfile.StorageWindow) (float64, bool) {
	if w.Reset || w.Seconds <= 0 || w.ReadOps == nil || w.WriteOps == nil {
		return 0, false
	}
	return float64(*w.ReadOps+*w.WriteOps) / w.Seconds, true
}

func bytesRate(w runfile.StorageWindow) (float64, bool) {
	if w.ReadBytes == nil || w.WriteBytes == nil {
		return 0, false
	}
	return float64(*w.ReadBytes+*w.WriteBytes) / w.Seconds, true
}

func (c *Facts) clientCPU(s RepetitionFacts) ClientCPU {
	var cpu ClientCPU
	for _, p := range s.parts {
		loader, database, w := p.rep.CPUMicroseconds, databaseCPU(p), bench.OrZero(p.window)
		// The kernel's client works outside of the loader process, but the cgroup
		// includes its work in system calls: the larger value is nearer.
		loader = max(loader, bench.OrZero(w.CgroupCPUMicroseconds))
		cpu.Millicores += int64(float64(loader+database) / p.seconds / 1000)
		if limit := bench.OrZero(p.client.Host.CPULimit); limit > 0 {
			cpu.BusiestLimitPermille = larger(cpu.BusiestLimitPermille, PermilleOf(float64(loader)/1e6/p.seconds/limit))
		}
		if database > 0 && c.Cores > 0 {
			cpu.DatabaseLimitPermille = larger(cpu.DatabaseLimitPermille, PermilleOf(float64(database)/1e6/p.seconds/c.Cores))
		}
		cpu.BusiestNodePermille = larger(larger(cpu.BusiestNodePermille, hostBusy(p)), w.NodeCPUPermille)
		if t := w.CgroupThrottledMicros; t != nil {
			cpu.WorstThrottlePermille = larger(cpu.WorstThrottlePermille, PermilleOf(float64(*t)/1e6/p.seconds))
		}
	}
	cpu.CeilingPerSecond = ceilingOf(s.parts)
	used, above := c.machineCPU(s.parts)
	cpu.AboveIdlePermille = above
	if used > 0 && s.Total.Bytes > 0 {
		cpu.MicrosecondsPerMiB = rounded(used / (float64(s.Total.Bytes) / (1 << 20)))
	}
	return cpu
}

// ceilingOf adds up the ceilings of the clients; nil if one is unknown.
func ceilingOf(parts []part) *int64 {
	sum := int64(0)
	for _, p := range parts {
		most := p.client.Load.CeilingPerSecond
		if most == nil {
			return nil
		}
		sum += *most
	}
	return &sum
}

// machineCPU returns the CPU time, in microseconds, that the clients' machines use above idle, and the largest busy
// share of a machine above its idle baseline. Only the CPU of the whole machine is comparable between clients: with
// Direct NFS the process itself does RPC and TCP, while the kernel's client uses kernel threads, which belong to no
// process and no container. Both are unknown (0 and nil) for machines that others use, or that run an external
// database.
func (c *Facts) machineCPU(parts []part) (microseconds float64, busiest *int32) {
	if c.External() {
		return 0, nil
	}
	seen := map[string]bool{}
	for _, p := range parts {
		under, idle := bench.OrZero(p.window), bench.OrZero(baselineOf(p.client, p.rep))
		if under.NodeCPUPermille == nil || idle.NodeCPUPermille == nil || AtLeastPermille(idle.NodeCPUPermille, ForeignCPU) {
			return 0, nil
		}
		if node := nodeOf(p.client); !seen[node] {
			seen[node] = true
			microseconds += max(0, busyCPUs(under)-busyCPUs(idle)) * p.seconds * 1e6
			busiest = larger(busiest, new(max(0, *under.NodeCPUPermille-*idle.NodeCPUPermille)))
		}
	}
	return microseconds, busiest
}

// busyCPUs returns the average number of busy CPUs of a machine. A permille of all CPUs would be too coarse for a
// machine with many.
func busyCPUs(w runfile.ObservedWindow) float64 {
	return float64(bench.OrZero(w.NodeBusyMicroseconds)) / 1e6 / max(w.End.Sub(w.Start).Seconds(), 1e-3)
}

// databaseCPU returns the CPU time of the database processes in microseconds. It belongs to the load, like the CPU
// time of the loader.
func databaseCPU(p part) int64 {
	statistics := bench.OrZero(p.rep.Oracle).Statistics
	return statistics[StatForegroundCPU] + statistics[statBackgroundCPU]
}

// hostBusy returns the busy share of the database's machines as the database reports it.
func hostBusy(p part) *int32 {
	o := bench.OrZero(p.rep.Oracle)
	return busyShare(o.BusyCentiseconds, o.IdleCentiseconds)
}

// busyShare returns the busy share of CPU times, in permille; nil if unknown.
func busyShare(busyCentiseconds, idleCentiseconds *int64) *int32 {
	if busyCentiseconds == nil || idleCentiseconds == nil {
		return nil
	}
	busy, idle := float64(*busyCentiseconds), float64(*idleCentiseconds)
	if busy < 0 || idle < 0 || busy+idle == 0 {
		return nil
	}
	return PermilleOf(busy / (busy + idle))
}
