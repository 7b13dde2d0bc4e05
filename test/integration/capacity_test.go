package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// withinAMillisecond asks for the capacity with two clients.
func withinAMillisecond(b *v1alpha1.NFSBenchmark) {
	b.Spec.Clients = 2
	b.Spec.Workload.Raw.Capacity = &bench.Capacity{Percentile: "p99", Milliseconds: new(int64(1))}
}

// searching creates a benchmark whose clients were released to search for a capacity.
func (w *world) searching(mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	w.Helper()
	b, pods := w.started(append([]gen.Mod{withinAMillisecond}, mods...)...)
	for i := range pods {
		w.podStatus(&pods[i], running)
		ready := at(runfile.SpanWait, 30)
		ready.Ready = true
		w.progress(b, int32(i), ready) //nolint:gosec // two
	}
	w.settle("demo")
	return b
}

// levels returns the search that the operator published.
func (w *world) levels(b *v1alpha1.NFSBenchmark) runfile.CapacitySearch {
	w.Helper()
	s, err := runfile.ReadCapacitySearch([]byte(w.results(b).Data[runfile.KeyLevels]))
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// half returns the report of one of two clients on a level, if the storage does most operations a second.
func half(l runfile.CapacityLevel, most int64) *runfile.LevelReport {
	due, slow := l.OperationsPerSecond/2, int64(0)
	done := min(due, most/2)
	if done < due {
		slow = done
	}
	each := func(n int64) []int64 { return slices.Repeat([]int64{n}, int(l.Seconds)) }
	return &runfile.LevelReport{Index: l.Index, Due: each(due), Done: each(done), Slow: [][]int64{each(slow)}}
}

// reports publishes a client's report on a level.
func (w *world) reports(b *v1alpha1.NFSBenchmark, index int32, l runfile.CapacityLevel, most int64) {
	w.Helper()
	p := at(runfile.SpanCooldown, 50)
	p.Repetition, p.Level = l.Index, half(l, most)
	w.progress(b, index, p)
}

func TestTwoClientsFindTheirCapacityTogether(t *testing.T) {
	t.Parallel()
	const most = 20_000
	w := newWorld(t)
	b := w.searching(gen.Repetitions(2))
	var rounds [2][]runfile.CapacityLevel
	for n := int32(1); ; n++ {
		s := w.levels(b)
		last := s.Levels[len(s.Levels)-1]
		if s.Ended {
			rounds[1] = s.Levels
			break
		}
		if last.Index != n || last.Outcome != nil {
			t.Fatalf("after %d levels the clients are told to measure %+v", n-1, last)
		}
		if len(s.Levels) != int(n) || last.Round > 1 && s.Levels[0].Outcome != nil {
			t.Errorf("%d levels at level %d, the first is %+v", len(s.Levels), n, s.Levels[0])
		}
		if last.Round == 1 {
			rounds[0] = s.Levels
		}
		w.reports(b, n%2, last, most) // the faster one
		w.settle("demo")
		if got := w.levels(b).Levels; got[len(got)-1].Index != n {
			t.Fatalf("level %d begins before both clients have measured the one before", n+1)
		}
		if n%3 == 0 {
			w.restart()
		}
		w.reports(b, (n+1)%2, last, most)
		if res, err := w.pass("demo"); err != nil || res.RequeueAfter > time.Second {
			t.Fatalf("the next pass comes after %s (%v), and the clients wait for it", res.RequeueAfter, err)
		}
		w.step(time.Second)
	}
	levels := slices.Concat(rounds[0], rounds[1][len(rounds[0]):])
	for i := range int32(2) {
		w.final(b, clientOf(w, b, i, levels, most))
	}
	b = w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded, "IOPS within a p99 of 1 ms")
	if len(b.Status.Capacity) != 1 || len(b.Status.Curve) < 5 {
		t.Fatalf("capacity %+v, %d points of the curve", b.Status.Capacity, len(b.Status.Curve))
	}
	q := b.Status.Capacity[0]
	if !q.Reached || q.OperationsPerSecond < most*95/100 || q.OperationsPerSecond > most*105/100 || *b.Status.Summary.IOPS != q.OperationsPerSecond {
		t.Errorf("the status has %+v and %d IOPS, where the storage does %d", q, *b.Status.Summary.IOPS, most)
	}
}

// clientOf returns the result of one of two clients that measured these levels.
func clientOf(w *world, b *v1alpha1.NFSBenchmark, index int32, levels []runfile.CapacityLevel, most int64) runfile.ClientResult {
	w.Helper()
	c := gen.Client(w, w.plan(b), index, w.clock.Now())
	like := c.Load.Repetitions[0]
	c.Load.Repetitions = nil
	for _, l := range levels {
		r := like
		r.Index, r.Start, r.End = l.Index, like.End, like.End.Add(time.Duration(l.Seconds)*time.Second)
		r.Step = &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: l.OperationsPerSecond, Round: l.Round}
		r.Level = half(l, most)
		ops := *like.Read
		ops.Count = 0
		for _, n := range r.Level.Done {
			ops.Count += n
		}
		ops.Bytes = ops.Count * w.plan(b).Workload.Raw.BlockBytes()
		r.Read, like = &ops, r
		c.Load.Repetitions = append(c.Load.Repetitions, r)
	}
	return c
}

func TestAClientThatDoesNotReportALevelIsNamedWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.searching()
	w.reports(b, 0, w.levels(b).Levels[0], 1000)
	w.step(time.Minute)
	w.settle("demo")
	for i := range int32(2) {
		w.final(b, gen.FailedClient(i, runfile.FailureTimeout, "the run took longer than schedule.timeoutSeconds allows"))
	}
	p := at(runfile.SpanDone, 100)
	p.Final, p.Failed, p.Level = true, true, half(w.levels(b).Levels[0], 1000)
	w.progress(b, 0, p)
	w.wantFailed(runfile.FailureTimeout, "timeoutSeconds", "level 1 of", "was not reported by client 1")
}

func TestASearchWhoseLevelsAreDamagedEnds(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Gone": "", "NoJSON": "{", "TooFast": `{"levels":[{"index":1,"round":1,"operationsPerSecond":99999999999,"seconds":5}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.searching()
			cm := w.results(b)
			cm.Data[runfile.KeyLevels] = text
			if err := w.c.Update(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
			w.wantFailed(runfile.FailureInternal, `key "levels"`, "create a new NFSBenchmark")
		})
	}
}
