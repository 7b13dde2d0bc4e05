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

// othersKeptTheMachineBusy reports whether the machine as a whole was busy, which it was before the load, too, and each
// load used a small part of its CPUs.
func othersKeptTheMachineBusy(c *facts) bool {
	cpu, cpus := c.Overall.ClientCPU, int32(0)
	only := measure.ClientCPU{BusiestNodePermille: cpu.BusiestNodePermille}
	if len(c.busyClient(cpu)) != len(c.busyClient(only)) || !c.idleMachineIsBusy() {
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
	return slices.ContainsFunc(c.Repetitions, func(s measure.RepetitionFacts) bool {
		return slices.ContainsFunc(c.IdleBefore(s.Repetition), func(w measure.Idle) bool {
			return measure.AtLeastPermille(w.NodeCPUPermille, measure.ForeignCPU)
		})
	})
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
