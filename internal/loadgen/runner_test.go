package loadgen

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// memory is a sink that keeps what it hears.
type memory struct {
	events []runfile.Event
	loads  int
	last   runfile.Load
	onSave func(*runfile.Load)
}

func (m *memory) Event(e runfile.Event) { m.events = append(m.events, e) }

func (m *memory) Load(l *runfile.Load) error {
	m.loads++
	m.last = *l
	if m.onSave != nil {
		m.onSave(l)
	}
	return nil
}

// stateful is a target whose server counts one recovery each time that it is asked.
type stateful struct {
	*targettest.Memory
	asked atomic.Int64
}

func (s *stateful) Servers() []runfile.NFSServer {
	n := s.asked.Add(1)
	return []runfile.NFSServer{{ID: 1, Role: bench.PathMetadata, NFSVersion: string(bench.NFSv41), Recoveries: n}}
}

func TestServersOfTheMountAndOfEachWindowAreInTheLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tgt := &stateful{Memory: &targettest.Memory{Delay: time.Millisecond}}
		load, _ := runMem(t.Context(), t, testPlan(bench.PatternRead), tgt.Memory, func(o *Options) {
			o.Open = func(context.Context) (target.Target, error) { return tgt, nil }
		})
		if load.Failure != nil || len(load.Mount.Servers) != 1 || load.Mount.Servers[0].Recoveries != 1 {
			t.Fatalf("failure %+v, servers of the mount %+v", load.Failure, load.Mount.Servers)
		}
		for _, rep := range load.Repetitions {
			if len(rep.Servers) != 1 || rep.Servers[0].Recoveries < 1 || rep.Servers[0].Recoveries >= tgt.asked.Load() {
				t.Errorf("repetition %d: %+v is no difference", rep.Index, rep.Servers)
			}
		}
	})
}

func testPlan(pattern bench.RawPattern) runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: 42, Run: runfile.Identity{Name: "test"},
		Engine: runfile.Engine{Client: bench.ClientKernel, MountPath: "/test"},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: pattern, BlockSize: bench.Bytes(4096), FileSize: *bench.Bytes(64 * 4096), Jobs: 2, Depth: 3, Directory: "nfsbench",
		}},
		Schedule: runfile.Schedule{BaselineSeconds: 2, WarmupSeconds: 3, DurationSeconds: 10, CooldownSeconds: 1, Repetitions: 2},
	}
}

// runMem runs a plan on a target in memory. Inside a synctest bubble it takes
// no time.
func runMem(ctx context.Context, t *testing.T, plan runfile.Plan, tgt *targettest.Memory, change ...func(*Options)) (*runfile.Load, *memory) {
	t.Helper()
	sink := &memory{}
	start := time.Now()
	opt := Options{
		Plan: plan, Now: time.Now, Sink: sink,
		Open:  func(context.Context) (target.Target, error) { return tgt, nil },
		Usage: func() (time.Duration, int64) { return time.Since(start) / 2, 1 << 20 },
	}
	for _, c := range change {
		c(&opt)
	}
	r, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	load, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return load, sink
}

// runFunc is runMem or runStreams.
type runFunc func(context.Context, *testing.T, runfile.Plan, *targettest.Memory, ...func(*Options)) (*runfile.Load, *memory)

// runStreams is runMem with two threads for each stream, instead of one for each slot.
func runStreams(ctx context.Context, t *testing.T, plan runfile.Plan, tgt *targettest.Memory, change ...func(*Options)) (*runfile.Load, *memory) {
	t.Helper()
	tgt.ThreadCount = 2
	return runMem(ctx, t, plan, tgt, change...)
}

// bubble is where a test runs without waiting taking time.
type bubble struct {
	*testing.T
	run runFunc
}

// eachWay runs a test once with a thread for each slot and once with a few threads.
func eachWay(t *testing.T, test func(bubble)) {
	t.Helper()
	for name, run := range map[string]runFunc{"a thread for each slot": runMem, "two threads": runStreams} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(bubble{t, run}) })
		})
	}
}

