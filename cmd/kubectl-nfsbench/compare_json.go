package main

import "github.com/nfsbench/nfsbench/internal/compare"

// jsonComparison is a comparison as data. Impacts are percent, positive is
// better; what is not known is absent.
type jsonComparison struct {
	Comparisons []jsonLine    `json:"comparisons"`
	Findings    []jsonFinding `json:"findings,omitempty"`
	Warnings    []string      `json:"warnings,omitempty"`
}

type jsonLine struct {
	Candidate              string    `json:"candidate"`
	Baseline               string    `json:"baseline"`
	Step                   string    `json:"step,omitempty"`
	Metric                 string    `json:"metric"`
	Unit                   string    `json:"unit"`
	CandidateValues        []float64 `json:"candidateValues"`
	BaselineValues         []float64 `json:"baselineValues"`
	ImpactPercent          float64   `json:"impactPercent"`
	ImpactDeviationPercent *float64  `json:"impactStandardDeviationPercent,omitempty"`
	ImpactMinimumPercent   float64   `json:"impactMinimumPercent"`
	ImpactMaximumPercent   float64   `json:"impactMaximumPercent"`
	ShiftPercent           *float64  `json:"shiftPercent,omitempty"`
	ShiftLowPercent        *float64  `json:"shiftLowPercent,omitempty"`
	ShiftHighPercent       *float64  `json:"shiftHighPercent,omitempty"`
	Confidence             float64   `json:"confidence,omitempty"`
	P                      *float64  `json:"p,omitempty"`
	AdjustedP              *float64  `json:"adjustedP,omitempty"`
	DetectablePercent      *float64  `json:"detectablePercent,omitempty"`
	Outcome                string    `json:"outcome"`
	Saturated              bool      `json:"saturated,omitempty"`
}

type jsonFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

func jsonOf(x comparison) jsonComparison {
	out := jsonComparison{Comparisons: []jsonLine{}, Warnings: x.warnings}
	for _, l := range x.table.Comparisons {
		out.Comparisons = append(out.Comparisons, jsonLineOf(l))
	}
	for _, f := range x.table.Findings {
		out.Findings = append(out.Findings, jsonFinding(f))
	}
	return out
}

func jsonLineOf(l compare.Line) jsonLine {
	return jsonLine{
		Candidate: l.Cell, Baseline: l.Baseline, Step: l.Step, Metric: l.Metric, Unit: l.Unit,
		CandidateValues: l.Candidate, BaselineValues: l.Base,
		ImpactPercent: 100 * l.Impact, ImpactDeviationPercent: percentOf(l.ImpactDeviation),
		ImpactMinimumPercent: 100 * l.ImpactMinimum, ImpactMaximumPercent: 100 * l.ImpactMaximum,
		ShiftPercent: percentOf(l.Shift), ShiftLowPercent: percentOf(l.ShiftLow), ShiftHighPercent: percentOf(l.ShiftHigh),
		Confidence: l.Confidence, P: l.P, AdjustedP: l.AdjustedP, DetectablePercent: percentOf(l.Detectable),
		Outcome: l.Outcome, Saturated: l.Saturated,
	}
}

func percentOf(share *float64) *float64 {
	if share == nil {
		return nil
	}
	return new(100 * *share)
}
