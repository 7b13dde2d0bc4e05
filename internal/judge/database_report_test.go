package judge

import (
	"regexp"
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

func findingSays(j Judgement, code Code, severity bench.Severity, pattern string) bool {
	return slices.ContainsFunc(j.Findings, func(f bench.Finding) bool {
		return f.Code == code && f.Severity == severity && regexp.MustCompile(pattern).MatchString(f.Message)
	})
}

func reported(row runfile.AWRRow, instances int, events ...runfile.OracleEvent) runfile.Result {
	r := experiments.Kit("DNFS")
	l := &r.Clients[0].Load
	l.Oracle.Instances = make([]runfile.OracleInstance, instances)
	row.Event = measure.EventSequentialRead
	for i := range l.Repetitions {
		l.Repetitions[i].Oracle.AWR, l.Repetitions[i].Oracle.Events = []runfile.AWRRow{row}, events
	}
	return r
}

func TestAReportOfOtherWaitsIsAFinding(t *testing.T) {
	t.Parallel()
	read := func(waits int64) runfile.OracleEvent {
		return runfile.OracleEvent{Name: measure.EventSequentialRead, Waits: waits, Microseconds: 2000 * waits}
	}
	for name, c := range map[string]struct {
		r    runfile.Result
		says string // empty: nothing
	}{
		"one instance of two": {reported(runfile.AWRRow{Waits: 40_000, Seconds: 20}, 2, read(90_000)), `40000 waits for db file sequential read, and V\$SYSTEM_EVENT 90000 over 2 instances: it covers one instance, which its head names, or another time; awr_rac\.txt .* is not read\.`},
		"another time":        {reported(runfile.AWRRow{Waits: 90_000, Seconds: 20}, 1, read(40_000)), `and V\$SYSTEM_EVENT 40000: it covers another time`},
		"the same":            {reported(runfile.AWRRow{Waits: 39_000, Seconds: 20}, 2, read(40_000)), ""},
		"the same, rounded":   {reported(runfile.AWRRow{Waits: 1_200_000, WaitsRounding: 50_000, Seconds: 20}, 1, read(1_130_000)), ""},
		"rounded, and other":  {reported(runfile.AWRRow{Waits: 1_200_000, WaitsRounding: 50_000, Seconds: 20}, 1, read(1_050_000)), `1200000 waits .* V\$SYSTEM_EVENT 1050000: it covers another time`},
		"a few waits":         {reported(runfile.AWRRow{Waits: 20, Seconds: 1}, 1, read(90)), ""},
		"the report alone":    {reported(runfile.AWRRow{Waits: 40_000, Seconds: 20, SecondsRounding: .5}, 1), ""},
	} {
		j := Judge(c.r)
		if c.says == "" && hasFinding(j, ReportDiffers, "") || c.says != "" && !findingSays(j, ReportDiffers, bench.SeverityWarning, c.says) {
			t.Errorf("%s: %+v", name, j.Findings)
		}
	}
}

// 700 waits in a second that is rounded take 0.7 to 2.1 ms.
func TestACoarseReportGivesNoLatency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  runfile.AWRRow
		says string
	}{
		{runfile.AWRRow{Waits: 700, Seconds: 1, SecondsRounding: .5}, `700 waits .* between 714 µs and 2\.14 ms`},
		{runfile.AWRRow{Waits: 800, Seconds: 0, SecondsRounding: .5}, `800 waits .* less than 625 µs`},
		{runfile.AWRRow{Waits: 200, Seconds: 0, SecondsRounding: .5}, `200 waits .* less than 2\.50 ms`},
	} {
		j := Judge(reported(c.row, 1))
		if j.Summary.Total.Latency != nil || !findingSays(j, ReportDiffers, bench.SeverityInfo, c.says) {
			t.Errorf("%+v %+v", j.Summary.Total.Latency, j.Findings)
		}
		exact := Judge(reported(c.row, 1, runfile.OracleEvent{Name: measure.EventSequentialRead, Waits: c.row.Waits, Microseconds: 500 * c.row.Waits}))
		if l := exact.Summary.Total.Latency; l == nil || l.MeanMicroseconds != 500 || hasFinding(exact, ReportDiffers, "") {
			t.Errorf("%+v %+v", l, exact.Findings)
		}
	}
}
