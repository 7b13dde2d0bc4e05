package matrix

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the manager's image has no time zones of its own

	"github.com/robfig/cron/v3"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// checkSchedule reads the schedule as Argo will, which reports what it cannot read
// in its log only.
func checkSchedule(s *v1alpha1.Schedule) error {
	if s == nil {
		return nil
	}
	var bad, unknown error
	if _, err := cron.ParseStandard(strings.TrimSpace(s.Cron)); err != nil {
		bad = fmt.Errorf("spec.schedule.cron %q: %w: write minute, hour, day, month and day of the week, for example \"0 "+
			"2 * * 0\"", s.Cron, err)
	}
	if _, err := time.LoadLocation(s.TimeZone); err != nil {
		unknown = fmt.Errorf("spec.schedule.timeZone %q is no time zone: give its IANA name, for example Europe/Vienna or "+
			"Etc/UTC", s.TimeZone)
	}
	return errors.Join(bad, unknown)
}
