package oracle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestALookAtACalibrationReadsAllInstances(t *testing.T) {
	a, _ := admin(t, sqltext.Release12c1, map[string][]row{
		"calibrate_sample": {{"SMALL_READ_REQS": 7, "SMALL_READ_SERVICETIME": 70.5, "LARGE_READ_REQS": 3, "LARGE_READ_SERVICETIME": 30}},
		"osstat": {
			{"INST_ID": 1, "STAT_NAME": "BUSY_TIME", "VALUE": 5},
			{"INST_ID": 2, "STAT_NAME": "BUSY_TIME", "VALUE": 6},
			{"INST_ID": 1, "STAT_NAME": "IDLE_TIME", "VALUE": 50},
			{"INST_ID": 1, "STAT_NAME": "NUM_CPUS", "VALUE": 4},
		},
	})
	got, err := a.LookAtCalibration(t.Context())
	if err != nil || got.At.IsZero() || got.small != (mean{7, 70.5}) || got.large != (mean{3, 30}) || got.busy != 11 || got.idle != 50 {
		t.Errorf("%+v, %v", got, err)
	}
}

// readUntil is a look in a second: what was counted until then.
func readUntil(second int, small, large int64) CalibrationLook {
	return CalibrationLook{
		At: boot(1).Add(time.Duration(second) * time.Second), small: mean{small, float64(small) * 300},
		large: mean{large, float64(large) * 9000}, busy: int64(second) * 100, idle: int64(second) * 300,
	}
}

func TestThePhasesOfACalibrationAreFoundByItsReads(t *testing.T) {
	// From second 1 on 1000 small reads a second; the boundary is at 3.5; then 40 large ones, until second 7. Others read a little all the time.
	looks := []CalibrationLook{
		readUntil(0, 5_000_000, 900), readUntil(1, 5_000_000, 900), readUntil(2, 5_001_000, 900), readUntil(3, 5_002_000, 901), readUntil(4, 5_002_500, 921),
		readUntil(5, 5_002_503, 961), readUntil(6, 5_002_506, 1001), readUntil(7, 5_002_510, 1041), readUntil(8, 5_002_512, 1041),
	}
	at := func(second int) time.Time { return boot(1).Add(time.Duration(second) * time.Second) }
	want := []runfile.OraclePhase{
		{Kind: "SmallReads", Start: at(1), End: at(3), Reads: 2000, ReadTime: 600_000, BusyCentiseconds: new(int64(200)), IdleCentiseconds: new(int64(600))},
		{Kind: "LargeReads", Start: at(4), End: at(7), Reads: 120, ReadTime: 1_080_000, BusyCentiseconds: new(int64(300)), IdleCentiseconds: new(int64(900))},
	}
	if diff := cmp.Diff(want, Phases(looks)); diff != "" {
		t.Error(diff)
	}
	for i := range looks {
		looks[i].busy, looks[i].idle = 0, 0
	}
	if p := Phases(looks); len(p) != 2 || p[0].BusyCentiseconds != nil || p[1].IdleCentiseconds != nil {
		t.Errorf("CPU time that is not known: %+v", p)
	}
}

func TestACalibrationWithoutAVisibleBoundaryHasNoPhases(t *testing.T) {
	for name, looks := range map[string][]CalibrationLook{
		"no look":               nil,
		"one look":              {readUntil(0, 0, 0)},
		"counted at the end":    {readUntil(0, 0, 0), readUntil(1, 0, 0), readUntil(2, 0, 0), readUntil(3, 9000, 90)},
		"small reads only":      {readUntil(0, 0, 0), readUntil(1, 900, 0), readUntil(2, 1800, 0), readUntil(3, 2700, 0)},
		"large reads only":      {readUntil(0, 0, 0), readUntil(1, 0, 90), readUntil(2, 0, 180), readUntil(3, 0, 270)},
		"both all the time":     {readUntil(0, 0, 0), readUntil(1, 900, 9), readUntil(2, 1800, 18), readUntil(3, 2700, 27), readUntil(4, 3600, 36)},
		"large, and then small": {readUntil(0, 0, 0), readUntil(1, 0, 90), readUntil(2, 0, 180), readUntil(3, 900, 180), readUntil(4, 1800, 180)},
		"a backup beside it":    {readUntil(0, 0, 0), readUntil(1, 900, 20), readUntil(2, 1800, 40), readUntil(3, 1810, 140), readUntil(4, 1820, 240)},
		"a restart":             {readUntil(0, 1000, 500), readUntil(1, 2000, 500), readUntil(2, 3000, 500), readUntil(3, 3500, 100), readUntil(4, 3500, 600), readUntil(5, 3500, 1100)},
	} {
		if got := Phases(looks); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
