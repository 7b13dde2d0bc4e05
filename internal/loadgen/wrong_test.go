package loadgen

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

const wrongBlock = 4096

// wrongServer is an NFS server that acknowledges writes which it does not do as asked, or answers reads with other
// data. It knows which blocks are wrong at the end, whatever the speed of the machine.
//
// The load runs until the server has seen so many of its I/Os. It is the clock and the Sink of the run: no time passes
// before that, and then all of the window at once.
type wrongServer struct {
	memory
	faulty.Server
	write func(s *wrongServer, at place, w *v3.WriteArgs, before []byte) (bad bool) // of the load
	read  func(s *wrongServer, at place, data []byte) (bad bool)                    // of the load
	until int64                                                                     // I/Os of the load

	filling func(w *v3.WriteArgs) // sees the writes before the load

	began    time.Time
	ended    atomic.Bool // the load
	ios      atomic.Int64
	count    int64 // of writes or reads
	same     int64 // writes of sectors that held the same already
	badReads int64
	bad      map[place]bool   // by block, whether its last write was
	kept     map[place][]byte // data of write
	lost     map[place]string // data of writes whose answer was lost
	over     int64            // writes of other data over these
	call     faulty.Call      // of the present write
}

// place is a block of a file.
type place struct {
	handle string
	offset uint64
}

func (s *wrongServer) Event(e runfile.Event) {
	if e.Span == runfile.SpanVerify {
		s.ended.Store(true)
	}
}

// now is the clock of the run.
func (s *wrongServer) now() time.Time {
	if s.ios.Load() < s.until {
		return s.began
	}
	return s.began.Add(time.Hour)
}

// run makes a run of one window against the server.
func (s *wrongServer) run(t *testing.T, plan runfile.Plan) *runfile.Load {
	t.Helper()
	s.bad, s.kept, s.lost, s.began = map[place]bool{}, map[place][]byte{}, map[place]string{}, time.Now()
	s.Writing = func(c faulty.Call, w *v3.WriteArgs, before []byte) { // one at a time
		if w.Stable != v3.FileSync {
			if s.filling != nil {
				s.filling(w)
			}
			return
		}
		if bytes.Contains(w.Data, []byte(`"tool"`)) { // the marker of the files
			return
		}
		at := place{string(w.Handle), w.Offset}
		for i := 0; i+target.SectorBytes <= min(len(before), len(w.Data)); i += target.SectorBytes {
			if bytes.Equal(before[i:i+target.SectorBytes], w.Data[i:i+target.SectorBytes]) {
				s.same++
			}
		}
		if lost := s.lost[at]; lost != "" && lost != string(w.Data) {
			s.over++
		}
		if s.write != nil {
			s.count++
			s.call = c
			s.bad[at] = s.write(s, at, w, before)
		}
		s.ios.Add(1)
	}
	s.Reading = func(r v3.ReadArgs, data []byte) {
		if len(data) == 0 || len(data)%wrongBlock != 0 || s.ended.Load() || s.ios.Load() == 0 && s.read == nil {
			return
		}
		if s.read != nil {
			s.count++
			if s.read(s, place{string(r.Handle), r.Offset}, data) {
				s.badReads++
			}
		}
		s.ios.Add(1)
	}
	s.Start(t, "127.0.0.1")
	plan.Engine = runfile.Engine{
		Client: bench.ClientDirectNFS, MountTimeoutSeconds: 60, CallTimeoutSeconds: 60, Server: "wrong", Export: "/export",
		Channels: runfile.ChannelsTo("127.0.0.1"), Ports: runfile.Ports{NFS: s.Port(), Mount: s.Port()},
	}
	plan.Schedule = runfile.Schedule{DurationSeconds: 1, Repetitions: 1}
	runner, err := New(Options{
		Plan: plan, Now: s.now, Sink: s, Usage: func() (time.Duration, int64) { return 0, 0 },
		Open: func(ctx context.Context) (target.Target, error) { return OpenTarget(ctx, plan.Engine, time.Now, nil) },
	})
	if err != nil {
		t.Fatal(err)
	}
	load, err := runner.Run(t.Context())
	if err != nil || load.Verification == nil {
		t.Fatalf("%v, failure %+v", err, load.Failure)
	}
	return load
}

