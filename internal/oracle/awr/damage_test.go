package awr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// layouts are whole reports of releases, as far as their wait events go.
//
//nolint:dupword // titles of columns
var layouts = map[string]string{
	"11.2": `
Top 5 Timed Foreground Events
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                                           Avg
                                                          wait   % DB
Event                                 Waits     Time(s)   (ms)   time Wait Class
------------------------------ ------------ ----------- ------ ------ ----------
db file sequential read             611,903         402      1   91.3 User I/O
DB CPU                                               31           7.0
direct path write temp                   84           7     83    1.6 User I/O
Host CPU (CPUs:    8 Cores:    4 Sockets:    1)
~~~~~~~~         Load Average
               Begin       End     %User   %System      %WIO     %Idle
           --------- --------- --------- --------- --------- ---------
                0.31      1.42      10.0       3.0      40.0      87.0

Foreground Wait Events                      DB/Inst: NB/nb1  Snaps: 11-12
-> s  - second, ms - millisecond
-> ordered by wait time desc, waits desc (idle events last)

                                                             Avg
                                        %Time Total Wait    wait    Waits   % DB
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
db file sequential read         611,903     0        402       1     99.0   91.3
direct path write temp               84     0          7      83      0.1    1.6
control file sequential re        1,020     0          0       0      1.0     .1
          -------------------------------------------------------------

Background Wait Events                      DB/Inst: NB/nb1  Snaps: 11-12
                                                             Avg
                                        %Time Total Wait    wait    Waits   % bg
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
log file parallel write         700,111     0        120       0     99.0   60.0
          -------------------------------------------------------------

Wait Event Histogram                        DB/Inst: NB/nb1  Snaps: 11-12
                                                    % of Waits
                                 -----------------------------------------------
                           Total
Event                      Waits  <1ms  <2ms  <4ms  <8ms <16ms <32ms  <=1s   >1s
-------------------------- ----- ----- ----- ----- ----- ----- ----- ----- -----
db file sequential read    611.9  90.0  10.0
          -------------------------------------------------------------
`,
	"19c": `
Top 10 Foreground Events by Total Wait Time
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                           Total Wait       Avg   % DB Wait
Event                                Waits Time (sec)      Wait   time Class
------------------------------ ----------- ---------- --------- ------ --------
db file sequential read              12.3M       8.1K  658.54us   91.3 User I/O
DB CPU                                          312.8              3.5
library cache lock that is lon         731        4.6    6.25ms     .1 Concurre

Wait Classes by Total Wait Time
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                                        Avg             Avg
                                        Total Wait     Wait   % DB   Active
Wait Class                  Waits       Time (sec)     Time   time Sessions
---------------- ---------------- ---------------- -------- ------ --------
User I/O               12,345,700            8,130 658.54us   91.3      2.3

Foreground Wait Events                     DB/Inst: NB/nb1  Snaps: 11-12

                                                Total
                                       %Time     Wait              Waits   % DB
Event                            Waits -outs Time (s)  Avg wait     /txn   time
-------------------------- ----------- ----- -------- --------- -------- ------
db file sequential read     12,345,678          8,130  658.54us     99.0   91.3
library cache lock that is         731              5    6.25ms      0.1     .1
read by other session               29              0  730.11us      0.1     .0
                          ------------------------------------------------------
`,
	"Statspack": `
Top 5 Timed Events                                                    Avg %Total
~~~~~~~~~~~~~~~~~~                                                   wait   Call
Event                                            Waits    Time (s)   (ms)   Time
----------------------------------------- ------------ ----------- ------ ------
db file sequential read                        611,903         402      1   91.3
CPU time                                                        31           7.0
          -------------------------------------------------------------
` + "\f" + `Foreground Wait Events  DB/Inst: NB/nb1  Snaps: 11-12
-> Only events with wait times >= .001 are shown

                                                                    Avg          %Total
                                          %Tim Total Wait   wait    Waits   Call
Event                               Waits  out   Time (s)   (ms)     /txn   Time
---------------------------- ------------ ---- ---------- ------ -------- ------
db file sequential read           611,903    0        402      1     99.0   91.3
direct path write temp                 84    0          7     83      0.1    1.6
          -------------------------------------------------------------
`,
}

