package judge

import (
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
)

// cause is a finding that explains others, which then say nothing new.
type cause struct {
	code     Code
	symptoms []Code
	severity bench.Severity // of the symptoms that it explains
	applies  func(*facts) bool
}

// causes returns the table of causes.
func causes() []cause {
	return []cause{
		// The embedded server is there to try things out: short windows over small files belong to that.
		{EmbeddedServer, []Code{TooShort, CacheSuspected}, bench.SeverityInfo, func(*facts) bool { return true }},
		// Other work made the machine busy, and not the load.
		{ForeignLoad, []Code{ClientCPUBound}, bench.SeverityWarning, othersKeptTheMachineBusy},
	}
}

// othersKeptTheMachineBusy reports whether the machine as a whole was busy, each load used a small part of its CPUs,
// and the machine was busy before the load, too, or nobody looked.
func othersKeptTheMachineBusy(c *facts) bool {
	return c.busyBesideLoad() && (c.idleMachineIsBusy() || c.idleIsUnknown())
}

// busyBesideLoad reports whether nothing but the machine as a whole was busy, and each load used a small part of its
// CPUs.
func (c *facts) busyBesideLoad() bool {
	cpu, cpus := c.Overall.ClientCPU, int32(0)
	only := measure.ClientCPU{BusiestNodePermille: cpu.BusiestNodePermille}
	if seen := c.busyClient(cpu); len(seen) == 0 || len(seen) != len(c.busyClient(only)) {
		return false
	}
	for _, cl := range c.Clients {
		if cpus == 0 || cl.Host.CPUs < cpus {
			cpus = cl.Host.CPUs
		}
	}
	return cpus > 0 && cpu.Millicores > 0 && cpu.Millicores < ownCPUSmall*int64(cpus)
}

func (c *facts) idleMachineIsBusy() bool {
	return slices.ContainsFunc(c.idle(), func(w measure.Idle) bool {
		return measure.AtLeastPermille(w.NodeCPUPermille, measure.ForeignCPU)
	})
}

// idleIsUnknown reports whether a load without an idle baseline used no CPU but its own: the kernel's mounts and the
// processes of a database use some for it.
func (c *facts) idleIsUnknown() bool {
	return len(c.idle()) == 0 && !c.Kernel() && !c.engine.database
}

// idle returns the idle baselines of all repetitions.
func (c *facts) idle() (all []measure.Idle) {
	for _, s := range c.Repetitions {
		all = append(all, c.IdleBefore(s.Repetition)...)
	}
	return all
}

// explained leaves out the findings that another one explains.
func (fs findings) explained(c *facts) findings {
	for _, of := range causes() {
		if !has(fs, of.code) || c.Overall == nil || !of.applies(c) {
			continue
		}
		fs = slices.DeleteFunc(fs, func(f bench.Finding) bool {
			return f.Severity == of.severity && slices.Contains(of.symptoms, f.Code)
		})
	}
	return fs
}
