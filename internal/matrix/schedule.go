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

// checkSchedule parses the schedule as Argo does, because Argo reports errors only in its log.
func checkSchedule(s *v1alpha1.Schedule) error {
	if s == nil {
		return nil
	}
	var bad, unknown error
	if _, err := ParseCron(s.Cron); err != nil {
		bad = fmt.Errorf("spec.schedule.cron %q: %w: write minute, hour, day, month and day of the week, for example \"0 "+
			"2 * * 0\"", s.Cron, err)
	}
	if _, err := time.LoadLocation(s.TimeZone); err != nil {
		unknown = fmt.Errorf("spec.schedule.timeZone %q is no time zone: give its IANA name, for example Europe/Vienna or "+
			"Etc/UTC", s.TimeZone)
	}
	return errors.Join(bad, unknown)
}

// ParseCron reads the five fields of a schedule as Argo does. A time zone belongs into its
// own field: with "TZ=" in front and no blank behind, the parser of Argo panics
// (https://github.com/robfig/cron/issues/554).
func ParseCron(fields string) (s cron.Schedule, err error) {
	if strings.ContainsAny(fields, "=\t\r\n") {
		return nil, errors.New("it has a tab, a line break or an equals sign")
	}
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	return cron.ParseStandard(strings.TrimSpace(fields))
}
