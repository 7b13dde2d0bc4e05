package matrix_test

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/matrix"
)

// TestNoScheduleMakesTheParserPanic: the manager reads schedules of strangers, in each
// reconcile and in each scrape.
func TestNoScheduleMakesTheParserPanic(t *testing.T) {
	for _, fields := range []string{
		"TZ=0\t*\t*\t*\t*", "CRON_TZ=0\t*\t*\t*\t*", "TZ=", "TZ=Europe/Vienna 0 2 * * 0", "", " ", "@", "*/0 * * * *", "0-99999999999 * * * *",
	} {
		if s, err := matrix.ParseCron(fields); err == nil {
			t.Errorf("%q is read as %v", fields, s)
		}
	}
	if _, err := matrix.ParseCron(" 0 2 * * 0 "); err != nil {
		t.Error(err)
	}
}

func TestAScheduleThatArgoCannotReadIsRefused(t *testing.T) {
	cases := map[string]struct {
		schedule string
		want     []string
	}{
		"fine":              {`{cron: "0 2 * * 0", timeZone: Europe/Vienna}`, nil},
		"no zone is UTC":    {`{cron: "*/5 * * * *"}`, nil},
		"an hour too many":  {`{cron: "0 25 * * 0", timeZone: Etc/UTC}`, []string{`spec.schedule.cron "0 25 * * 0"`, "minute, hour"}},
		"not a time":        {`{cron: "every other day at ten", timeZone: Etc/UTC}`, []string{"spec.schedule.cron"}},
		"a zone of nowhere": {`{cron: "0 2 * * 0", timeZone: Europe/Wien}`, []string{`spec.schedule.timeZone "Europe/Wien"`, "IANA"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := suite(t, templateOf+"\n  schedule: "+tc.schedule+"\n  regression: {alpha: \"0.5\"}")
			m := expanded(t, s)
			err := check(t, m, s)
			if len(tc.want) == 0 && err != nil {
				t.Errorf("refused: %v", err)
			}
			for _, w := range tc.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in: %v", w, err)
				}
			}
		})
	}
}
