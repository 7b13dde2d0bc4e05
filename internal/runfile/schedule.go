package runfile

// Bounds of what nobody can know before a calibration.
const (
	// CalibrateCallSeconds is what one call of CALIBRATE_IO is given. It takes
	// about ten minutes, and depends on the storage.
	CalibrateCallSeconds = 15 * 60
	// MaxCalibrateSteps are the levels of load that a native calibrate tries at
	// most in each round: it raises the load until the latency is too high.
	MaxCalibrateSteps = 40
)

// Steps is what the schedule of a plan comes to.
type Steps struct {
	// Count of measured windows, each with a Repetition of its own.
	Count int64
	// Seconds that the scheduled spans take together, without connecting,
	// starting a database, filling and cleaning.
	Seconds int64
	// Exact says that it will be so. Where the load finds its own levels, Count
	// and Seconds are the most that it may take.
	Exact bool
}

// ScheduledSteps is how many measured windows a run has, and how long they
// take: one for each repetition of a raw load, one more for each level of a
// ramp, and for calibrations the most that they may take.
func (p Plan) ScheduledSteps() Steps {
	s, rounds := p.Schedule, int64(p.Schedule.Repetitions)
	switch w := p.Workload; {
	case w.Calibrate != nil && p.Database != nil:
		n := rounds + int64(w.Calibrate.WarmupRuns)
		// The procedure has no warm-up and lasts as long as it likes.
		each := int64(s.BaselineSeconds) + CalibrateCallSeconds
		return Steps{Count: n, Seconds: n*each + max(n-1, 0)*int64(s.CooldownSeconds)}
	case w.Calibrate != nil:
		n := (rounds + int64(w.Calibrate.WarmupRuns)) * MaxCalibrateSteps
		return Steps{Count: n, Seconds: s.seconds(n)}
	case w.SLOB != nil:
		n := rounds * int64(max(len(w.SLOB.Users), 1))
		// The user's own kit lasts as long as its slob.conf says.
		return Steps{Count: n, Seconds: s.seconds(n), Exact: w.SLOB.Kit == nil}
	default:
		return Steps{Count: rounds, Seconds: s.TotalSeconds(), Exact: true}
	}
}

// seconds is how long n windows take, with all that is around them.
func (s Schedule) seconds(n int64) int64 {
	each := int64(s.BaselineSeconds) + int64(s.WarmupSeconds) + int64(s.DurationSeconds)
	return n*each + max(n-1, 0)*int64(s.CooldownSeconds)
}
