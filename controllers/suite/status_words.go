package suite

import (
	"fmt"
	"math"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// messageOf is the state, or the answer, in one sentence.
func messageOf(s *scope, v seen, err error) string {
	open := s.open()
	switch {
	case err != nil:
		return statussize.Clip("trying again: " + err.Error())
	case s.valid != nil && !s.valid.ok:
		return statussize.Clip("not valid: " + s.valid.message)
	case s.blocked != nil:
		return statussize.Clip(s.blocked.message)
	case s.waiting != nil:
		return statussize.Clip(s.waiting.message)
	case s.argo != nil && !s.argo.ok:
		return statussize.Clip(s.argo.message)
	case len(open) > 0 && open[len(open)-1].loaded:
		return statussize.Clip(progressMessage(s, open[len(open)-1]))
	case v.ended != nil:
		return statussize.Clip(s.prefix() + endMessage(s, v))
	case s.scheduled():
		return statussize.Clip(strings.TrimSuffix(s.prefix(), ": "))
	default:
		return s.suite.Status.Message
	}
}

// prefix says that a schedule waits.
func (s *scope) prefix() string {
	if !s.scheduled() {
		return ""
	}
	sched := s.suite.Spec.Schedule
	words := fmt.Sprintf("waits for its time, %q %s", sched.Cron, sched.TimeZone)
	if s.suite.Spec.Suspend || sched.Suspend {
		words = "starts no runs while it is suspended"
	}
	return strings.TrimSpace(words) + ": "
}

// endMessage is the outcome of the newest finished run.
func endMessage(s *scope, v seen) string {
	words := v.outcome.message
	if words == "" {
		words = "it is " + string(v.outcome.phase)
	}
	if s.scheduled() {
		words = "run " + v.ended.name + ": " + words
		if s.regression != nil && s.regression.Message != "" {
			words += "; " + s.regression.Message
		}
	}
	if v.ended != s.current() || v.table == nil || s.suite.Spec.Compare == nil {
		return words
	}
	answer := comparisonWords(v.table.Comparisons)
	switch {
	case answer == "":
		return words
	case v.outcome.phase == v1alpha1.SuiteSucceeded && !s.scheduled():
		return answer + suspectWords(s)
	default:
		return words + "; " + answer
	}
}

// comparisonWords is the answer of a table in one sentence.
func comparisonWords(lines []compare.Line) string {
	if len(lines) == 0 {
		return ""
	}
	better, worse, unknown := 0, 0, 0
	var largest *compare.Line
	for i, l := range lines {
		switch l.Outcome {
		case compare.Better:
			better++
		case compare.Worse:
			worse++
		case compare.Unknown:
			unknown++
			continue
		default:
			continue
		}
		if largest == nil || effect(l) > effect(*largest) {
			largest = &lines[i]
		}
	}
	if unknown == len(lines) {
		return fmt.Sprintf("too few numbers for any of the %d comparisons", len(lines))
	}
	if largest == nil {
		return fmt.Sprintf("none of the %d comparisons shows a difference that is significant and large enough", len(lines))
	}
	return fmt.Sprintf("of %d comparisons with the baseline %d are better and %d worse; the largest difference: %s", len(lines), better, worse, lineWords(*largest))
}

// effect is how large a difference is, whichever way.
func effect(l compare.Line) float64 {
	if l.Shift == nil {
		return math.Abs(l.Impact)
	}
	return math.Abs(*l.Shift)
}

func lineWords(l compare.Line) string {
	cell := l.Cell
	if l.Step != "" {
		cell += " " + l.Step
	}
	shift := l.Impact
	if l.Shift != nil {
		shift = *l.Shift
	}
	words := fmt.Sprintf("%s is %.1f %% %s than %s in %s", cell, math.Abs(shift)*100, strings.ToLower(l.Outcome), l.Baseline, l.Metric)
	p := l.AdjustedP
	if p == nil {
		p = l.P
	}
	if p != nil {
		words += fmt.Sprintf(" (p = %.2g)", *p)
	}
	if l.Saturated {
		words += ", with the line full"
	}
	return words
}

func suspectWords(s *scope) string {
	if r := s.suite.Status.Run; r != nil && r.Suspect > 0 {
		return fmt.Sprintf("; %d of the benchmarks are suspect: see their findings", r.Suspect)
	}
	return ""
}
