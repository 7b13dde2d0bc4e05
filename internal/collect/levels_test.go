package collect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// searchOf makes a plan search with two clients for the capacity at one bound.
func searchOf(o *RunOptions) {
	o.Plan.Workload.Raw = &bench.RawWorkload{Capacity: gen.CapacityWithin(bench.ArrivalsPoisson, runfile.LatencyBound{Percentile: "p99", Microseconds: 1000})}
}

// levels returns a search that has reached level n.
func levels(t *testing.T, n int32, ended bool) []byte {
	t.Helper()
	s := runfile.CapacitySearch{Ended: ended}
	for i := range n {
		l := runfile.CapacityLevel{Index: i + 1, Round: 1, OperationsPerSecond: 1000, Seconds: 5}
		if i < n-1 || ended {
			l.Outcome = &runfile.CapacityOutcome{}
		}
		s.Levels = append(s.Levels, l)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// level returns the level that the loader received last; 0 before the first.
func (r *rig) level() int32 {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, runfile.LevelsFile))
	if err != nil {
		return 0
	}
	s, err := runfile.ReadCapacitySearch(text)
	if err != nil {
		r.t.Fatal(err)
	}
	return lastLevel(s)
}

func (r *rig) reports(n int32) {
	r.t.Helper()
	load := runfile.Load{Partial: true}
	for i := range n {
		load.Repetitions = append(load.Repetitions, runfile.Repetition{
			Index: i + 1, Level: &runfile.LevelReport{Index: i + 1, Due: []int64{9}, Done: []int64{9}, Slow: [][]int64{{1}}},
		})
	}
	r.load(load)
}

func reported(n int32) func(publish.Update) bool {
	return func(u publish.Update) bool {
		return u.Progress != nil && u.Progress.Level != nil && u.Progress.Level.Index == n
	}
}

func TestClientsOfASearchGoFromLevelToLevelBySignal(t *testing.T) {
	t.Parallel()
	r := startRig(t, t.TempDir(), 2, searchOf)
	r.event(runfile.Event{Span: runfile.SpanWait})
	r.recorder.set(func(rec *recorder) { rec.released, rec.levels = true, levels(t, 1, false) })
	waitFor(t, "the release", func() bool { return exists(r.dir, runfile.ReleaseFile) })
	if r.level() != 1 {
		t.Fatal("the loader may start, and has no level")
	}
	r.event(runfile.Event{Span: runfile.SpanMeasure, Repetition: 1})
	asked := r.recorder.asked
	r.samples(20)
	r.recorder.set(func(rec *recorder) {
		if rec.asked != asked {
			t.Errorf("asked %d times for the next level in the window of the present one", rec.asked-asked)
		}
	})
	r.reports(1)
	waitFor(t, "the report", r.recorder.any(reported(1)))
	r.recorder.set(func(rec *recorder) { rec.levels = levels(t, 2, false) })
	waitFor(t, "the second level", func() bool { return r.level() == 2 })
	r.reports(2)
	waitFor(t, "the second report", r.recorder.any(reported(2)))
	r.recorder.set(func(rec *recorder) { rec.levels = levels(t, 2, true) })
	waitFor(t, "the end of the search", func() bool {
		text, err := os.ReadFile(filepath.Join(r.dir, runfile.LevelsFile))
		return err == nil && strings.Contains(string(text), `"ended":true`)
	})
}

func TestACollectorThatStartsAgainPassesOnTheLevels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := touch(dir, ReadyFile); err != nil {
		t.Fatal(err)
	}
	loaderStub{t, dir}.event(runfile.Event{Span: runfile.SpanMeasure, Repetition: 3})
	r := startRig(t, dir, 2, searchOf)
	r.reports(3)
	r.recorder.set(func(rec *recorder) { rec.released, rec.levels = true, levels(t, 4, false) })
	waitFor(t, "the level that the loader waits for", func() bool { return r.level() == 4 })
}

func TestDamagedLevelsReleaseNobody(t *testing.T) {
	t.Parallel()
	r := startRig(t, t.TempDir(), 2, searchOf)
	r.event(runfile.Event{Span: runfile.SpanWait})
	r.recorder.set(func(rec *recorder) {
		rec.released, rec.levels = true, []byte(`{"levels":[{"index":1,"operationsPerSecond":-5}]}`)
	})
	waitFor(t, "some questions", func() (enough bool) {
		r.recorder.set(func(rec *recorder) { enough = rec.asked > 5 })
		return enough
	})
	if exists(r.dir, runfile.ReleaseFile) || r.level() != 0 {
		t.Error("the loader starts a load that cannot be")
	}
}
