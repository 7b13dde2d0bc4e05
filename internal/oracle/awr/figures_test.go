package awr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheReportTellsWhichMarkGroupsDigits(t *testing.T) {
	type rows []runfile.AWRRow
	const fix = "NLS_NUMERIC_CHARACTERS = '.,'"
	for name, c := range map[string]struct {
		text string
		want rows
		says []string
	}{
		"a point in waits groups": {
			line("x", "718.204", "55", ""), rows{{Event: "x", Waits: 718204, Seconds: 55, SecondsRounding: .5}}, nil,
		},
		"two points in waits": {
			line("x", "2.718.204", "55", ""), rows{{Event: "x", Waits: 2718204, Seconds: 55, SecondsRounding: .5}}, nil,
		},
		"then a point in seconds groups, too": {
			line("x", "64", "1.208", "") + line("y", "718.204", "55", ""),
			rows{{Event: "x", Waits: 64, Seconds: 1208, SecondsRounding: .5}, {Event: "y", Waits: 718204, Seconds: 55, SecondsRounding: .5}},
			nil,
		},
		"a comma in seconds begins a fraction": {
			line("x", "718", "1.255,5", ""), rows{{Event: "x", Waits: 718, Seconds: 1255.5, SecondsRounding: .05}}, nil,
		},
		"a comma in short forms": {
			line("x", "7,2M", "5,1K", ""),
			rows{{Event: "x", Waits: 7_200_000, WaitsRounding: 50_000, Seconds: 5100, SecondsRounding: 50}},
			nil,
		},
		"a comma in an average": {
			line("x", "500", "0", "250,00us"), rows{{Event: "x", Waits: 500, Seconds: .125, SecondsRounding: 2.5e-6}}, nil,
		},
		"an average tells what a point in seconds is": {
			line("x", "500", "1.250", "2,50s"), rows{{Event: "x", Waits: 500, Seconds: 1250, SecondsRounding: .5}}, nil,
		},
		"and that a point begins a fraction": {
			line("x", "500", "1.250", "2.50ms"), rows{{Event: "x", Waits: 500, Seconds: 1.25, SecondsRounding: 5e-4}}, nil,
		},
		"a comma groups": {
			line("x", "64", "1,208", ""), rows{{Event: "x", Waits: 64, Seconds: 1208, SecondsRounding: .5}}, nil,
		},
		"an average without a unit": {
			line("x", "64", "2", "0.4"), rows{{Event: "x", Waits: 64, Seconds: 2, SecondsRounding: .5}}, nil,
		},
		"a fraction that is empty": {
			line("x", "64", "183.", "") + line("y", "2.", ".4", "5.ms"),
			rows{{Event: "x", Waits: 64, Seconds: 183, SecondsRounding: .5}, {Event: "y", Waits: 2, Seconds: .01, SecondsRounding: .001}},
			nil,
		},
		"a point alone":                {line("x", "64", ".", ""), nil, []string{"line 6", `"." seconds`, fix}},
		"nothing tells":                {line("y", "4", "1", "") + line("x", "64", "1.208", ""), nil, []string{"line 7", `"1.208" seconds`, fix}},
		"nor an average":               {line("x", "64", "2", "1.208us"), nil, []string{"line 6", `"1.208us" on average`, fix}},
		"both marks group":             {line("x", "718.204", "1", "") + line("y", "64,000", "1", ""), nil, []string{"line 6", fix}},
		"both marks begin fractions":   {line("x", "7.2M", "1", "") + line("y", "64", "0,4", ""), nil, []string{"line 7", fix}},
		"an average of the other kind": {line("x", "718.204", "55", "76.58us"), nil, []string{"line 6", fix}},
		"a fraction of a wait":         {line("x", "718.2", "55", ""), nil, []string{"line 6", `"718.2" waits`, fix}},
		"groups of two digits":         {line("x", "71.82.04", "55", ""), nil, []string{"line 6", fix}},
		"an apostrophe":                {line("x", "718'204", "55", ""), nil, []string{"line 6", `"718'204" waits`, fix}},
		"a blank":                      {line("x", "718 204", "55", ""), nil, []string{"line 6", `"718 204" waits`, fix}},
	} {
		got, err := Parse(strings.NewReader(titles + c.text + end))
		if diff := cmp.Diff(c.want, rows(got), cmpopts.EquateApprox(1e-9, 0)); diff != "" || (err == nil) != (c.says == nil) {
			t.Errorf("%s: %v %s", name, err, diff)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v does not say %s", name, err, says)
			}
		}
	}
}

// The tables of one report round differently, and cut the name of an event at 30 and at 26 columns.
func TestWhatIsExactBeatsWhatIsRounded(t *testing.T) {
	const name = "resmgr: queued for a very long time"
	top := func(waits, seconds, average string) string {
		return "Top 10 Foreground Events by Total Wait Time\n" +
			"                                           Total Wait       Avg\n" +
			"Event                                Waits Time (sec)      Wait\n" +
			"------------------------------ ----------- ---------- ---------\n" +
			fmt.Sprintf("%-30.30s %11s %10s %9s\n\n", name, waits, seconds, average)
	}
	all := func(waits, seconds, average string) string {
		return titles + line(name[:26], waits, seconds, average) + end
	}
	for why, c := range map[string]struct {
		top, all string
		want     runfile.AWRRow
	}{
		"waits and seconds": {
			top("3.4M", "12.3K", ""), all("3,391,822", "12,288", ""),
			runfile.AWRRow{Waits: 3_391_822, Seconds: 12_288, SecondsRounding: .5},
		},
		"each by itself": {
			top("3.4M", "12,288.4", ""), all("3,391,822", "12.3K", ""),
			runfile.AWRRow{Waits: 3_391_822, Seconds: 12_288.4, SecondsRounding: .05},
		},
		"waits that are cut, not rounded": {
			top("3.3M", "12.3K", ""), all("3,391,822", "12,288", ""),
			runfile.AWRRow{Waits: 3_391_822, Seconds: 12_288, SecondsRounding: .5},
		},
		"the average of one with the waits of the other": {
			top("1.2K", "0", "250.00us"), all("1,204", "0", ""),
			runfile.AWRRow{Waits: 1204, Seconds: .301, SecondsRounding: 1204 * 5e-9},
		},
	} {
		c.want.Event = name[:30]
		for order, text := range []string{c.top + c.all, c.all + c.top} {
			got, err := Parse(strings.NewReader(text))
			if diff := cmp.Diff([]runfile.AWRRow{c.want}, got, cmpopts.EquateApprox(1e-9, 0)); err != nil || diff != "" {
				t.Errorf("%s, order %d: %v %s", why, order, err, diff)
			}
		}
	}
}

// A total from an average is as far off as the waits are.
func TestATotalOfRoundedWaitsIsRounded(t *testing.T) {
	got, err := Parse(strings.NewReader(titles + line("x", "1.2K", "0", "2.00ms") + end))
	want := []runfile.AWRRow{{Event: "x", Waits: 1200, WaitsRounding: 50, Seconds: 2.4, SecondsRounding: 1200*5e-6 + 50*2e-3}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestAnEventThatIsCutBehindABlankIsOne(t *testing.T) {
	text := strings.ReplaceAll(layouts["19c"], "library cache lock that is lon", "enq: ZZ - some long words more")
	text = strings.ReplaceAll(text, "library cache lock that is", "enq: ZZ - some long words ")
	got, err := Parse(strings.NewReader(text))
	if err != nil || len(got) != 3 || got[1].Event != "enq: ZZ - some long words more" {
		t.Errorf("%v %+v", err, got)
	}
}
