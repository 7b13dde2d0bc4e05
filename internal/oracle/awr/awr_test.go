package awr

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// printedOnly leaves out the roundings; TestAReportSaysHowFarItRounds has them.
var printedOnly = cmpopts.IgnoreFields(runfile.AWRRow{}, "WaitsRounding", "SecondsRounding")

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
			if diff := cmp.Diff(c.want, got, printedOnly); diff != "" {
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

const (
	titles = "\nForeground Wait Events\n" +
		"                                       %Time Total Wait       Avg    Waits   % DB\n" +
		"Event                            Waits -outs   Time (s)      wait     /txn   time\n" +
		"-------------------------- ----------- ----- ---------- --------- -------- ------\n"
	end = "          -------------------------------------------------------------\n"
)

func line(event, waits, seconds, average string) string {
	return fmt.Sprintf("%-26s %11s %5s %10s %9s %8s %6s\n", event, waits, "0", seconds, average, "1.0", "2.0")
}

func TestNoRowIsLostBelowAHeading(t *testing.T) {
	read, scan := line("db file sequential read", "2,000", "4", ""), line("direct path read", "300", "7", "")
	both := []runfile.AWRRow{{Event: "db file sequential read", Waits: 2000, Seconds: 4}, {Event: "direct path read", Waits: 300, Seconds: 7}}
	for name, c := range map[string]struct {
		text string
		want []runfile.AWRRow
		says string
	}{
		"a page":                          {titles + read + "\nOUTPUT\n" + scan + end, both, ""},
		"a page with a line":              {titles + read + "\n\nOUTPUT\n" + strings.Repeat("-", 80) + "\n" + scan + end, both, ""},
		"a blank line":                    {titles + read + "\n" + scan + end, both, ""},
		"a form feed":                     {titles + read + "\f\n" + scan + end, both, ""},
		"a page behind titles":            {titles + "\nOUTPUT\n" + read + scan + end, both, ""},
		"a form feed and a page":          {titles + read + "\fOUTPUT\n" + strings.Repeat("-", 80) + "\n" + scan + end, both, ""},
		"a form feed behind a blank line": {titles + read + "\n\fOUTPUT\n" + strings.Repeat("-", 80) + "\n" + scan + end, both, ""},
		"a form feed before a row":        {titles + read + "\f" + scan + end, both, ""},
		"an indented page":                {titles + read + "\n  OUTPUT\n" + strings.Repeat("-", 80) + "\n" + scan + end, both, ""},
		"a page in small letters":         {titles + read + "\noutput\n" + strings.Repeat("-", 80) + "\n" + scan + end, both, ""},
		"a page behind a blank line":      {titles + read + "\nOUTPUT\n" + strings.Repeat("-", 80) + "\n\n" + scan + end, both, ""},
		"another alias": {
			titles + read + "\nTEXT\n" + strings.Repeat("-", 80) + "\n" + scan + end, nil, "line 10: the table of wait events goes on here",
		},
		"another alias without a blank line": {titles + read + "\fTEXT\n" + strings.Repeat("-", 80) + "\n" + scan + end, nil, "goes on here"},
		"a page with a date": {
			titles + read + "\nThu Nov 26                                page    2\n\nOUTPUT\n" + strings.Repeat("-", 80) + "\n" + scan + end,
			nil, "SET PAGESIZE 0",
		},
		"a date alone": {titles + read + "\n\fThu Nov 26   page 2\n\n\n" + scan + end, nil, "goes on here"},
		"another table behind one without an end": {
			titles + read + scan + "\nWait Classes\n-------------------------- ----------- ----- ----------\n" + line("User I/O", "9", "9", "") + end, both, "",
		},
		"no waits":                        {titles + line("DB CPU", "", "9", "") + read + scan, both, ""},
		"text behind the table":           {titles + read + scan + "\nHost CPU (CPUs:    8 Cores:    4)\n", both, ""},
		"text below the table":            {titles + read + scan + "Host CPU (CPUs:    8 Cores:    4 Sockets:    1)\n", both, ""},
		"waits too wide":                  {titles + read + line("log file sync", "###########", "3", ""), nil, `line 7: event "log file sync" has "###########" waits`},
		"seconds too wide":                {titles + line("log file sync", "12", "##########", ""), nil, `"##########" seconds`},
		"no number":                       {titles + line("log file sync", "1,2", "3", ""), nil, `"1,2" waits`},
		"no seconds":                      {titles + line("log file sync", "12", "", ""), nil, `"" seconds`},
		"a row out of its columns":        {titles + read + line("log file sync", "12345678901234", "2", "") + scan + end, nil, "line 7: a row of wait events is not below"},
		"the last row out of its columns": {titles + read + line("log file sync", "12345678901234", "2", "") + "\n", nil, "line 7: a row of wait events is not below"},
		"a wide row behind a page":        {titles + read + "\nOUTPUT\n" + line("log file sync", "##############", "2", "") + scan + end, nil, "is not below the titles"},
		"numbers of another table":        {titles + read + scan + "\nInstance Activity Stats\nredo size                   1234567   99\n", both, ""},
		"a name that is cut": {
			titles + line("enq: XY - a very long cont", "50", "6", "") + end +
				titles + line("enq: XY - a very long cont", "50", "6.2", "") + end,
			[]runfile.AWRRow{{Event: "enq: XY - a very long cont", Waits: 50, Seconds: 6.2}},
			"",
		},
		"an average with a unit": {
			titles + line("db file sequential read", "400", "0", "250.00us") + line("direct path read", "200", "1", "4 ms") + line("log file sync", "3", "6", "2.00s") + end,
			[]runfile.AWRRow{
				{Event: "db file sequential read", Waits: 400, Seconds: 0.1},
				{Event: "direct path read", Waits: 200, Seconds: 0.8},
				{Event: "log file sync", Waits: 3, Seconds: 6},
			},
			"",
		},
	} {
		got, err := Parse(strings.NewReader(c.text))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range got {
			got[i].Seconds = math.Round(got[i].Seconds*1e9) / 1e9
		}
		if diff := cmp.Diff(c.want, got, printedOnly); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAReportSaysHowFarItRounds(t *testing.T) {
	for name, c := range map[string]struct {
		row  string
		want runfile.AWRRow
	}{
		"whole seconds":          {line("x", "700", "1", ""), runfile.AWRRow{Waits: 700, Seconds: 1, SecondsRounding: .5}},
		"tenths":                 {line("x", "700", "1.0", ""), runfile.AWRRow{Waits: 700, Seconds: 1, SecondsRounding: .05}},
		"short forms":            {line("x", "1.2M", "12.3K", ""), runfile.AWRRow{Waits: 1_200_000, WaitsRounding: 50_000, Seconds: 12_300, SecondsRounding: 50}},
		"an average":             {line("x", "500", "0", "250.00us"), runfile.AWRRow{Waits: 500, Seconds: .125, SecondsRounding: 2.5e-6}},
		"seconds are as precise": {line("x", "500", "90", "180ms"), runfile.AWRRow{Waits: 500, Seconds: 90, SecondsRounding: .5}},
	} {
		got, err := Parse(strings.NewReader(titles + c.row + end))
		c.want.Event = "x"
		if diff := cmp.Diff([]runfile.AWRRow{c.want}, got, cmpopts.EquateApprox(1e-9, 0)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Tables of one report cut the name of an event at 30 and at 26 columns.
func TestAnEventWhoseNameIsCutIsOne(t *testing.T) {
	top := "Top 10 Foreground Events by Total Wait Time\n" +
		"                                           Total Wait\n" +
		"Event                                Waits Time (sec)\n" +
		"------------------------------ ----------- ----------\n" +
		fmt.Sprintf("%-30s %11s %10s\n\n", "enq: XY - a very long contenti", "50", "6.3")
	other := titles + line("enq: XY - a very long cont", "50", "6", "") + end
	want := []runfile.AWRRow{{Event: "enq: XY - a very long contenti", Waits: 50, Seconds: 6.3}}
	for _, text := range []string{top + other, other + top} {
		got, err := Parse(strings.NewReader(text))
		if diff := cmp.Diff(want, got, printedOnly); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// A table has each event once, so two rows with one cut name are two events. Another table may have them again.
func TestTwoEventsWithOneCutNameAreTwo(t *testing.T) {
	few, many := line("enq: XY - a very long cont", "50", "6", ""), line("enq: XY - a very long cont", "700", "9", "")
	want := []runfile.AWRRow{{Event: "enq: XY - a very long cont", Waits: 50, Seconds: 6}, {Event: "enq: XY - a very long cont", Waits: 700, Seconds: 9}}
	for _, text := range []string{titles + few + many + end, titles + few + end + titles + many + end, titles + few + many + end + titles + many + few + end} {
		got, err := Parse(strings.NewReader(text))
		if diff := cmp.Diff(want, got, printedOnly); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	same := titles + few + few + end
	if got, err := Parse(strings.NewReader(same)); err != nil || len(got) != 2 {
		t.Errorf("%v %+v, want two rows of one table", err, got)
	}
}
