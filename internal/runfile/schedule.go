package runfile

// Bounds of what nobody can know before a run.
const (
	// CalibrateCallSeconds is what one call of CALIBRATE_IO is given. It takes
	// about ten minutes, and depends on the storage.
	CalibrateCallSeconds = 15 * 60
	// MaxCalibrateSteps are the levels of load that a native calibrate tries at
	// most in each round: it raises the load until the latency is too high.
	MaxCalibrateSteps = 40
	// KitReportSeconds is what a SLOB kit is given for its snapshots and its
	// report, besides its RUN_TIME.
	KitReportSeconds = 120
)

// longestPauseSeconds lets queues run empty between the steps of a native ramp.
const longestPauseSeconds = 2

// Steps is the number and length of the steps of a plan.
type Steps struct {
	// Count of measured windows, each with a Repetition of its own.
	Count int64
	// Seconds that the scheduled spans take together, without connecting,
	// starting a database, filling and cleaning.
	Seconds int64
	// Exact says that it will be so. Where the load finds its own levels, or
	// others' programs end when they like, Count and Seconds are the most that
	// it may take.
	Exact bool
}

// ScheduledSteps is how many measured windows a run has, and how long they
// take: one for each repetition of a raw load, one for each step of a ramp in
// each round, and for calibrations the most that they may take.
//
// The native engine goes through all steps of a round over the same files, with
// one baseline; in a database each step has its own, and a cooldown after it.
func (p Plan) ScheduledSteps() Steps {
	s, w, rounds := p.Schedule, p.Workload, int64(p.Schedule.Repetitions)
	switch {
	case w.Calibrate != nil:
		rounds += int64(w.Calibrate.WarmupRuns)
		if p.Database != nil { // the procedure has no warm-up
			return Steps{Count: rounds, Seconds: s.seconds(rounds, CalibrateCallSeconds)}
		}
		levels := MaxCalibrateSteps * (int64(s.LevelWarmupSeconds()) + int64(s.DurationSeconds))
		return Steps{Count: rounds * MaxCalibrateSteps, Seconds: s.seconds(rounds, levels)}
	case w.SLOB != nil && w.SLOB.Kit != nil: // which warms nothing up
		n := rounds * int64(len(w.SLOB.Users))
		return Steps{Count: n, Seconds: s.seconds(n, int64(s.DurationSeconds)+KitReportSeconds)}
	case w.SLOB != nil && p.Database != nil:
		n := rounds * int64(len(w.SLOB.Users))
		return Steps{Count: n, Seconds: s.seconds(n, s.loaded()), Exact: true}
	case w.SLOB != nil:
		n := int64(len(w.SLOB.Users))
		round := n*s.loaded() + max(n-1, 0)*int64(s.PauseSeconds())
		return Steps{Count: rounds * n, Seconds: s.seconds(rounds, round), Exact: true}
	default:
		return Steps{Count: rounds, Seconds: s.seconds(rounds, s.loaded()), Exact: true}
	}
}

// PauseSeconds are idle between the steps of one round of a native ramp.
func (s Schedule) PauseSeconds() int32 { return min(s.CooldownSeconds, longestPauseSeconds) }

// LevelWarmupSeconds is the warm-up of a level of a native calibrate: the
// storage is under load all the time, so a quarter of the window is enough, or
// what the plan says where that is less.
func (s Schedule) LevelWarmupSeconds() int32 {
	return min(s.WarmupSeconds, (s.DurationSeconds+3)/4)
}

// loaded is how long one warm-up and its window take.
func (s Schedule) loaded() int64 { return int64(s.WarmupSeconds) + int64(s.DurationSeconds) }

// seconds is how long n times a baseline and so much load take, with the
// cooldowns between them.
func (s Schedule) seconds(n, load int64) int64 {
	return n*(int64(s.BaselineSeconds)+load) + max(n-1, 0)*int64(s.CooldownSeconds)
}
