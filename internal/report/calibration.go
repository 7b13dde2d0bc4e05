package report

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// shownCores bounds the cores that have a row each.
const shownCores = 16

// phaseTable shows the CPU and the latency of each part of the representative calibration.
func phaseTable(j judge.Judgement) *doc.Table {
	i := slices.IndexFunc(j.Calibrations, func(c measure.CalibrationSummary) bool {
		return !c.Warmup && c.MaxIOPS != nil && *c.MaxIOPS == j.Summary.Total.OperationsPerSecond
	})
	if i < 0 || len(j.Calibrations[i].Phases) == 0 {
		return nil
	}
	phases := j.Calibrations[i].Phases
	if p := phases[0]; len(phases) == 1 && p.CPUPermille == nil && p.Storage.MeanLatencyMicroseconds == nil {
		return nil // other tables show the rest
	}
	t := &doc.Table{Caption: "Each part of the calibration", Columns: []doc.Column{{Head: "Part"}}}
	for _, p := range phases {
		head := map[string]string{
			runfile.StepSmallReads: "Small reads", runfile.StepLargeReads: "Large reads", runfile.StepCalibrate: "Whole call",
		}[p.Kind]
		t.Columns = append(t.Columns, doc.Column{Head: head, Number: true, Width: 14})
	}
	machine := "CPU of the client"
	if j.Engine == measure.EngineOracle {
		machine = "CPU of the database's machine"
	}
	r := phaseRows{t, phases}
	r.add("Time", func(p measure.CalibrationPhase) string {
		return fmt.Sprintf("%.0f s", float64(p.DurationMilliseconds)/1000)
	})
	r.add("Mean latency", func(p measure.CalibrationPhase) string {
		return known(p.MeanLatencyMicroseconds, human.Latency[int64])
	})
	r.add("Mean latency of the storage", func(p measure.CalibrationPhase) string {
		return known(p.Storage.MeanLatencyMicroseconds, human.Latency[int64])
	})
	r.add(machine, func(p measure.CalibrationPhase) string { return known(p.CPUPermille, human.Share[int32]) })
	r.addCores()
	r.addNodes()
	return t
}

// phaseRows adds rows with a cell for each phase.
type phaseRows struct {
	table  *doc.Table
	phases []measure.CalibrationPhase
}

// add adds a row, unless the value is unknown for all phases.
func (r phaseRows) add(name string, cell func(measure.CalibrationPhase) string) {
	cells := []string{name}
	for _, p := range r.phases {
		cells = append(cells, cell(p))
	}
	if slices.ContainsFunc(cells[1:], func(s string) bool { return s != doc.Unknown }) {
		r.table.Row(cells...)
	}
}

func (r phaseRows) addCores() {
	cores := r.phases[0].Cores
	if len(cores) > shownCores {
		r.add(fmt.Sprintf("busiest of its %d cores", len(cores)), func(p measure.CalibrationPhase) string {
			return coreText(p.Cores, slices.Max[[]int32])
		})
		r.add("idlest of them", func(p measure.CalibrationPhase) string { return coreText(p.Cores, slices.Min[[]int32]) })
		return
	}
	for _, c := range cores {
		r.add(fmt.Sprintf("its core %d", c.Number), func(p measure.CalibrationPhase) string {
			k := slices.IndexFunc(p.Cores, func(o runfile.CoreWindow) bool { return o.Number == c.Number })
			if k < 0 {
				return doc.Unknown
			}
			return human.Share(p.Cores[k].BusyPermille)
		})
	}
}

// coreText returns the share that choose selects.
func coreText(cores []runfile.CoreWindow, choose func([]int32) int32) string {
	shares := make([]int32, 0, len(cores))
	for _, c := range cores {
		shares = append(shares, c.BusyPermille)
	}
	if len(shares) == 0 {
		return doc.Unknown
	}
	return human.Share(choose(shares))
}

func (r phaseRows) addNodes() {
	for _, n := range r.phases[0].StorageNodes {
		r.add("CPU of "+n.Name, func(p measure.CalibrationPhase) string {
			same := func(o measure.StorageNode) bool { return o.Name == n.Name && o.Source == n.Source }
			k := slices.IndexFunc(p.StorageNodes, same)
			if k < 0 {
				return doc.Unknown
			}
			return known(p.StorageNodes[k].CPUPermille, human.Share[int32])
		})
	}
}