// same checks that a damaged report gives the rows of the whole one, or an error with the line and what to do.
func same(t *testing.T, what, whole, damaged string) (refused bool) {
	t.Helper()
	want, err := Parse(strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(strings.NewReader(damaged))
	if err != nil {
		if !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "make the report anew") {
			t.Errorf("%s: %v", what, err)
		}
		return true
	}
	exact := cmpopts.EquateApprox(1e-9, 0)
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Errorf("%s: %s\n%s", what, diff, damaged)
	}
	return false
}

// between puts text before each line of a report.
func between(t *testing.T, whole, text string, check func(at, damaged string)) {
	t.Helper()
	lines := strings.SplitAfter(whole, "\n")
	for i, line := range lines {
		check(fmt.Sprintf("before %q", line), strings.Join(lines[:i], "")+text+strings.Join(lines[i:], ""))
	}
}

var underline = strings.Repeat("-", 80) + "\n"

func TestAPageMayBeginAtEachLine(t *testing.T) {
	for layout, whole := range layouts {
		for name, text := range map[string]string{
			"a blank line":                  "\n",
			"a form feed":                   "\f",
			"a form feed on a line":         "\f\n",
			"blank lines":                   "\n\r\n   \n",
			"a title":                       "\nOUTPUT\n" + underline,
			"a form feed and a title":       "\fOUTPUT\n" + underline + "\n",
			"a title without hyphens":       "\n\nOUTPUT\n\n",
			"a number":                      "Page: 2\n",
			"a number at the right":         "\f" + strings.Repeat(" ", 60) + "PAGE  17\n\n",
			"a number, a title and hyphens": "Page 2\n\nOUTPUT\n\n" + underline,
		} {
			between(t, whole, text, func(at, damaged string) {
				if same(t, layout+", "+name+" "+at, whole, damaged) {
					t.Errorf("%s, %s %s is refused", layout, name, at)
				}
			})
		}
	}
}

func TestWhatElseStandsBetweenLinesLosesNoRow(t *testing.T) {
	for layout, whole := range layouts {
		for name, text := range map[string]string{
			"a date":            "\nThu Nov 26                                page    2\n\n",
			"a title":           "\f" + strings.Repeat(" ", 30) + "Report of the night\n\n",
			"an alias":          "\nTEXT\n" + underline,
			"a message":         "ORA-00028: your session has been killed\n",
			"a long message":    "ORA-01555: snapshot too old: rollback segment number 9 with name \"_SYSSMU9$\" too small\n",
			"one of SQL*Plus":   "SP2-0734: unknown command\n",
			"one at the right":  strings.Repeat(" ", 34) + "SP2-0734: unknown command\n",
			"part of a name":    "contention\n",
			"numbers":           "        99        9.1\n",
			"a wait class":      "User I/O\n",
			"hyphens of a page": underline,
		} {
			refused := 0
			between(t, whole, text, func(at, damaged string) {
				if same(t, layout+", "+name+" "+at, whole, damaged) {
					refused++
				}
			})
			if refused == 0 && name != "hyphens of a page" {
				t.Errorf("%s, %s is refused nowhere", layout, name)
			}
		}
	}
}