// wrongPlan has files of 4,096 blocks for each of 2 jobs.
func wrongPlan(pattern bench.RawPattern) runfile.Plan {
	p := testPlan(pattern)
	p.Workload.Raw.BlockSize, p.Workload.Raw.FileSize, p.Workload.Raw.Depth = bench.Bytes(wrongBlock), *bench.Bytes(4096 * wrongBlock), 8
	if strings.HasSuffix(string(pattern), "Mixed") {
		p.Workload.Raw.ReadPercent = new(int32(50))
	}
	return p
}

// every is a fault of every so many writes.
func every(n int64, fault func(s *wrongServer, at place, w *v3.WriteArgs, before []byte)) func(*wrongServer, place, *v3.WriteArgs, []byte) bool {
	return func(s *wrongServer, at place, w *v3.WriteArgs, before []byte) bool {
		if s.count%n != 0 {
			return false
		}
		fault(s, at, w, before)
		return true
	}
}

func TestAServerThatDoesNotWriteWhatItAcknowledgesIsFound(t *testing.T) {
	drop := func(_ *wrongServer, _ place, w *v3.WriteArgs, before []byte) { copy(w.Data, before) }
	tear := func(_ *wrongServer, _ place, w *v3.WriteArgs, before []byte) {
		copy(w.Data[len(w.Data)/2:], before[len(before)/2:])
	}
	misplace := func(_ *wrongServer, _ place, w *v3.WriteArgs, _ []byte) { w.Offset -= min(w.Offset, wrongBlock) }
	// An earlier write comes once more, behind a later one of the same block.
	again := func(s *wrongServer, at place, w *v3.WriteArgs, _ []byte) bool {
		earlier := s.kept[at]
		s.kept[at] = slices.Clone(w.Data)
		if earlier == nil || s.count%10 != 0 {
			return false
		}
		copy(w.Data, earlier)
		return true
	}
	lost, torn := func(f runfile.Faults) int64 { return f.Lost }, func(f runfile.Faults) int64 { return f.Torn }
	for name, tc := range map[string]struct {
		pattern bench.RawPattern
		small   bool // files, so that each block is written many times
		write   func(*wrongServer, place, *v3.WriteArgs, []byte) bool
		kind    func(runfile.Faults) int64
	}{
		"one of 10 is dropped":       {bench.PatternRandomWrite, false, every(10, drop), lost},
		"one of 100 is dropped":      {bench.PatternOverwrite, false, every(100, drop), lost},
		"one of 1000 is dropped":     {bench.PatternOverwrite, false, every(1000, drop), lost},
		"one of 1000 is torn":        {bench.PatternOverwrite, false, every(1000, tear), torn},
		"one of 100 is torn":         {bench.PatternCopy, false, every(100, tear), torn},
		"one of 100 comes elsewhere": {bench.PatternOverwrite, false, every(100, misplace), lost},
		"one of 10 is undone late":   {bench.PatternRandomWrite, true, again, lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &wrongServer{write: tc.write, until: 3000}
			plan := wrongPlan(tc.pattern)
			if tc.small {
				plan.Workload.Raw.FileSize = *bench.Bytes(64 * wrongBlock)
			}
			load := s.run(t, plan)
			var want int64
			for _, bad := range s.bad {
				if bad {
					want++
				}
			}
			v := load.Verification
			if load.Failure == nil || load.Failure.Code != runfile.FailureVerify || v.Cut || v.BlocksWritten != int64(len(s.bad)) ||
				v.WrittenBlocksChecked != v.BlocksWritten || v.WritesAcknowledged != s.count {
				t.Errorf("failure %+v, verification %+v; %d writes of %d blocks", load.Failure, v, s.count, len(s.bad))
			}
			if strings.HasSuffix(name, "elsewhere") { // the blocks that they came to are wrong, too, if they were written before
				if v.WrongBlocks.Misplaced == 0 || v.WrongBlocks.Lost+v.WrongBlocks.Misplaced < want {
					t.Errorf("%+v of %d misplaced writes were found", v.WrongBlocks, want)
				}
				return
			}
			if want == 0 || tc.kind(v.WrongBlocks) != want || v.BlocksWrong != want {
				t.Errorf("%d blocks are wrong: %+v; want %d", v.BlocksWrong, v.WrongBlocks, want)
			}
		})
	}
}

