package faults

import (
	"context"
	"encoding/binary"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// The words of struct control in hack/lab/wrong-data.c.
const (
	controlRun = 8 * iota
	controlFault
	controlEvery
	controlBlock
	controlIOs
	controlWrites
	controlSame
	controlBlocks
	controlBadBlocks
	controlBadReads
	controlBytes
)

// wrongGanesha is NFS-Ganesha with a library between it and its file system that is wrong about the data. It is
// the clock and the Sink of a run: all of the window passes when the library has seen so many I/Os.
type wrongGanesha struct {
	ganesha.Array
	control []byte // shared with the library
	run     uint64
	until   uint64
	began   time.Time
}

// startWrong starts it until the end of the test.
func startWrong(t *testing.T) *wrongGanesha {
	t.Helper()
	a := ganesha.Start(t, "wrong", []string{"10.245.7.0/24", "10.245.8.0/24"}, "--wrong-data")
	f, err := os.OpenFile(a.WrongData, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	control, err := syscall.Mmap(int(f.Fd()), 0, controlBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(control) })
	return &wrongGanesha{Array: a, control: control}
}

func (w *wrongGanesha) word(at int) uint64 { return binary.NativeEndian.Uint64(w.control[at:]) }

func (w *wrongGanesha) set(at int, value uint64) {
	binary.NativeEndian.PutUint64(w.control[at:], value)
}

func (w *wrongGanesha) now() time.Time {
	if w.word(controlIOs) < w.until {
		return w.began
	}
	return w.began.Add(time.Hour)
}

// Event implements loadgen.Sink. What is read back after the window is not changed.
func (w *wrongGanesha) Event(e runfile.Event) {
	if e.Span == runfile.SpanVerify {
		w.set(controlRun, 0)
	}
}

// Load implements loadgen.Sink.
func (w *wrongGanesha) Load(*runfile.Load) error { return nil }

// load makes a run against the server while that does what the try says, and returns what each saw.
func (w *wrongGanesha) load(t *testing.T, version bench.NFSVersion, try faulty.WrongData, until uint64) (*runfile.Load, faulty.Seen) {
	t.Helper()
	clear(w.control)
	w.set(controlFault, uint64(try.Wrong))
	w.set(controlEvery, uint64(max(try.Every, 1)))
	w.set(controlBlock, faulty.WrongBlock)
	w.run++
	w.until, w.began = until, time.Now()
	w.set(controlRun, w.run)
	p := try.Plan(plan(site{paths: w.LIFs, export: w.Export}, 1))
	p.Engine.NFSVersion, p.Workload.Raw.Verify = version, bench.VerifyWritten
	runner, err := loadgen.New(loadgen.Options{
		Plan: p, Now: w.now, Sink: w, Usage: func() (time.Duration, int64) { return 0, 0 },
		Open: func(ctx context.Context) (target.Target, error) {
			return loadgen.OpenTarget(ctx, p.Engine, time.Now, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	load, err := runner.Run(ctx)
	if err != nil || load.Verification == nil {
		t.Fatalf("%v, failure %+v", err, load.Failure)
	}
	return load, faulty.Seen{
		Writes: int64(w.word(controlWrites)), Same: int64(w.word(controlSame)), Blocks: int64(w.word(controlBlocks)),
		BadBlocks: int64(w.word(controlBadBlocks)), BadReads: int64(w.word(controlBadReads)),
	}
}

// everyVersion are the versions of NFS that one server is tried with.
func everyVersion() []bench.NFSVersion {
	return []bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41}
}

func TestGaneshaThatIsWrongAboutItsDataIsFound(t *testing.T) {
	w := startWrong(t)
	for _, version := range everyVersion() {
		for _, try := range faulty.AllWrongData() {
			t.Run(string(version)+"/"+try.Name, func(t *testing.T) {
				load, seen := w.load(t, version, try, 3000)
				t.Logf("%+v: %+v", seen, load.Verification)
				try.Check(t, load, seen)
			})
		}
	}
}

func TestGaneshaIsNeverAccused(t *testing.T) {
	w := startWrong(t)
	for _, version := range everyVersion() {
		for _, pattern := range bench.Patterns() {
			t.Run(string(version)+"/"+string(pattern), func(t *testing.T) {
				load, seen := w.load(t, version, faulty.WrongData{Pattern: pattern, Blocks: 32}, 2000)
				v := load.Verification
				if load.Failure != nil || v.Wrong() > 0 || v.BlocksInDoubt > 0 || v.WritesAcknowledged != seen.Writes || seen.Same > 0 {
					t.Errorf("failure %+v, verification %+v; the server %+v", load.Failure, v, seen)
				}
			})
		}
	}
}
