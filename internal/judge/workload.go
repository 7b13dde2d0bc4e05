package judge

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const defaultOracleBlock = 8192 // db_block_size, unless somebody chose another

// blockBytes is what one I/O of the load reads or writes: of a calibration the
// large reads, for these are what a wire can be full of. 0 = not known.
func blockBytes(p runfile.Plan) int64 {
	w := p.Workload
	switch {
	case w.Raw != nil:
		return w.Raw.BlockSizeBytes
	case w.Calibrate != nil:
		return largeBytes(w.Calibrate.Files)
	case w.SLOB == nil:
		return 0
	case w.SLOB.Access == runfile.AccessFullTableScan:
		return largeBytes(w.SLOB.Files)
	case w.SLOB.Files != nil && w.SLOB.Files.BlockSizeBytes > 0:
		return w.SLOB.Files.BlockSizeBytes
	default:
		return defaultOracleBlock
	}
}

// largeBytes is a multiblock read: Oracle's largest is of 1 MiB on most systems.
func largeBytes(f *runfile.Files) int64 {
	if f != nil && f.LargeReadBytes > 0 {
		return f.LargeReadBytes
	}
	return defaultXfer
}

// outstanding is how many I/Os the load keeps going at once, and what to raise
// for more.
func (c *judging) outstanding() (ios int64, raise string) {
	s := c.result.Plan.Workload.SLOB
	if s == nil {
		r := c.raw()
		return int64(r.Jobs) * int64(r.Depth) * int64(c.overall.Clients), "depth or jobs"
	}
	users := int64(1)
	if c.overall.Step != nil {
		users = int64(c.overall.Step.Users)
	}
	return users * int64(max(s.ReadAhead, 1)), "users"
}

// workingSet is all that the load can read; 0 = not known.
func (c *judging) workingSet() int64 {
	w, clients := c.result.Plan.Workload, int64(max(len(c.result.Clients), 1))
	switch {
	case w.Raw != nil:
		return w.Raw.FileSizeBytes * int64(w.Raw.Jobs) * clients
	case w.Calibrate != nil:
		return filesBytes(w.Calibrate.Files) * clients
	case w.SLOB == nil:
		return 0
	case w.SLOB.Files != nil:
		return filesBytes(w.SLOB.Files) * clients
	case w.SLOB.Access == runfile.AccessFullTableScan:
		return w.SLOB.ScanTableBytes * int64(w.SLOB.Schemas)
	default:
		return w.SLOB.ScaleBytes * int64(w.SLOB.Schemas)
	}
}

func filesBytes(f *runfile.Files) int64 {
	if f == nil {
		return 0
	}
	return f.SizeBytes * int64(f.Count)
}

// checkRounds looks for steps and repetitions that are missing.
func (c *judging) checkRounds() {
	plan := c.result.Plan
	want := int(plan.Schedule.Repetitions)
	switch {
	case plan.Workload.Calibrate != nil:
		if n := c.completeCalibrations(); n < want {
			c.add(Partial, Error, "%d of %d calibrations were measured.", n, want)
		}
	case plan.Workload.SLOB != nil && len(plan.Workload.SLOB.Users) > 0:
		var short []string
		for _, users := range plan.Workload.SLOB.Users {
			if n := len(c.roundsOf(runfile.StepUsers, users)); n < want {
				short = append(short, fmt.Sprintf("%d users %d", users, n))
			}
		}
		if len(short) > 0 {
			c.add(Partial, Error, "Not all steps were measured %d times: %s.", want, strings.Join(short, ", "))
		}
	default:
		if n := len(c.repetitions); n < want {
			c.add(Partial, Error, "%d of %d repetitions were measured.", n, want)
		}
	}
}

// completeCalibrations are those that count and went through both phases.
func (c *judging) completeCalibrations() int {
	n := 0
	for _, r := range c.calibrationRuns() {
		native := r.large != nil && r.least != nil
		oracle := r.oracle != nil && c.oracleCalibration(*r.oracle) != nil
		if !r.warmup && (native || oracle) {
			n++
		}
	}
	return n
}

// checkVariation compares what was repeated.
func (c *judging) checkVariation() {
	high := func(v *int32) bool { return v != nil && *v > variationHigh }
	const todo = "(coefficient of variation). Find what differs between them before comparing with anything."
	if c.overall.Step == nil {
		if high(c.variation) {
			c.add(VariationHigh, Warning, "The throughput of %d repetitions varies by %s "+todo, len(c.headline), permilleText(c.variation))
		}
		return
	}
	if c.result.Plan.Workload.Calibrate != nil {
		if high(c.variation) {
			c.add(VariationHigh, Warning, "The results of %d calibrations vary by %s "+todo, len(c.headline), permilleText(c.variation))
		}
		return
	}
	var varying []string
	for _, s := range c.steps {
		if v := variationOf(c.roundsOf(s.Kind, s.Users)); high(v) {
			varying = append(varying, level(s.Kind, s.Users)+" by "+permilleText(v))
		}
	}
	if len(varying) > 0 {
		c.add(VariationHigh, Warning, "The throughput varies between rounds: %s "+todo, listed(varying))
	}
}