func TestAReadRunGoesThroughItsSpansAndCountsExactlyTheWindow(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		tgt := &targettest.Memory{Delay: 50 * time.Millisecond}
		load, sink := t.run(t.Context(), t.T, testPlan(bench.PatternRead), tgt)
		if load.Failure != nil || load.Partial {
			t.Fatalf("failure %+v, partial %v", load.Failure, load.Partial)
		}
		var spans []string
		for _, s := range load.Spans {
			spans = append(spans, s.Kind)
			if s.End.IsZero() {
				t.Errorf("span %s has no end", s.Kind)
			}
		}
		want := strings.Fields("Connect Fill Baseline Warmup Measure Cooldown Baseline Warmup Measure Verify Clean Done")
		if diff := cmp.Diff(want, spans); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		if len(load.Repetitions) != 2 {
			t.Fatalf("%d repetitions", len(load.Repetitions))
		}
		for _, rep := range load.Repetitions {
			// 2 jobs x depth 3, one I/O each 50 ms, those that end in [3 s, 13 s).
			if rep.Read == nil || rep.Read.Count != 6*200 || rep.Read.Bytes != 6*200*4096 || rep.Write != nil {
				t.Errorf("repetition %d read %+v, wrote %+v; want 1200 reads", rep.Index, rep.Read, rep.Write)
			}
			if got := rep.End.Sub(rep.Start); got != 10*time.Second {
				t.Errorf("the window took %v", got)
			}
			if rep.CPUMicroseconds != 5_000_000 {
				t.Errorf("%d us of CPU in a window of 10 s at one half", rep.CPUMicroseconds)
			}
			if rep.FirstDoneNanoseconds != int64(9950*time.Millisecond) || rep.LastDoneNanoseconds != rep.FirstDoneNanoseconds {
				t.Errorf("jobs ended their window after %d and %d ns", rep.FirstDoneNanoseconds, rep.LastDoneNanoseconds)
			}
		}
		h, err := stats.DecodeHistogram(load.Repetitions[0].Read.Histogram)
		if err != nil || h.Percentile(50) < 50_000 || h.Percentile(99) > 50_050 {
			t.Errorf("latencies %+v, %v; want 50 ms", h.Latency(), err)
		}
		checkSamples(t.T, load)
		if last := sink.events[len(sink.events)-1]; last.Percent != 100 || last.Span != runfile.SpanDone {
			t.Errorf("the last event is %+v", last)
		}
		if load.Verification == nil || load.Verification.BlocksChecked != 2*64 || load.Verification.BlocksWrong != 0 {
			t.Errorf("verification %+v; want all 128 blocks, none wrong", load.Verification)
		}
		if _, err := tgt.Directory(t.Context(), "nfsbench", false); !target.IsNotExist(err) {
			t.Errorf("the directory is still there (%v)", err)
		}
	})
}

func checkSamples(t *testing.T, load *runfile.Load) {
	t.Helper()
	var warmup, measure int
	var ops int64
	for _, s := range load.Samples {
		switch s.Span {
		case runfile.SpanWarmup:
			warmup++
		case runfile.SpanMeasure:
			measure++
			ops += s.Read.Count
		default:
			t.Errorf("a sample of span %s", s.Span)
		}
	}
	if warmup != 2*3 || measure != 2*10 {
		t.Errorf("%d samples of warm-up and %d of the windows; want 6 and 20", warmup, measure)
	}
	if ops < 2_380 || ops > 2_420 {
		t.Errorf("the samples of the windows have %d reads, the windows 2400", ops)
	}
}

func TestProgressNeverGoesBackAndKnowsTheTimeLeft(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		_, sink := t.run(t.Context(), t.T, testPlan(bench.PatternRead), &targettest.Memory{Delay: 300 * time.Millisecond})
		var before int32
		for _, e := range sink.events {
			if e.Percent < before {
				t.Errorf("progress went back from %d to %d in %s", before, e.Percent, e.Span)
			}
			before = e.Percent
			if e.Span == runfile.SpanMeasure && e.Repetition == 2 && (e.ETASeconds == nil || *e.ETASeconds > 10) {
				t.Errorf("time left in the last window: %v", e.ETASeconds)
			}
			if e.Percent == 100 && e.Span != runfile.SpanDone {
				t.Errorf("100 %% in %s", e.Span)
			}
		}
	})
}

func TestOverwritesAndCopiesAreVerifiedInPlace(t *testing.T) {
	t.Parallel()
	for _, pattern := range []bench.RawPattern{bench.PatternOverwrite, bench.PatternRandomWrite, bench.PatternCopy} {
		t.Run(string(pattern), func(t *testing.T) {
			eachWay(t, func(t bubble) {
				plan := testPlan(pattern)
				plan.Keep = true
				plan.Schedule = runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 2, Repetitions: 2}
				tgt := &targettest.Memory{Delay: 40 * time.Millisecond}
				for again := range 2 {
					load, _ := t.run(t.Context(), t.T, plan, tgt)
					if load.Failure != nil {
						t.Fatalf("run %d: %+v", again, load.Failure)
					}
					if load.Verification.BlocksChecked < 128 || load.Verification.BlocksWrong != 0 {
						t.Errorf("run %d: verification %+v", again, load.Verification)
					}
					rep := load.Repetitions[0]
					if rep.Write == nil || rep.Write.Count == 0 || (rep.Read != nil) != (pattern == bench.PatternCopy) {
						t.Errorf("run %d: reads %+v, writes %+v", again, rep.Read, rep.Write)
					}
					if reused := load.FilledBytes == 0; reused != (again == 1) {
						t.Errorf("run %d filled %d bytes", again, load.FilledBytes)
					}
				}
				assertSizes(t.T, tgt, plan)
			})
		})
	}
}

