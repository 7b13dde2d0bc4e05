package report

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// WhatRan is the load in one sentence. The spaces between a number and its unit
// do not break.
func WhatRan(r runfile.Result, j judge.Judgement) string {
	w := r.Plan.Workload
	var parts []string
	switch {
	case w.Raw != nil:
		parts = rawParts(*w.Raw)
	case w.Calibrate != nil:
		parts = calibrateParts(*w.Calibrate, r.Plan.Database)
	case w.SLOB != nil:
		parts = slobParts(*w.SLOB, r.Plan.Database)
	}
	on := j.Protocol.Observed
	if on == "" {
		on = strings.TrimSpace(r.Plan.Engine.Client + " " + r.Plan.Engine.NFSVersion)
	}
	each := fmt.Sprintf("%d x %d s", r.Plan.Schedule.Repetitions, r.Plan.Schedule.DurationSeconds)
	if w.Calibrate != nil && r.Plan.Database != nil {
		each = Count(int(r.Plan.Schedule.Repetitions), "run") // Oracle takes as long as it wants
	}
	return strings.Join(whole(append(parts, on, Count(int(r.Plan.Clients), "client"), each)), ", ")
}

func rawParts(raw runfile.Raw) []string {
	parts := []string{
		fmt.Sprintf("%s %s", raw.Pattern, BinarySize(raw.BlockSizeBytes)),
		fmt.Sprintf("files %s x %d jobs x depth %d", BinarySize(raw.FileSizeBytes), raw.Jobs, raw.Depth),
	}
	if raw.OperationsPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("paced at %d/s", raw.OperationsPerSecond))
	}
	return parts
}

func calibrateParts(c runfile.Calibrate, d *runfile.Database) []string {
	name := "calibrate, native engine"
	if d != nil {
		name = "CALIBRATE_IO"
	}
	parts := []string{name, Count(int(c.PhysicalDisks), "disk"), fmt.Sprintf("at most %d ms", c.MaxLatencyMilliseconds)}
	return append(parts, filesPart(c.Files)...)
}

func slobParts(s runfile.SLOB, d *runfile.Database) []string {
	engine, size := "native engine", s.ScaleBytes
	if d != nil {
		engine = "Oracle"
	}
	if s.Access == runfile.AccessFullTableScan {
		size = s.ScanTableBytes
	}
	parts := []string{"SLOB " + s.Access, engine, usersPart(s.Users)}
	if s.UpdatePercent > 0 {
		parts = append(parts, fmt.Sprintf("%d %% updates", s.UpdatePercent))
	}
	switch {
	case s.Kit != nil:
		parts = append(parts, "your own kit")
	case s.Files != nil:
		parts = append(parts, filesPart(s.Files)...)
	default:
		parts = append(parts, fmt.Sprintf("%s of %s", Count(int(s.Schemas), "schema"), BinarySize(size)))
	}
	return parts
}

func usersPart(users []int32) string {
	switch len(users) {
	case 0:
		return "users as in the kit"
	case 1:
		return Count(int(users[0]), "user")
	default:
		return fmt.Sprintf("%d to %d users in %d steps", users[0], users[len(users)-1], len(users))
	}
}

func filesPart(f *runfile.Files) []string {
	if f == nil {
		return nil
	}
	return []string{fmt.Sprintf("files %d x %s", f.Count, BinarySize(f.SizeBytes))}
}
