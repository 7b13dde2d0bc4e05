package awr

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

type printed struct {
	file, average string
	waits         int64
	seconds       float64
}

func facts(t *testing.T) []printed {
	t.Helper()
	raw, err := os.ReadFile("testdata/nfs-vs-dnfs.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []printed
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "|")
		waits, err1 := strconv.ParseInt(f[3], 10, 64)
		seconds, err2 := strconv.ParseFloat(f[4], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		out = append(out, printed{f[0], f[2], waits, seconds})
	}
	return out
}

// The layout of 11.2, by its columns, with the numbers of the seed.
func TestAWholeReportGivesThePrintedAverages(t *testing.T) {
	all := facts(t)
	if len(all) != 20 {
		t.Errorf("%d averages are printed there", len(all))
	}
	for _, f := range all {
		report := "WORKLOAD REPOSITORY report for\n\nTop 5 Timed Foreground Events\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n" +
			"                                                           Avg\n" +
			"                                                          wait   % DB\n" +
			"Event                                 Waits     Time(s)   (ms)   time Wait Class\n" +
			"------------------------------ ------------ ----------- ------ ------ ----------\n" +
			fmt.Sprintf("%-30s %12d %11.0f %6d %6.1f %-10s\n", "db file sequential read", f.waits, f.seconds, 0, 95.4, "User I/O") +
			fmt.Sprintf("%-30s %12s %11d %6s %6.1f\n\n", "DB CPU", "", 12, "", 4.1)
		rows, err := Parse(strings.NewReader(report))
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || fmt.Sprintf("%.2f", rows[0].Seconds/float64(rows[0].Waits)*1000) != f.average {
			t.Errorf("%s: %+v, printed was %s", f.file, rows, f.average)
		}
	}
}

func TestReportsOfAllLayoutsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		text   string
		want   []runfile.AWRRow
	}{
		"12.2": {
			"times have fractions and short forms, averages units", `
Top 10 Foreground Events by Total Wait Time
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                           Total Wait       Avg   % DB Wait
Event                                Waits Time (sec)      Wait   time Class
------------------------------ ----------- ---------- --------- ------ --------
db file sequential read          1,234,567      823.4  666.95us   95.4 User I/O
direct path read                      1.2M      12.3K   10.25ms    3.0 User I/O
DB CPU                                          40.1               4.6
          -------------------------------------------------------------
`,
			[]runfile.AWRRow{
				{Event: "db file sequential read", Waits: 1234567, Seconds: 823.4},
				{Event: "direct path read", Waits: 1200000, Seconds: 12300},
			},
		},
		"all events": {
			"time-outs are not taken for seconds, background processes not for users, and nothing counts twice", `
Top 5 Timed Foreground Events
                                                           Avg
Event                                 Waits     Time(s)   (ms)
------------------------------ ------------ ----------- ------
db file sequential read              32,032          14      0

Foreground Wait Events                      DB/Inst: X/x  Snaps: 1-2
                                                             Avg
                                        %Time Total Wait    wait    Waits   % DB
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
db file sequential read          32,032     0         14       0      1.0   88.1
log file sync                       100   100          2      20      1.0    1.1

Background Wait Events                      DB/Inst: X/x  Snaps: 1-2
                                                             Avg
                                        %Time Total Wait    wait    Waits   % bg
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
db file parallel write          900,000     0         99       0      1.0   88.1
`,
			[]runfile.AWRRow{
				{Event: "db file sequential read", Waits: 32032, Seconds: 14},
				{Event: "log file sync", Waits: 100, Seconds: 2},
			},
		},
		"Statspack": {
			"its table has other columns and no wait class", `
Top 5 Timed Events                                                    Avg %Total
~~~~~~~~~~~~~~~~~~                                                   wait   Call
Event                                            Waits    Time (s)   (ms)   Time
----------------------------------------- ------------ ----------- ------ ------
db file sequential read                        402,262         266      1   95.8
`,
			[]runfile.AWRRow{{Event: "db file sequential read", Waits: 402262, Seconds: 266}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(strings.NewReader(strings.ReplaceAll(c.text, "\n", "\r\n")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	for _, text := range []string{"", "<html>", "Event Waits\n----- -----\nx 1\n"} {
		if rows, err := Parse(strings.NewReader(text)); !errors.Is(err, ErrNoEvents) {
			t.Errorf("%q gives %v, %v", text, rows, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Event   Waits  Time (s)\n------- ------ --------\nx       1      2\n")
	f.Fuzz(func(t *testing.T, text string) {
		var rows []runfile.AWRRow
		var err error
		memory.Bound(t, 256*len(text), func() { rows, err = Parse(strings.NewReader(text)) })
		if (err == nil) != (len(rows) > 0) {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		for _, r := range rows {
			if r.Event == "" || r.Waits < 0 || r.Seconds < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
