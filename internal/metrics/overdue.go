package metrics

import (
	"time"
	_ "time/tzdata" // the manager's image has no time zones of its own

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// overdue is the second time at which a suite was to run after it last began:
// from then on it has left out two of its times. It is unknown while a run is
// under way, and while none is to begin.
func overdue(suite *v1alpha1.NFSBenchmarkSuite) (time.Time, bool) {
	schedule := suite.Spec.Schedule
	switch {
	case schedule == nil, schedule.Suspend, suite.Spec.Suspend, suite.Spec.Shutdown != "",
		suite.Status.Phase == v1alpha1.SuiteRunning:
		return time.Time{}, false
	}
	zone, err := time.LoadLocation(zoneOf(schedule))
	if err != nil {
		return time.Time{}, false // its own condition says so
	}
	times, err := matrix.ParseCron(schedule.Cron)
	if err != nil {
		return time.Time{}, false
	}
	due := times.Next(times.Next(waitingSince(suite).In(zone)))
	// Next gives the zero time where there is none within five years.
	return due, !due.IsZero()
}

// waitingSince is when a suite last began, or was last changed: one whose
// schedule is new, or that was suspended until now, has left nothing out.
func waitingSince(suite *v1alpha1.NFSBenchmarkSuite) time.Time {
	since := suite.CreationTimestamp.Time
	if r := suite.Status.Run; r != nil && r.StartTime != nil && r.StartTime.After(since) {
		since = r.StartTime.Time
	}
	for _, f := range suite.ManagedFields {
		if f.Subresource == "" && f.Time != nil && f.Time.After(since) {
			since = f.Time.Time
		}
	}
	return since
}

func zoneOf(s *v1alpha1.Schedule) string {
	if s.TimeZone == "" {
		return "Etc/UTC"
	}
	return s.TimeZone
}
