package fileset

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

const (
	blockSize = 4096
	size      = 40 * blockSize
)

// never is over.
func never() bool { return false }

func testSpec(change ...func(*Spec)) Spec {
	s := Spec{Directory: "d", Jobs: 2, FileSizeBytes: size, BlockSizeBytes: blockSize, Seed: 7}
	for _, c := range change {
		c(&s)
	}
	return s
}

// filled prepares and fills, and returns how many bytes were filled.
func filled(t *testing.T, tgt target.Target, spec Spec) (*Set, int64) {
	t.Helper()
	s, err := Prepare(t.Context(), tgt, spec)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	done := make(chan int64, 1024)
	if err := s.Fill(t.Context(), func(b int64) { done <- b }); err != nil {
		t.Fatal(err)
	}
	close(done)
	for b := range done {
		n += b
	}
	return s, n
}

func list(t *testing.T, tgt target.Target) []string {
	t.Helper()
	d, err := tgt.Directory(t.Context(), "d", false)
	if err != nil {
		t.Fatal(err)
	}
	names, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func put(t *testing.T, tgt target.Target, name, text string) {
	t.Helper()
	d, err := tgt.Directory(t.Context(), "d", true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Open(t.Context(), name, target.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if text == "" {
		return
	}
	arena, err := target.NewArena(1, target.SectorBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arena.Release() }()
	copy(arena.Buffer(0), text)
	if err := f.WriteAt(t.Context(), arena.Buffer(0), 0); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyWhatIsMissingIsFilled(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Spec)
		spoil  func(*testing.T, target.Target)
		want   int64
	}{
		"nothing changed":  {"a second run uses the files of the first", func(*Spec) {}, nil, 0},
		"other block size": {"the content does not depend on the block size", func(s *Spec) { s.BlockSizeBytes = 512 }, nil, 0},
		"other seed":       {"another seed is other data", func(s *Spec) { s.Seed = 8 }, nil, 2 * size},
		"other size":       {"another size is another file", func(s *Spec) { s.FileSizeBytes = size / 2 }, nil, size},
		"one more job":     {"its file is missing", func(s *Spec) { s.Jobs = 3 }, nil, size},
		"a copy":           {"the files to copy to are missing", func(s *Spec) { s.Copy = true }, nil, 2 * size},
		"a file removed": {"it is made again", func(*Spec) {}, func(t *testing.T, tgt target.Target) {
			t.Helper()
			d, _ := tgt.Directory(t.Context(), "d", false)
			if err := d.Remove(t.Context(), "c0-j1.dat"); err != nil {
				t.Fatal(err)
			}
		}, size},
		"another version": {"what its marker means is not known", func(*Spec) {}, func(t *testing.T, tgt target.Target) {
			t.Helper()
			d, _ := tgt.Directory(t.Context(), "d", false)
			m, err := readMarker(t.Context(), d, "nfsbench-c0.json")
			if err != nil {
				t.Fatal(err)
			}
			m.Version++
			if err := (&Set{dir: d, spec: testSpec(), marker: m}).writeMarker(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, 2 * size},
		"a file grown": {"its size is not what the marker says", func(*Spec) {}, func(t *testing.T, tgt target.Target) {
			t.Helper()
			d, _ := tgt.Directory(t.Context(), "d", false)
			f, _ := d.Open(t.Context(), "c0-j1.dat", target.OpenOptions{})
			if err := f.WriteAt(t.Context(), make([]byte, blockSize), size); err != nil {
				t.Fatal(err)
			}
		}, size},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tgt := &targettest.Memory{}
			first, n := filled(t, tgt, testSpec())
			if n != 2*size {
				t.Fatalf("the first run filled %d bytes, want %d", n, 2*size)
			}
			first.Close()
			if tc.spoil != nil {
				tc.spoil(t, tgt)
			}
			s, n := filled(t, tgt, testSpec(tc.change))
			if n != tc.want {
				t.Errorf("%s: filled %d bytes, want %d", tc.reason, n, tc.want)
			}
			if _, err := s.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if v, err := s.Verify(t.Context(), never); err != nil || v.BlocksWrong != 0 || v.BlocksChecked == 0 {
				t.Errorf("verification %+v, %v", v, err)
			}
		})
	}
}

func TestAFileThatWasNotFilledToItsEndIsFilledAgain(t *testing.T) {
	boom := errors.New("cable cut")
	tgt := &targettest.Memory{BeforeIO: func(op, name string, off int64) error {
		if op == "write" && name == "c0-j1.dat" && off > 0 {
			return boom
		}
		return nil
	}}
	spec := testSpec(func(s *Spec) { s.FileSizeBytes = 3 << 20 })
	s, err := Prepare(t.Context(), tgt, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(t.Context(), func(int64) {}); !errors.Is(err, boom) || !strings.Contains(err.Error(), "c0-j1.dat") {
		t.Fatalf("fill gave %v", err)
	}
	tgt.BeforeIO = nil
	// As when the last of its chunks came first: the size alone looks complete.
	d, _ := tgt.Directory(t.Context(), "d", false)
	f, err := d.Open(t.Context(), "c0-j1.dat", target.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), make([]byte, blockSize), 3<<20-blockSize); err != nil {
		t.Fatal(err)
	}
	again, err := Prepare(t.Context(), tgt, spec)
	if err != nil {
		t.Fatal(err)
	}
	if missing := again.MissingBytes(); missing < 3<<20 {
		t.Errorf("only %d bytes are missing: the file that was cut off passes for complete", missing)
	}
}

func TestFilesOfManyChunksHoldWhatTheyShould(t *testing.T) {
	tgt := &targettest.Memory{}
	s, n := filled(t, tgt, testSpec(func(s *Spec) { s.FileSizeBytes = 5<<20 + 512; s.BlockSizeBytes = 512 }))
	if n != 2*(5<<20+512) {
		t.Errorf("filled %d bytes", n)
	}
	if _, err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Verify(t.Context(), never); err != nil || v.BlocksWrong != 0 || v.BlocksChecked != 128 {
		t.Errorf("verification %+v, %v", v, err)
	}
}

func TestALostOverwriteIsNotTakenForOneOfAnEarlierRun(t *testing.T) {
	tgt := &targettest.Memory{}
	arena, err := target.NewArena(1, blockSize)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arena.Release() }()
	for run, lost := range []bool{false, true} {
		s, _ := filled(t, tgt, testSpec(func(s *Spec) { s.Writes = true }))
		jobs, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := jobs[0].Main
		gen, _ := f.Tracker.Begin(0)
		if !lost {
			f.Data.Write(arena.Buffer(0), 0, gen)
			if err := f.WriteAt(t.Context(), arena.Buffer(0), 0); err != nil {
				t.Fatal(err)
			}
		}
		f.Tracker.End(0, true, false)
		v, err := s.Verify(t.Context(), never)
		if err != nil || (v.WrongBlocks.Lost == 1) != lost || v.BlocksChecked != 1 {
			t.Errorf("run %d: verification %+v, %v", run, v, err)
		}
		s.Close()
	}
}

func TestForeignFilesAreNeverTouched(t *testing.T) {
	cases := map[string]struct {
		reason  string
		files   map[string]string
		allow   bool
		refused bool
	}{
		"somebody's data":      {"no marker, no right", map[string]string{"system01.dbf": "x"}, false, true},
		"our name, no marker":  {"a name alone proves nothing", map[string]string{"c0-j0.dat": "x"}, false, true},
		"a false marker":       {"the marker's content counts", map[string]string{"nfsbench-c0.json": "mine", "a.dbf": "x"}, false, true},
		"allowed":              {"the user may say so", map[string]string{"system01.dbf": "x"}, true, false},
		"snapshots":            {"what servers put everywhere is nobody's", map[string]string{".snapshot": "", ".nfs0001": ""}, false, false},
		"beside a marker":      {"a marked directory is ours, though not all in it", map[string]string{"nfsbench-c3.json": `{"tool":"nfsbench","version":1}`, "a.dbf": "x"}, false, false},
		"marker being written": {"another client has just begun", map[string]string{"nfsbench-c3.json.part": ""}, false, false},
		"an empty marker":      {"anybody can make one", map[string]string{"nfsbench-c3.json": ""}, false, true},
		"half a marker":        {"anybody can make one", map[string]string{"nfsbench-c3.json": `{"tool":"nfsbench"`}, false, true},
		"false marker of us":   {"it is no marker, and nobody allowed it", map[string]string{"nfsbench-c0.json": "mine"}, false, true},
		"a false one allowed":  {"the user may say so", map[string]string{"nfsbench-c3.json": "mine"}, true, false},
		"beside a false one":   {"whose is the directory?", map[string]string{"nfsbench-c3.json": `{"tool":"nfsbench","version":1}`, "nfsbench-c4.json": "x"}, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tgt := &targettest.Memory{}
			for file, text := range tc.files {
				put(t, tgt, file, text)
			}
			before := list(t, tgt)
			s, err := Prepare(t.Context(), tgt, testSpec(func(s *Spec) { s.OverwriteExisting = tc.allow }))
			if tc.refused {
				if target.CodeOf(err) != runfile.FailureForeignFiles || !strings.Contains(err.Error(), before[len(before)-1]) {
					t.Errorf("%s: got %v", tc.reason, err)
				}
				if diff := cmp.Diff(before, list(t, tgt)); diff != "" {
					t.Errorf("%s, but files came or went:\n%s", tc.reason, diff)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err := s.Fill(t.Context(), func(int64) {}); err != nil {
				t.Fatal(err)
			}
			done, err := s.Clean(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, list(t, tgt)); diff != "" || done.DirectoryGone {
				t.Errorf("cleaning removed more or less than ours:\n%s", diff)
			}
		})
	}
}

func TestCleanRemovesOursAndNothingElse(t *testing.T) {
	tgt := &targettest.Memory{}
	ctx := t.Context()
	if done, err := Clean(ctx, tgt, "d"); err != nil || !done.DirectoryGone {
		t.Errorf("nothing there: %+v, %v", done, err)
	}
	filled(t, tgt, testSpec(func(s *Spec) { s.Copy = true }))
	filled(t, tgt, testSpec(func(s *Spec) { s.Client = 1 }))
	put(t, tgt, "notes.txt", "mine")
	done, err := Clean(ctx, tgt, "d")
	want := Cleaned{
		Removed: []string{
			"c0-j0-copy.dat", "c0-j0.dat", "c0-j1-copy.dat", "c0-j1.dat", "c1-j0.dat", "c1-j1.dat", "nfsbench-c0.json", "nfsbench-c1.json",
		},
		Left: []string{"notes.txt"},
	}
	if diff := cmp.Diff(want, done); diff != "" || err != nil {
		t.Errorf("clean (-want +got):\n%s%v", diff, err)
	}
	if done, err = Clean(ctx, tgt, "d"); err != nil || len(done.Removed) != 0 || done.DirectoryGone {
		t.Errorf("again: %+v, %v", done, err)
	}
	d, _ := tgt.Directory(ctx, "d", false)
	_ = d.Remove(ctx, "notes.txt")
	if done, err = Clean(ctx, tgt, "d"); err != nil || !done.DirectoryGone {
		t.Errorf("an empty directory: %+v, %v", done, err)
	}
}

func TestCleanLeavesAnUnmarkedDirectoryAlone(t *testing.T) {
	tgt := &targettest.Memory{}
	put(t, tgt, "c0-j0.dat", "mine")
	done, err := Clean(t.Context(), tgt, "d")
	if err != nil || len(done.Removed) != 0 || !slices.Equal(list(t, tgt), []string{"c0-j0.dat"}) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestCleanRemovesAMarkerThatAKilledClientDidNotFinish(t *testing.T) {
	tgt := &targettest.Memory{}
	put(t, tgt, "nfsbench-c0.json.part", "")
	put(t, tgt, "notes.txt", "mine")
	done, err := Clean(t.Context(), tgt, "d")
	if err != nil || len(done.Removed) != 0 {
		t.Errorf("beside a file of somebody else: %+v, %v", done, err)
	}
	d, _ := tgt.Directory(t.Context(), "d", false)
	_ = d.Remove(t.Context(), "notes.txt")
	done, err = Clean(t.Context(), tgt, "d")
	if err != nil || !slices.Equal(done.Removed, []string{"nfsbench-c0.json.part"}) || !done.DirectoryGone {
		t.Errorf("alone: %+v, %v", done, err)
	}
}

func TestTheMarkerGoesLast(t *testing.T) {
	tgt := &targettest.Memory{}
	s, _ := filled(t, tgt, testSpec())
	ctx, cancel := context.WithCancel(t.Context())
	rec := &recording{Target: tgt, onRemove: func(name string) {
		if name == "c0-j1.dat" {
			cancel() // the process dies here
		}
	}}
	s.target = rec
	s.dir, _ = rec.Directory(ctx, "d", false)
	if _, err := s.Clean(ctx); err == nil {
		t.Fatal("the clean-up should have been cut off")
	}
	if names := list(t, tgt); !slices.Contains(names, "nfsbench-c0.json") {
		t.Errorf("what is left has no marker: %v", names)
	}
	if done, err := Clean(t.Context(), tgt, "d"); err != nil || !done.DirectoryGone {
		t.Errorf("the next clean-up: %+v, %v", done, err)
	}
}

type recording struct {
	target.Target
	onRemove func(string)
}

type recordingDir struct {
	target.Directory
	onRemove func(string)
}

func (r *recording) Directory(ctx context.Context, name string, create bool) (target.Directory, error) {
	d, err := r.Target.Directory(ctx, name, create)
	return &recordingDir{d, r.onRemove}, err
}

func (d *recordingDir) Remove(ctx context.Context, name string) error {
	d.onRemove(name)
	return d.Directory.Remove(ctx, name)
}

func TestTwoClientsShareADirectory(t *testing.T) {
	tgt := &targettest.Memory{}
	one, _ := filled(t, tgt, testSpec())
	two, n := filled(t, tgt, testSpec(func(s *Spec) { s.Client = 1 }))
	if n != 2*size {
		t.Errorf("the second client filled %d bytes", n)
	}
	if done, err := one.Clean(t.Context()); err != nil || done.DirectoryGone || len(done.Left) != 3 {
		t.Errorf("the first client's clean-up: %+v, %v", done, err)
	}
	if done, err := two.Clean(t.Context()); err != nil || !done.DirectoryGone {
		t.Errorf("the last client's clean-up: %+v, %v", done, err)
	}
}

func TestWhatCannotFitIsRefusedBeforeItIsWritten(t *testing.T) {
	tgt := small{&targettest.Memory{}}
	_, err := Prepare(t.Context(), tgt, testSpec())
	if target.CodeOf(err) != runfile.FailureNoSpace {
		t.Errorf("got %v", err)
	}
}

type small struct{ *targettest.Memory }

func (small) Facts() runfile.MountFacts {
	return runfile.MountFacts{TotalBytes: 1 << 20, FreeBytes: 2*size - 1, DirectIO: true}
}