func TestWhatIsWrongIsKeptWhenReadingBackBreaksOff(t *testing.T) {
	t.Parallel()
	s := &wrongServer{until: 1000}
	s.write = every(2, func(_ *wrongServer, _ place, w *v3.WriteArgs, before []byte) { copy(w.Data, before) })
	var reads atomic.Int64
	s.Hook = faulty.On(v3.ProcRead, faulty.Fail(v3.ErrIO), func(faulty.Call) bool { return s.ended.Load() && reads.Add(1) > 100 })
	load := s.run(t, wrongPlan(bench.PatternRandomWrite))
	v := load.Verification
	if load.Failure == nil || load.Failure.Code != runfile.FailureIO || v.BlocksWrong == 0 || v.WritesAcknowledged == 0 || !v.Cut {
		t.Errorf("failure %+v, verification %+v", load.Failure, v)
	}
}

func TestAServerThatReadsWrongIsFound(t *testing.T) {
	zeros := func(s *wrongServer, _ place, data []byte) bool {
		if s.count%100 == 0 {
			clear(data)
		}
		return s.count%100 == 0
	}
	// A cache that misses invalidations gives what was there when it was read first.
	stale := func(s *wrongServer, at place, data []byte) bool {
		first := s.kept[at]
		if first == nil {
			s.kept[at] = slices.Clone(data)
			return false
		}
		bad := !bytes.Equal(first, data)
		copy(data, first)
		return bad
	}
	swapped := func(s *wrongServer, at place, data []byte) bool {
		other := place{at.handle, 0}
		if s.kept[other] == nil {
			s.kept[other] = slices.Clone(data)
			return false
		}
		bad := s.count%50 == 0 && !bytes.Equal(s.kept[other], data)
		if bad {
			copy(data, s.kept[other])
		}
		return bad
	}
	for name, tc := range map[string]struct {
		pattern bench.RawPattern
		blocks  int64
		read    func(*wrongServer, place, []byte) bool
		kind    func(runfile.Faults) int64
	}{
		"one of 100 is zeros":      {bench.PatternRandomRead, 4096, zeros, func(f runfile.Faults) int64 { return f.Lost }},
		"one of 100 is zeros, mix": {bench.PatternRandomMixed, 4096, zeros, func(f runfile.Faults) int64 { return f.Lost }},
		"a stale cache":            {bench.PatternRandomMixed, 64, stale, nil},
		"another block":            {bench.PatternRead, 4096, swapped, func(f runfile.Faults) int64 { return f.Misplaced }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &wrongServer{read: tc.read, until: 3000}
			plan := wrongPlan(tc.pattern)
			plan.Workload.Raw.FileSize = *bench.Bytes(tc.blocks * wrongBlock)
			load := s.run(t, plan)
			v := load.Verification
			if load.Failure == nil || load.Failure.Code != runfile.FailureVerify || v.BlocksWrong > 0 || s.badReads == 0 {
				t.Errorf("failure %+v, verification %+v", load.Failure, v)
			}
			if e := v.Examples[0]; !strings.Contains(e.Path, "127.0.0.1") || !strings.Contains(load.Failure.Message, e.Path) {
				t.Errorf("the first example came over %q: %s", e.Path, load.Failure.Message)
			}
			switch {
			case tc.kind != nil && (tc.kind(v.WrongReads) != s.badReads || v.ReadsWrong != s.badReads):
				t.Errorf("%d of %d wrong reads were found: %+v", v.ReadsWrong, s.badReads, v.WrongReads)
			// A read beside a write may find what was there before: not all of a stale cache is wrong.
			case tc.kind == nil && (v.WrongReads.Lost == 0 || v.WrongReads.Lost != v.ReadsWrong):
				t.Errorf("%d of %d stale reads were found: %+v", v.ReadsWrong, s.badReads, v.WrongReads)
			}
		})
	}
}

