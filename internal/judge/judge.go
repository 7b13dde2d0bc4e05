// Package judge turns a result file into a judgement: how fast, how near to the
// wire, over which protocol, may the number be believed, and is it good enough.
//
// It is pure and deterministic: the same result file gives the same judgement
// on a laptop, in the operator, and years later. It knows nothing that is not
// in the file. The order of work is
//
//	facts -> findings of the checks -> expectations -> validity -> verdict
//
// Package measure computes the facts. A check is a function from facts to findings, in the file of its subject;
// checks.go has the list of all checks, and findings.go the table of all codes.
//
// The thresholds of findings are constants in thresholds.go, and docs/findings.md is generated with their values.
// Package measure has those that decide whether something counts.
package judge

import (
	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Judge judges a result. It never fails: what is missing in the result is
// missing in the judgement, with a finding that says so.
func Judge(r runfile.Result) Judgement {
	c := newFacts(r)
	j := Judgement{
		Facts: c.Facts, Engine: c.Engine(), VariationPermille: (*measure.Permille)(c.Variation), Steps: c.Steps,
		Capacity: c.limited,
		Database: c.Database, Wire: c.Wire, Protocol: c.protocol, Series: c.SeriesPoints(),
	}
	j.Data = dataWords(c.Clients)
	for _, s := range c.Headline {
		j.Repetitions = append(j.Repetitions, s.Summary)
	}
	if c.Overall != nil {
		j.Summary = &c.Overall.Summary
	}
	for _, r := range c.Calibrations {
		j.Calibrations = append(j.Calibrations, r.CalibrationSummary)
	}
	if len(c.Indirect) > 0 {
		j.Indirect = indirectWords(c.Indirect[0], c.Volume)
	}
	o := c.expect()
	j.Findings = append(find(c).explained(c), o.findings...).sorted()
	j.Validity = ValidityOf(j.Findings)
	j.Verdict = c.verdict(j, o)
	j.Answer = c.answer(j, o)
	return j
}

// Judgement is everything that can be said of one result. Pointers that are nil
// are unknown, which is never the same as zero.
type Judgement struct {
	// Facts are what was judged.
	Facts    *measure.Facts `json:"-"`
	Answer   Answer         `json:"answer"`
	Verdict  bench.Verdict  `json:"verdict"`
	Validity bench.Validity `json:"validity"`
	// Engine is the engine that made the load: EngineNative or EngineOracle.
	Engine string `json:"engine"`
	// Summary is the median repetition by throughput: its numbers were measured together. Nil if no repetition has a
	// number. If the load has steps, docs/method.md says which step it comes from.
	Summary *measure.Summary `json:"summary,omitempty"`
	// Repetitions are the repetitions whose median is Summary: those of its step, if the load has several.
	Repetitions []measure.Summary `json:"repetitions,omitempty"`
	// Steps are the levels of load in the order of the plan, warm-up left out.
	Steps []measure.StepSummary `json:"steps,omitempty"`
	// Calibrations are the runs of a calibrate workload in order, warm-up first.
	Calibrations []measure.CalibrationSummary `json:"calibrations,omitempty"`
	// Capacity is the result of a search for capacity; nil for other loads. Summary is then the level
	// at the capacity within the first bound.
	Capacity *measure.Capacity        `json:"capacity,omitempty"`
	Database *measure.DatabaseSummary `json:"database,omitempty"` // nil: native engine
	Wire     *measure.WireLimit       `json:"wire,omitempty"`     // nil: unknown
	Protocol Evidence                 `json:"protocol"`
	Series   []measure.SeriesPoint    `json:"series,omitempty"` // of the median repetition, all clients
	Findings []bench.Finding          `json:"findings,omitempty"`
	// Data describes the checks of the data and their outcome. Empty = nothing was checked.
	Data string `json:"data,omitempty"`
	// Indirect says in one sentence, without its full stop, which paths end on a node that does not own the volume.
	// Empty if no such path is known.
	Indirect string `json:"indirect,omitempty"`
	// VariationPermille is the coefficient of variation between repetitions: of the throughput or, in a calibration, of
	// the IOPS if that is larger; nil with fewer than two repetitions.
	VariationPermille *measure.Permille `json:"variationPercent,omitempty"`
}

func newFacts(r runfile.Result) *facts {
	c := &facts{Facts: measure.Of(r)}
	c.engine = engineOf(c.Engine())
	c.limited, c.protocol = c.withLimits(), c.engine.evidence(c)
	return c
}
