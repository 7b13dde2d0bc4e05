package loadgen

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

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

	began time.Time
	ended atomic.Bool // the load
	ios   atomic.Int64
	reads int64
	seen  faulty.Seen
	bad   map[place]bool   // by block, whether its last write was
	kept  map[place][]byte // data of an earlier write or read
	lost  map[place]string // data of writes whose answer was lost
	over  int64            // writes of other data over these
	call  faulty.Call      // of the present write
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
				s.seen.Same++
			}
		}
		if lost := s.lost[at]; lost != "" && lost != string(w.Data) {
			s.over++
		}
		s.seen.Writes++
		s.call = c
		s.bad[at] = s.write != nil && s.write(s, at, w, before)
		s.ios.Add(1)
	}
	s.Reading = func(r v3.ReadArgs, data []byte) {
		if len(data) == 0 || len(data)%faulty.WrongBlock != 0 || s.ended.Load() || s.ios.Load() == 0 && s.read == nil {
			return
		}
		if s.read != nil {
			s.reads++
			if s.read(s, place{string(r.Handle), r.Offset}, data) {
				s.seen.BadReads++
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
	return faulty.WrongData{Pattern: pattern, Blocks: 4096}.Plan(testPlan(pattern))
}

// drop is a fault of every so many writes.
func drop(every int64) func(*wrongServer, place, *v3.WriteArgs, []byte) bool {
	return func(s *wrongServer, _ place, w *v3.WriteArgs, before []byte) bool {
		hit := s.seen.Writes%every == 0
		if hit {
			copy(w.Data, before)
		}
		return hit
	}
}

// writesWrong is what the server of a try does to a write.
func writesWrong(try faulty.WrongData) func(*wrongServer, place, *v3.WriteArgs, []byte) bool {
	if try.Wrong == faulty.DropWrite {
		return drop(try.Every)
	}
	return func(s *wrongServer, at place, w *v3.WriteArgs, before []byte) bool {
		hit := s.seen.Writes%try.Every == 0
		if try.Wrong == faulty.MisplaceWrite {
			hit = hit && w.Offset > 0
		}
		earlier := s.kept[at]
		if try.Wrong == faulty.UndoWrite {
			s.kept[at] = slices.Clone(w.Data)
			hit = hit && earlier != nil
		}
		switch {
		case !hit:
		case try.Wrong == faulty.TearWrite:
			copy(w.Data[len(w.Data)/2:], before[len(before)/2:])
		case try.Wrong == faulty.MisplaceWrite:
			w.Offset -= faulty.WrongBlock
		case try.Wrong == faulty.UndoWrite:
			copy(w.Data, earlier)
		}
		return hit
	}
}

// readsWrong is what the server of a try does to the data of a read.
func readsWrong(try faulty.WrongData) func(*wrongServer, place, []byte) bool {
	return func(s *wrongServer, at place, data []byte) bool {
		hit := s.reads%try.Every == 0
		switch {
		case try.Wrong == faulty.ReadZeros && hit:
			clear(data)
			return true
		case try.Wrong == faulty.ReadDamage && hit:
			for i := 0; i < len(data); i += target.SectorBytes {
				data[i] ^= 0xff
			}
			return true
		case try.Wrong == faulty.ReadZeros, try.Wrong == faulty.ReadDamage:
			return false
		}
		if try.Wrong == faulty.ReadOther {
			at.offset = 0
		}
		first := s.kept[at]
		if first == nil {
			s.kept[at] = slices.Clone(data)
			return false
		}
		if hit = hit && !bytes.Equal(first, data); hit {
			copy(data, first)
		}
		return hit
	}
}

// hack/generate.sh writes the table.
func TestAServerThatIsWrongAboutItsDataIsFound(t *testing.T) {
	tries := faulty.AllWrongData()
	for _, try := range tries {
		t.Run(try.Name, func(t *testing.T) {
			t.Parallel()
			s := &wrongServer{until: 3000}
			if try.Reads() {
				s.read = readsWrong(try)
			} else {
				s.write = writesWrong(try)
			}
			load := s.run(t, try.Plan(testPlan(try.Pattern)))
			s.seen.Blocks = int64(len(s.bad))
			for _, bad := range s.bad {
				if bad {
					s.seen.BadBlocks++
				}
			}
			try.Check(t, load, s.seen)
		})
	}
	const docs = "../../docs/faults.md"
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)(^\| fault \| load \| what the run finds \|\n.*\n)(?:\|.*\n)*`)
	golden.Compare(t, docs, table.ReplaceAll(text, []byte("${1}"+faulty.WrongDataRows(tries))))
}

func TestWhatIsWrongIsKeptWhenReadingBackBreaksOff(t *testing.T) {
	t.Parallel()
	s := &wrongServer{until: 1000}
	s.write = drop(2)
	var reads atomic.Int64
	s.Hook = faulty.On(v3.ProcRead, faulty.Fail(v3.ErrIO), func(faulty.Call) bool { return s.ended.Load() && reads.Add(1) > 100 })
	load := s.run(t, wrongPlan(bench.PatternRandomWrite))
	v := load.Verification
	if load.Failure == nil || load.Failure.Code != runfile.FailureIO || v.BlocksWrong == 0 || v.WritesAcknowledged == 0 || !v.Cut {
		t.Errorf("failure %+v, verification %+v", load.Failure, v)
	}
}

func TestACleanServerIsNeverAccusedAndSeesNoWriteTwice(t *testing.T) {
	for _, pattern := range bench.Patterns() {
		t.Run(string(pattern), func(t *testing.T) {
			t.Parallel()
			s := &wrongServer{until: 2000}
			plan := wrongPlan(pattern)
			plan.Workload.Raw.FileSize = *bench.Bytes(32 * faulty.WrongBlock)
			if !plan.Files().Writes {
				s.read = func(*wrongServer, place, []byte) bool { return false }
			}
			load := s.run(t, plan)
			if v := load.Verification; load.Failure != nil || v.Wrong() > 0 || v.BlocksInDoubt > 0 || v.WritesSentAgain > 0 || s.seen.Same > 0 {
				t.Errorf("failure %+v, %d sectors were there already: %+v", load.Failure, s.seen.Same, v)
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
	plan.Workload.Raw.FileSize = *bench.Bytes(128 * faulty.WrongBlock)
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
	plan.Workload.Raw.FileSize = *bench.Bytes(1024 * faulty.WrongBlock)
	s.filling = func(w *v3.WriteArgs) {
		chunk := place{string(w.Handle), w.Offset}
		for i := 0; i < len(w.Data) && seen[chunk] && len(w.Data) == 1<<20; i += faulty.WrongBlock {
			filled[place{chunk.handle, chunk.offset + uint64(i)}] = slices.Clone(w.Data[i : i+faulty.WrongBlock])
		}
		seen[chunk] = true
	}
	load := s.run(t, plan)
	if v := load.Verification; load.Failure != nil || v.Wrong() > 0 || v.BlocksInDoubt == 0 || undone == 0 {
		t.Errorf("failure %+v; %d writes were undone: %+v", load.Failure, undone, v)
	}
}