func TestACleanServerIsNeverAccusedAndSeesNoWriteTwice(t *testing.T) {
	for _, pattern := range bench.Patterns() {
		t.Run(string(pattern), func(t *testing.T) {
			t.Parallel()
			s := &wrongServer{until: 2000}
			plan := wrongPlan(pattern)
			plan.Workload.Raw.FileSize = *bench.Bytes(32 * wrongBlock)
			if !writes(plan.Workload) {
				s.read = func(*wrongServer, place, []byte) bool { return false }
			}
			load := s.run(t, plan)
			if v := load.Verification; load.Failure != nil || v.Wrong() > 0 || v.BlocksInDoubt > 0 || v.WritesSentAgain > 0 || s.same > 0 {
				t.Errorf("failure %+v, %d sectors were there already: %+v", load.Failure, s.same, v)
			}
		})
	}
}

// The server executes what it does not answer, and what is sent again once more. It might do the first late.
func TestABlockWhoseWriteWasSentAgainIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	s := &wrongServer{until: 2000}
	var mu sync.Mutex
	var calls int64
	var losing faulty.Call
	s.Hook = func(c faulty.Call) faulty.Action {
		mu.Lock()
		defer mu.Unlock()
		if c.IsWrite() && s.ios.Load() > 0 {
			if calls++; calls%500 == 0 {
				losing = c
				return faulty.Lose
			}
		}
		return faulty.Answer
	}
	s.write = func(s *wrongServer, at place, w *v3.WriteArgs, _ []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if s.call == losing {
			s.lost[at] = string(w.Data)
		}
		return false
	}
	plan := wrongPlan(bench.PatternRandomWrite)
	plan.Workload.Raw.FileSize = *bench.Bytes(128 * wrongBlock)
	load := s.run(t, plan)
	v := load.Verification
	if load.Failure != nil || v.Wrong() > 0 || v.WritesSentAgain < int64(len(s.lost)) || len(s.lost) == 0 || s.over > 0 {
		t.Errorf("failure %+v; the answers to writes of %d blocks were lost, %d writes came over them: %+v",
			load.Failure, len(s.lost), s.over, v)
	}
}

// A late duplicate of a filling write undoes what the load wrote there. The client knows that it sent it twice, so it
// accuses nobody.
func TestALateDuplicateOfTheFillIsNoLostWrite(t *testing.T) {
	t.Parallel()
	s := &wrongServer{until: 2000}
	var calls, undone int64
	seen, filled := map[place]bool{}, map[place][]byte{} // chunks; blocks of those that came twice
	s.Hook = faulty.On(v3.ProcWrite, faulty.Lose, func(faulty.Call) bool { return atomic.AddInt64(&calls, 1) == 4 })
	s.write = func(_ *wrongServer, at place, w *v3.WriteArgs, _ []byte) bool {
		if late := filled[at]; late != nil && undone == 0 {
			undone++
			copy(w.Data, late)
		}
		return false
	}
	plan := wrongPlan(bench.PatternOverwrite)
	plan.Workload.Raw.FileSize = *bench.Bytes(1024 * wrongBlock)
	s.filling = func(w *v3.WriteArgs) {
		chunk := place{string(w.Handle), w.Offset}
		for i := 0; i < len(w.Data) && seen[chunk] && len(w.Data) == 1<<20; i += wrongBlock {
			filled[place{chunk.handle, chunk.offset + uint64(i)}] = slices.Clone(w.Data[i : i+wrongBlock])
		}
		seen[chunk] = true
	}
	load := s.run(t, plan)
	if v := load.Verification; load.Failure != nil || v.Wrong() > 0 || v.BlocksInDoubt == 0 || undone == 0 {
		t.Errorf("failure %+v; %d writes were undone: %+v", load.Failure, undone, v)
	}
}
