package oracle_test

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// A requested fault also appears in the counters.
func TestFaultsChangeWhatIsCounted(t *testing.T) {
	t.Parallel()
	const rows, range1, range2 = 600, 101, 164
	for name, c := range map[string]struct {
		faults standin.Faults
		times  int
		want   func(d map[string]int64) bool
	}{
		"a cache that holds nothing": {standin.Faults{Uncached: 100}, 2, func(d map[string]int64) bool {
			return d["physical reads"] == 128 && d["db file sequential read"] == 128 && d["db file parallel read"] == 0
		}},
		"nothing": {times: 2, want: func(d map[string]int64) bool {
			return d["physical reads"] == 64 && d["session logical reads"] == 128 // the buffer cache holds what was read
		}},
		"a buffer cache that holds half": {standin.Faults{Uncached: 50}, 2, func(d map[string]int64) bool {
			return d["physical reads"] > 64 && d["physical reads"] < 128
		}},
		"batches, whatever the statement says": {standin.Faults{Batches: 100}, 1, func(d map[string]int64) bool {
			return d["physical reads"] == 64 && d["db file sequential read"] == 1 && d["db file parallel read"] == 1
		}},
		"a job that reads as much": {standin.Faults{ForeignReads: 100, Uncached: 100}, 4, func(d map[string]int64) bool {
			return d["physical reads"] > 256
		}},
		"waits beside the I/O": {standin.Faults{Waits: []standin.Waiting{{Event: "latch free", Class: "Other", Percent: 50}}}, 3, func(d map[string]int64) bool {
			return d["waits of class Other"] == 3
		}},
		"processor time": {standin.Faults{BlockCPU: time.Millisecond}, 2, func(d map[string]int64) bool {
			return d["DB CPU"] == 128_000
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Faults: c.faults}})
			s := newSchema(t, w, rows)
			root := sysdba(t, w)
			before := counters(t, root)
			for range c.times {
				if r := query(t, s.user, "slob_random_read", range1, range2); r[0]["FOUND"] != int64(64) {
					t.Errorf("found %v rows of 64", r[0]["FOUND"])
				}
			}
			after := counters(t, root)
			for n := range after {
				after[n] -= before[n]
			}
			for _, r := range query(t, root, "foreground_waits") {
				after["waits of class "+r["WAIT_CLASS"].(string)] += r["TOTAL_WAITS_FG"].(int64)
			}
			if !c.want(after) {
				t.Errorf("counted %v", after)
			}
		})
	}
}

func TestSessionsThatFallBackReadThroughTheMount(t *testing.T) {
	t.Parallel()
	for percent, want := range map[int]int64{0: 0, 100: 64 * 8192} {
		w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Faults: standin.Faults{KernelSessions: percent}}})
		s := newSchema(t, w, 600)
		before, _ := w.Instance().KernelBytes()
		query(t, s.user, "slob_random_read", 101, 164)
		if after, _ := w.Instance().KernelBytes(); after-before != want {
			t.Errorf("%d %%: %d bytes went through the mount, want %d", percent, after-before, want)
		}
	}
}

func TestViewsMaySayAPartOfTheTime(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{
		Faults: standin.Faults{ServiceTimes: 10, Instances: []string{"FREE1", "FREE2"}},
		Disk:   func(int) time.Duration { return 2 * time.Millisecond },
	}})
	s := newSchema(t, w, 600)
	query(t, s.user, "slob_random_read", 101, 164)
	root := sysdba(t, w)
	said := int64(0)
	for _, r := range query(t, root, "iostat_file") {
		said += r["SMALL_READ_SERVICETIME"].(int64)
	}
	for _, r := range query(t, root, "system_event") {
		if r["EVENT"] == "db file sequential read" && said*5 > r["TIME_WAITED_MICRO"].(int64) {
			t.Errorf("files say %d us, and the waits are %v us", said, r["TIME_WAITED_MICRO"])
		}
	}
	if n := len(query(t, root, "instances")); n != 2 {
		t.Errorf("%d instances", n)
	}
}

func TestAScanThroughTheCacheReadsWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{Faults: standin.Faults{BufferedScans: true, Uncached: 50}}})
	s := newSchema(t, w, 600)
	s.user.SetMaxOpenConns(1)
	if _, err := s.user.ExecContext(t.Context(), sqltext.Text("slob_direct_read_always")); err != nil {
		t.Fatal(err)
	}
	root := sysdba(t, w)
	query(t, s.user, "slob_full_scan")
	before := counters(t, root)
	if rows := query(t, s.user, "slob_full_scan"); rows[0]["FOUND"] != int64(600) {
		t.Errorf("found %v rows of 600", rows[0]["FOUND"])
	}
	after := counters(t, root)
	read := delta(before, after, "physical read total bytes")
	if read == 0 || read >= 600*8192 || delta(before, after, "direct path read") != 0 || delta(before, after, "db file scattered read") == 0 {
		t.Errorf("%d bytes were read, %d past the cache", read, delta(before, after, "direct path read"))
	}
}
