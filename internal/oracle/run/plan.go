package run

import (
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkPlan refuses what only this engine can tell, and what Validate does.
func checkPlan(p *runfile.Plan) error {
	refuse := func(format string, args ...any) error {
		return oracle.Fail(runfile.FailureInvalidPlan, fmt.Sprintf(format, args...), nil)
	}
	if err := p.Validate(); err != nil {
		return refuse("the plan is not valid: %v", err)
	}
	w, d := p.Workload, p.Database
	switch {
	case d == nil:
		return refuse("the plan has no database; run it with nfsbench load")
	case w.Calibrate == nil && w.SLOB == nil:
		return refuse("workload.raw is not for a database; use calibrate or slob")
	}
	if w.SLOB == nil || w.SLOB.Kit == nil {
		return nil
	}
	return checkKit(p)
}

// calibrateEstimate is how long CALIBRATE_IO takes, about, as far as anybody has
// told.
const calibrateEstimate = 10 * time.Minute

// timeLeft knows how much of a run is still to come.
type timeLeft struct {
	plan *runfile.Plan

	connected   bool
	fillBytes   int64 // in all; 0 = nothing to fill, or done
	filled      int64
	fillStart   time.Time
	done        int       // repetitions
	repetition  time.Time // start of the one that runs
	calibration time.Duration
}

// steps is how many repetitions there are, over all steps and rounds.
func (l *timeLeft) steps() int { return int(l.plan.ScheduledSteps().Count) }

// each is how long one repetition takes.
func (l *timeLeft) each() time.Duration {
	s := l.plan.Schedule
	seconds := s.BaselineSeconds + s.WarmupSeconds + s.DurationSeconds
	if l.plan.Workload.Calibrate != nil {
		estimate := calibrateEstimate
		if l.calibration > 0 {
			estimate = l.calibration // like the one before
		}
		return time.Duration(s.BaselineSeconds)*time.Second + estimate
	}
	if l.plan.Workload.SLOB != nil && l.plan.Workload.SLOB.Kit != nil {
		seconds -= s.WarmupSeconds
	}
	return time.Duration(seconds) * time.Second
}

// at is for course.New. How long a database takes to start is not known, nor how
// fast it fills before it has begun to.
func (l *timeLeft) at(now time.Time) (time.Duration, bool) {
	todo := l.steps() - l.done
	left := time.Duration(todo)*l.each() + time.Duration(max(0, todo-1))*time.Duration(l.plan.Schedule.CooldownSeconds)*time.Second
	if !l.repetition.IsZero() {
		left -= min(now.Sub(l.repetition), l.each())
	}
	if !l.connected {
		return 0, false
	}
	if missing := l.fillBytes - l.filled; missing > 0 {
		took := now.Sub(l.fillStart)
		if l.filled == 0 || took <= 0 {
			return 0, false
		}
		left += time.Duration(float64(took) / float64(l.filled) * float64(missing))
	}
	return left, true
}
