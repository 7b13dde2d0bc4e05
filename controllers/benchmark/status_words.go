package benchmark

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// workloadWords is the load in words, such as "Read 1Mi x4 depth 8".
func workloadWords(p runfile.Plan) string {
	switch w := p.Workload; {
	case w.Raw != nil:
		return fmt.Sprintf("%s %s x%d depth %d", w.Raw.Pattern, resource.NewQuantity(w.Raw.BlockSizeBytes, resource.BinarySI), w.Raw.Jobs*p.Clients, w.Raw.Depth)
	case w.Calibrate != nil:
		return fmt.Sprintf("Calibrate %d disks %dms", w.Calibrate.PhysicalDisks, w.Calibrate.MaxLatencyMilliseconds)
	case w.SLOB != nil:
		return slobWords(*w.SLOB)
	default:
		return ""
	}
}

// slobWords is a SLOB load, such as "SLOB RandomRead 1-16 users".
func slobWords(w runfile.SLOB) string {
	words := "SLOB " + w.Access
	if w.Kit != nil {
		words = "SLOB kit " + w.Access
	}
	if w.UpdatePercent > 0 {
		words += fmt.Sprintf(" %d%% updates", w.UpdatePercent)
	}
	switch {
	case len(w.Users) == 0:
		return words
	case len(w.Users) == 1:
		return words + " " + usersWords(w.Users[0])
	default:
		return fmt.Sprintf("%s %d-%d users", words, slices.Min(w.Users), slices.Max(w.Users))
	}
}

func usersWords(n int32) string {
	if n == 1 {
		return "1 user"
	}
	return fmt.Sprintf("%d users", n)
}

// protocolWords describes the protocol in words.
func protocolWords(p runfile.Plan) string {
	words := p.Engine.NFSVersion + " " + p.Engine.Client
	if n := len(p.Engine.Channels); n > 1 {
		words += fmt.Sprintf(" %d paths", n)
	}
	return words
}

// headline is the end of a run in one sentence: its numbers, and what a table of
// numbers does not say by itself.
func headline(s *scope) string {
	j := s.judgement
	if j == nil || j.Summary == nil {
		return "finished"
	}
	msg := fmt.Sprintf("%d MB/s, %d IOPS", j.Summary.Total.BytesPerSecond/1e6, j.Summary.Total.OperationsPerSecond)
	step, latency := j.Summary.Step, j.Summary.Total.Latency
	switch {
	case step != nil && step.Kind == runfile.StepUsers:
		msg += stepWords(*step, j.Steps)
	case len(j.Calibrations) > 0 && latency != nil:
		msg += " at " + latencyWords(latency.MeanMicroseconds)
	}
	if j.Summary.WirePermille != nil {
		msg += fmt.Sprintf(", %d %% of the wire limit", (*j.Summary.WirePermille+5)/10)
	}
	if j.Indirect != "" {
		msg += ". " + j.Indirect
	}
	return msg
}

// stepWords names the level of load behind the numbers, and the level above which
// more users do not help.
func stepWords(step runfile.Step, all []judge.StepSummary) string {
	if len(all) < 2 {
		return ""
	}
	words := " with " + usersWords(step.Users)
	i := slices.IndexFunc(all, func(s judge.StepSummary) bool { return s.Knee && s.Kind == step.Kind && s.Users != step.Users })
	if i >= 0 {
		words += fmt.Sprintf(", hardly more than with %d", all[i].Users)
	}
	return words
}