// wrapped is a text as with SET LINESIZE, by columns or by words.
func wrapped(text string, width int, words bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for len(line) > width {
			at := width
			if blank := strings.LastIndex(line[:width+1], " "); words && blank > 0 {
				at = blank
			}
			b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
			if line = line[at:]; words {
				line = strings.TrimLeft(line, " ")
			}
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func TestAWrappedLineLosesNoRow(t *testing.T) {
	for layout, whole := range layouts {
		lines := strings.SplitAfter(whole, "\n")
		for _, words := range []bool{false, true} {
			for width := 4; width < 80; width++ {
				at := fmt.Sprintf("%s at %d, words %v", layout, width, words)
				refused := same(t, at, whole, wrapped(whole, width, words))
				if !refused && width < 70 {
					t.Errorf("%s is read", at)
				}
				for i, line := range lines {
					if width < 40 || width%3 != 0 || len(line) <= width {
						continue
					}
					damaged := strings.Join(lines[:i], "") + wrapped(line, width, words) + strings.Join(lines[i+1:], "")
					same(t, fmt.Sprintf("%s, %q", at, line), whole, damaged)
				}
			}
		}
	}
}

func TestWhatIsWrongInATableIsTold(t *testing.T) {
	whole := layouts["11.2"]
	const last = "control file sequential re        1,020     0          0       0      1.0     .1\n"
	for name, c := range map[string]struct{ old, new, says string }{
		"a message behind the last row": {
			last, last + "ORA-03113: end-of-file on communication channel\n", "line 28: a message of Oracle stands in the table",
		},
		"a message of another program": {
			last, last + "RMAN-06009: using a file of the database\n", "line 28: a message of Oracle stands in the table",
		},
		"a message between titles and hyphens": {
			"time Wait Class\n", "time Wait Class\nSP2-0734: unknown command\n", "line 8: the titles of wait events are not above",
		},
		"a row that ends in its seconds": {
			last, "control file sequential re        1,020     0        1\n1       0      1.0     .1\n",
			`line 27: the row of event "control file sequential re" ends in the middle of a column: make the report anew with SET PAGESIZE 0`,
		},
		"the rest of the last row": {last, "control file sequential re\n 1,020     0          0       0      1.0     .1\n", "line 28: a row"},
		"hyphens that are wrapped": {
			" ------- -------- ------\ndb file sequential read         611,903     0", "\n ------- -------- ------\ndb file sequential read         611,903     0",
			"line 25: the hyphens below the titles of wait events are wrapped",
		},
	} {
		damaged := strings.Replace(whole, c.old, c.new, 1)
		if damaged == whole {
			t.Fatalf("%s: nothing is replaced", name)
		}
		if _, err := Parse(strings.NewReader(damaged)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	read, rest := line("db file sequential read", "2,000", "4", ""), "         300     0          7               1.0    2.0\n"
	for name, text := range map[string]string{
		"a torn row is the first":            titles + "direct path read\n" + rest + end,
		"a torn row stands below a page end": titles + read + "\n" + read + "direct path read\n" + rest + end,
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "a row of wait events is not below") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNoRowIsNoError(t *testing.T) {
	read := line("db file sequential read", "2,000", "4", "")
	for name, text := range map[string]string{
		"a table without a row":           titles + end + titles + read + end,
		"a row behind the end of a table": titles + read + end + line("redo size", "9", "9", ""),
		"a message behind it":             titles + read + end + "ORA-03113: end-of-file on communication channel\n",
		"a number of another section":     titles + read + "\nCache Sizes\nBuffer Cache:                4,096M\n",
		"the next section at once":        titles + read + "Host CPU (CPUs:    8 Cores:    4 Sockets:    1)\n",
		"its numbers":                     titles + read + "\nHost CPU\n~~~~~~~~\n     0.31      1.42      10.0\n",
		"Event in other titles":           titles + read + end + "\nEvent                         % Event\n----------------------------- -------\nx 1\n",
	} {
		got, err := Parse(strings.NewReader(text))
		want := []runfile.AWRRow{{Event: "db file sequential read", Waits: 2000, Seconds: 4, SecondsRounding: .5}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// SQL*Plus writes tabs where its SET TAB is ON.
func TestTabsAreBlanks(t *testing.T) {
	for layout, whole := range layouts {
		var tabbed strings.Builder
		for text := range strings.Lines(whole) {
			for len(text) > 8 {
				part := text[:8]
				if blank := strings.TrimRight(part, " "); len(blank) < 7 {
					part = blank + "\t"
				}
				tabbed.WriteString(part)
				text = text[8:]
			}
			tabbed.WriteString(text)
		}
		if same(t, layout, whole, tabbed.String()) {
			t.Errorf("%s with tabs is refused", layout)
		}
	}
}