func assertSizes(t *testing.T, tgt *targettest.Memory, plan runfile.Plan) {
	t.Helper()
	dir, err := tgt.Directory(t.Context(), "nfsbench", false)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := dir.List(t.Context())
	for _, name := range names {
		f, _ := dir.Open(t.Context(), name, target.OpenOptions{})
		size, _ := f.Size(t.Context())
		if strings.HasSuffix(name, ".dat") && size != plan.Workload.Raw.FileSize.Value() {
			t.Errorf("%s has %d bytes: overwriting grew or cut it", name, size)
		}
	}
}

func TestALostOverwriteIsFound(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		var writes atomic.Int64
		tgt := &targettest.Memory{Delay: 8 * time.Millisecond}
		tgt.LoseWrite = func(name string, off int64) bool {
			return name == "c0-j1.dat" && off == 8192 && writes.Add(1) > 3
		}
		plan := testPlan(bench.PatternOverwrite)
		plan.Schedule = runfile.Schedule{DurationSeconds: 2, Repetitions: 1}
		load, _ := t.run(t.Context(), t.T, plan, tgt)
		if load.Failure == nil || load.Failure.Code != runfile.FailureVerify {
			t.Fatalf("failure %+v, want %s", load.Failure, runfile.FailureVerify)
		}
		for _, part := range []string{"1 of 128 blocks", "c0-j1.dat", "offset 8192", "older write"} {
			if !strings.Contains(load.Failure.Message, part) {
				t.Errorf("the message lacks %q: %s", part, load.Failure.Message)
			}
		}
		if !load.Partial || load.Verification.BlocksWrong != 1 {
			t.Errorf("partial %v, verification %+v", load.Partial, load.Verification)
		}
	})
}

func TestTheStateIsSavedEveryFiveSecondsWithTheWindowSoFar(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		start := time.Now()
		seen := map[time.Duration]int64{}
		sink := &memory{}
		sink.onSave = func(l *runfile.Load) {
			if n := len(l.Repetitions); n > 0 && l.Partial {
				seen[time.Since(start).Round(time.Second)] = l.Repetitions[n-1].Read.Count
			}
		}
		plan := testPlan(bench.PatternRead)
		t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 10 * time.Millisecond}, func(o *Options) { o.Sink = sink })
		if sink.loads < 6 {
			t.Errorf("saved %d times in 31 s", sink.loads)
		}
		if len(seen) == 0 {
			t.Error("no partial state has a repetition")
		}
		for at, count := range seen {
			if count <= 0 {
				t.Errorf("the state after %v has %d reads", at, count)
			}
		}
	})
}

func TestSeveralClientsWaitForEachOther(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRead)
		plan.Clients = 2
		start := time.Now()
		load, sink := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 20 * time.Millisecond}, func(o *Options) {
			o.Client = 1
			o.Release = func(ctx context.Context) error {
				timer := time.NewTimer(20 * time.Second)
				select {
				case <-timer.C:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		})
		if load.Failure != nil {
			t.Fatalf("failure %+v", load.Failure)
		}
		if first := load.Repetitions[0].Start.Sub(start); first < 25*time.Second {
			t.Errorf("the window began %v after the start, before the others were ready", first)
		}
		waited := false
		for _, e := range sink.events {
			waited = waited || e.Span == runfile.SpanWait
		}
		if !waited {
			t.Error("nobody was told about the waiting")
		}
	})
}

// A file with fewer blocks than writers has a write of each block in flight, and the others wait.
func TestAFileWithFewBlocksIsWrittenByAsManyWriters(t *testing.T) {
	t.Parallel()
	const writers, each = 6, 10 * time.Millisecond
	for _, pattern := range bench.Patterns() {
		plan := shortPlan(pattern)
		raw := plan.Workload.Raw
		raw.Jobs, raw.Depth = 1, writers
		if pattern == bench.PatternMixed || pattern == bench.PatternRandomMixed {
			raw.ReadPercent = new(int32(1))
		}
		if !plan.Files().Writes {
			continue
		}
		for _, blocks := range []int64{1, writers - 1, 2*writers - 1} {
			for _, perSecond := range []int64{0, 50} {
				raw.FileSize, raw.OperationsPerSecond = *bench.Bytes(blocks * raw.BlockBytes()), nil
				if perSecond > 0 {
					raw.OperationsPerSecond = new(perSecond)
				}
				t.Run(fmt.Sprintf("%s/%d blocks/%d a second", pattern, blocks, perSecond), func(t *testing.T) {
					eachWay(t, func(t bubble) {
						load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: each})
						v := load.Verification
						if load.Failure != nil || v.Wrong() > 0 || v.BlocksWritten != blocks {
							t.Fatalf("failure %+v, verification %+v", load.Failure, v)
						}
						most := min(blocks, writers) * int64(time.Second/each)
						if pattern == bench.PatternCopy { // a read before each write
							most /= 2
						}
						least := most * 3 / 4 // a writer that finds no block looks again soon
						if perSecond > 0 {
							most = min(most, perSecond)
							least = most * 3 / 4
						}
						if got := load.Repetitions[0].Write.Count; got < least || got > most {
							t.Errorf("%d writes, want %d to %d", got, least, most)
						}
					})
				})
			}
		}
	}
}
