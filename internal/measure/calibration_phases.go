package measure

import (
	"cmp"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// CalibrationPhase is the part of a calibration with reads of one kind. If the counters do not show the boundary
// between the two kinds, one phase covers the whole call.
type CalibrationPhase struct {
	// Kind is runfile.StepSmallReads, StepLargeReads, or StepCalibrate for both together.
	Kind                 string `json:"kind"`
	DurationMilliseconds int64  `json:"durationMilliseconds"`
	// MeanLatencyMicroseconds is the mean latency of the reads, from V$IOSTAT_FILE or from the native engine. For the
	// whole call it is the mean of the small reads.
	MeanLatencyMicroseconds *int64 `json:"meanLatencyMicroseconds,omitempty"`
	// CPUPermille is the busy share of all CPUs of the machine that reads. Cores has the share of each CPU.
	CPUPermille *int32 `json:"cpuPermille,omitempty"`
	// CPUAboveIdlePermille is CPUPermille minus the share in the idle baseline, as in ClientCPU.
	CPUAboveIdlePermille *int32 `json:"cpuAboveIdlePermille,omitempty"`

	Cores        []runfile.CoreWindow `json:"cores,omitempty"`
	Storage      StorageLoad          `json:"storage"`
	StorageNodes []StorageNode        `json:"storageNodes,omitempty"`
}

// phases returns the phases of a calibration run, small reads first.
func (c *Facts) phases(r Calibration) []CalibrationPhase {
	var out []CalibrationPhase
	if r.oracle == nil {
		for _, s := range []*RepetitionFacts{r.small, r.large} {
			if s != nil {
				out = append(out, phaseOf(s.Step.Kind, *s))
			}
		}
		return out
	}
	whole := *r.oracle
	for _, p := range whole.parts { // at most one: one client loads a database
		for _, o := range bench.OrZero(p.rep.Oracle).Phases {
			out = append(out, c.oraclePhase(whole, p, o))
		}
		whole.ClientCPU.BusiestNodePermille = c.databaseBusy(p, hostBusy(p))
	}
	if out == nil {
		out = []CalibrationPhase{phaseOf(runfile.StepCalibrate, whole)}
	}
	return out
}

// oraclePhase restricts the repetition of a CALIBRATE_IO call to one of its phases.
func (c *Facts) oraclePhase(s RepetitionFacts, p part, o runfile.OraclePhase) CalibrationPhase {
	p.window = windowOf(p.client, o.Kind, p.rep.Index)
	s.parts = []part{p}
	s.StorageWindows = storageWindows(s.parts)
	s.DurationMilliseconds = o.End.Sub(o.Start).Milliseconds()
	s.ClientCPU.BusiestNodePermille = c.databaseBusy(p, busyShare(o.BusyCentiseconds, o.IdleCentiseconds))
	_, s.ClientCPU.AboveIdlePermille = c.machineCPU(s.parts)
	s.Total.Latency = stats.MeanLatency(o.Reads, o.ReadTime*microsecondsEach(*p.rep.Oracle))
	c.storageSide(&s)
	return phaseOf(o.Kind, s)
}

// databaseBusy returns the busy share of a database's machine: from the collector in the same pod, or else as the
// database reports it.
func (c *Facts) databaseBusy(p part, said *int32) *int32 {
	external := bench.OrZero(c.Plan.Database).Kind == runfile.DatabaseExternal
	if !external && p.window != nil && p.window.NodeCPUPermille != nil {
		return p.window.NodeCPUPermille
	}
	return said
}

// phaseOf builds a phase from a repetition and the counters of its clients.
func phaseOf(kind string, s RepetitionFacts) CalibrationPhase {
	p := CalibrationPhase{
		Kind: kind, DurationMilliseconds: s.DurationMilliseconds, CPUPermille: s.ClientCPU.BusiestNodePermille,
		CPUAboveIdlePermille: s.ClientCPU.AboveIdlePermille, Storage: s.Storage, StorageNodes: s.StorageNodes,
	}
	if l := s.Total.Latency; l != nil {
		p.MeanLatencyMicroseconds = &l.MeanMicroseconds
	}
	for _, part := range s.parts {
		if part.window != nil && p.Cores == nil {
			p.Cores = part.window.Cores
		}
	}
	return p
}

// ofSmallReads returns the repetition of a CALIBRATE_IO call with the CPU and storage numbers of its small reads
// phase, which also gave its IOPS and latency. Numbers that the phase lacks stay those of the whole call.
func (r Calibration) ofSmallReads() RepetitionFacts {
	s := *r.oracle
	for _, p := range r.Phases {
		if p.Kind == runfile.StepSmallReads {
			s.ClientCPU.BusiestNodePermille = cmp.Or(p.CPUPermille, s.ClientCPU.BusiestNodePermille)
			s.ClientCPU.AboveIdlePermille = cmp.Or(p.CPUAboveIdlePermille, s.ClientCPU.AboveIdlePermille)
			s.Storage = cmp.Or(p.Storage, s.Storage)
			s.StorageNodes = sampledNodes(s.StorageNodes, p.StorageNodes)
		}
	}
	return s
}

// sampledNodes returns the nodes of whole, each replaced by the same node of part if part sampled its CPU.
func sampledNodes(whole, part []StorageNode) []StorageNode {
	nodes := slices.Clone(whole)
	for i, w := range whole {
		if j := slices.IndexFunc(part, func(p StorageNode) bool {
			return p.Source == w.Source && p.Name == w.Name && p.CPUPermille != nil
		}); j >= 0 {
			nodes[i] = part[j]
		}
	}
	return nodes
}
