// Package targettest is the conformance suite of targets. Every implementation
// runs it, the one in memory included, so that no fake can drift from the truth.
package targettest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

const block = 4096

// Run checks the contract of package target on what open gives. Each check has
// a target of its own; the storage behind them may be the same, as long as it
// has no directory whose name starts with "t-".
func Run(t *testing.T, open func(testing.TB) target.Target) {
	t.Helper()
	checks := map[string]func(*testing.T, target.Target){
		"a directory comes and goes":                    directoryComesAndGoes,
		"a directory with files is not removed":         fullDirectoryStays,
		"creating never takes a file that is there":     createIsExclusive,
		"what is missing is missing":                    missingIsMissing,
		"what is written is read":                       writtenIsRead,
		"a read stops at the end of the file":           readStopsAtTheEnd,
		"overwriting keeps the size":                    overwriteKeepsSize,
		"many goroutines share a file":                  sharedByMany,
		"another open sees the data":                    secondOpenSees,
		"a cancelled context does nothing":              cancelledDoesNothing,
		"facts and channels can be asked at any moment": factsAndChannels,
		"closing twice is closing once":                 closeTwice,
		"a file needs a name":                           filesHaveNames,
		"renaming replaces a name and no file":          renamingReplaces,
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			tgt := open(t)
			t.Cleanup(func() { _ = tgt.Close() })
			check(t, tgt)
		})
	}
	t.Run("streams", func(t *testing.T) { runStreams(t, open) })
}

// makeDir gives a new directory that is removed with all its files at the end.
func makeDir(t *testing.T, tgt target.Target, name string) target.Directory {
	t.Helper()
	dir, err := tgt.Directory(t.Context(), name, true)
	if err != nil {
		t.Fatalf("make directory: %v", err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		names, err := dir.List(ctx)
		if err != nil {
			return // removed by the test, or closed
		}
		for _, n := range names {
			_ = dir.Remove(ctx, n)
		}
		_ = tgt.RemoveDirectory(ctx, name)
	})
	return dir
}

func makeFile(t *testing.T, dir target.Directory, name string, data []byte) target.File {
	t.Helper()
	f, err := dir.Open(t.Context(), name, target.OpenOptions{Create: true})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if len(data) > 0 {
		if err := f.WriteAt(t.Context(), data, 0); err != nil {
			t.Fatalf("write: %v", err)
		}
		if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 {
			t.Fatalf("commit: %v, %v", lost, err)
		}
	}
	return f
}

// buffers gives count aligned blocks, the i-th full of the byte i+1.
func buffers(t *testing.T, count int, size int64) [][]byte {
	t.Helper()
	arena, err := target.NewArena(count, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = arena.Release() })
	out := make([][]byte, count)
	for i := range out {
		out[i] = arena.Buffer(i)
		out[i][0] = byte(i + 1)
		for n := 1; n < len(out[i]); n *= 2 {
			copy(out[i][n:], out[i][:n])
		}
	}
	return out
}

func directoryComesAndGoes(t *testing.T, tgt target.Target) {
	t.Helper()
	ctx := t.Context()
	if _, err := tgt.Directory(ctx, "t-dir", false); !target.IsNotExist(err) {
		t.Fatalf("a directory that was never made gave %v", err)
	}
	dir := makeDir(t, tgt, "t-dir")
	if _, err := tgt.Directory(ctx, "t-dir", true); err != nil {
		t.Errorf("making it again: %v", err)
	}
	if names, err := dir.List(ctx); err != nil || len(names) != 0 {
		t.Errorf("a new directory has %v, %v", names, err)
	}
	if err := tgt.RemoveDirectory(ctx, "t-dir"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if err := tgt.RemoveDirectory(ctx, "t-dir"); !target.IsNotExist(err) {
		t.Errorf("removing it again gave %v", err)
	}
}

func fullDirectoryStays(t *testing.T, tgt target.Target) {
	t.Helper()
	dir := makeDir(t, tgt, "t-full")
	makeFile(t, dir, "b", nil)
	makeFile(t, dir, "a", nil)
	if err := tgt.RemoveDirectory(t.Context(), "t-full"); !target.IsNotEmpty(err) {
		t.Fatalf("removing it gave %v", err)
	}
	names, err := dir.List(t.Context())
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("the files are %v, %v", names, err)
	}
}

func createIsExclusive(t *testing.T, tgt target.Target) {
	t.Helper()
	dir, buf := makeDir(t, tgt, "t-excl"), buffers(t, 1, block)
	f := makeFile(t, dir, "f", buf[0])
	_, err := dir.Open(t.Context(), "f", target.OpenOptions{Create: true})
	if !target.IsExist(err) || target.IsNotEmpty(err) {
		t.Errorf("creating it again gave %v", err)
	}
	if size, err := f.Size(t.Context()); err != nil || size != block {
		t.Errorf("afterwards it has %d bytes, %v", size, err)
	}
}

func missingIsMissing(t *testing.T, tgt target.Target) {
	t.Helper()
	dir := makeDir(t, tgt, "t-missing")
	if _, err := dir.Open(t.Context(), "f", target.OpenOptions{}); !target.IsNotExist(err) {
		t.Errorf("opening gave %v", err)
	}
	if err := dir.Remove(t.Context(), "f"); !target.IsNotExist(err) {
		t.Errorf("removing gave %v", err)
	}
}

func writtenIsRead(t *testing.T, tgt target.Target) {
	t.Helper()
	for name, stable := range map[string]bool{"stable": true, "unstable": false} {
		dir := makeDir(t, tgt, "t-"+name)
		const size = 3 << 20 // more than one transfer
		buf := buffers(t, 2, size)
		makeFile(t, dir, "f", nil)
		f, err := dir.Open(t.Context(), "f", target.OpenOptions{Stable: stable})
		if err != nil {
			t.Fatal(err)
		}
		for i := range buf[0] {
			buf[0][i] = byte(i * 7 >> 3)
		}
		if err := f.WriteAt(t.Context(), buf[0], block); err != nil {
			t.Fatalf("%s write: %v", name, err)
		}
		if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 {
			t.Fatalf("commit: %v, %v", lost, err)
		}
		if n, err := f.ReadAt(t.Context(), buf[1], block); err != nil || n != size {
			t.Fatalf("read %d, %v", n, err)
		}
		if !bytes.Equal(buf[0], buf[1]) {
			t.Errorf("a %s write and its read differ", name)
		}
		_ = f.Close()
	}
}

func readStopsAtTheEnd(t *testing.T, tgt target.Target) {
	t.Helper()
	dir, buf := makeDir(t, tgt, "t-end"), buffers(t, 1, block)
	f := makeFile(t, dir, "f", buf[0])
	two := buffers(t, 1, 2*block)[0]
	if n, err := f.ReadAt(t.Context(), two, 0); n != block || !errors.Is(err, io.EOF) {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(t.Context(), two, 4*block); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
}

func overwriteKeepsSize(t *testing.T, tgt target.Target) {
	t.Helper()
	dir, data, buf := makeDir(t, tgt, "t-over"), buffers(t, 1, 4*block), buffers(t, 2, block)
	f := stableFile(t, dir, "f", data[0])
	if err := f.WriteAt(t.Context(), buf[1], block); err != nil {
		t.Fatal(err)
	}
	if size, err := f.Size(t.Context()); err != nil || size != 4*block {
		t.Errorf("the file has %d bytes, %v", size, err)
	}
	for i, want := range []byte{1, 2, 1, 1} {
		if _, err := f.ReadAt(t.Context(), buf[0], int64(i)*block); err != nil || buf[0][0] != want || buf[0][block-1] != want {
			t.Errorf("block %d has %d, %v; want %d", i, buf[0][0], err, want)
		}
	}
}

func sharedByMany(t *testing.T, tgt target.Target) {
	t.Helper()
	const workers, rounds = 16, 8
	dir, buf := makeDir(t, tgt, "t-many"), buffers(t, workers, block)
	f := stableFile(t, dir, "f", buffers(t, 1, workers*block)[0])
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				if err := f.WriteAt(t.Context(), buf[w], int64(w)*block); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				clear(buf[w])
				if _, err := f.ReadAt(t.Context(), buf[w], int64(w)*block); err != nil || buf[w][0] != byte(w+1) || buf[w][block-1] != byte(w+1) {
					t.Errorf("worker %d read %d, %v", w, buf[w][0], err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func secondOpenSees(t *testing.T, tgt target.Target) {
	t.Helper()
	dir, buf := makeDir(t, tgt, "t-second"), buffers(t, 2, block)
	makeFile(t, dir, "f", buf[1])
	again, err := tgt.Directory(t.Context(), "t-second", false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := again.Open(t.Context(), "f", target.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.ReadAt(t.Context(), buf[0], 0); err != nil || !bytes.Equal(buf[0], buf[1]) {
		t.Errorf("read %d, %v", buf[0][0], err)
	}
}

func cancelledDoesNothing(t *testing.T, tgt target.Target) {
	t.Helper()
	dir, buf := makeDir(t, tgt, "t-cancel"), buffers(t, 2, block)
	f := makeFile(t, dir, "f", buf[0])
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := f.WriteAt(ctx, buf[1], 0); !errors.Is(err, why) {
		t.Errorf("a write gave %v", err)
	}
	if _, err := f.ReadAt(ctx, buf[1], 0); !errors.Is(err, why) {
		t.Errorf("a read gave %v", err)
	}
	if _, err := tgt.Directory(ctx, "t-never", true); !errors.Is(err, why) {
		t.Errorf("making a directory gave %v", err)
	}
	if _, err := tgt.Directory(t.Context(), "t-never", false); !target.IsNotExist(err) {
		t.Errorf("but it is there (%v)", err)
	}
}

func factsAndChannels(t *testing.T, tgt target.Target) {
	t.Helper()
	if !tgt.Facts().DirectIO {
		t.Error("the page cache may be in use")
	}
	before := tgt.Channels()
	dir, buf := makeDir(t, tgt, "t-facts"), buffers(t, 1, block)
	f := makeFile(t, dir, "f", buf[0])
	for range 8 {
		if _, err := f.ReadAt(t.Context(), buf[0], 0); err != nil {
			t.Fatal(err)
		}
	}
	after := tgt.Channels()
	if len(after) < len(before) {
		t.Fatalf("%d channels became %d", len(before), len(after))
	}
	if len(after) == 0 {
		return
	}
	var read int64
	for i := range after {
		switch {
		case after[i].Path == "" || after[i].State != "Up":
			t.Errorf("channel %+v", after[i])
		case i >= len(before) && after[i].Role != bench.PathDataServer:
			t.Errorf("channel %+v came later, and no layout opened it", after[i])
		case i < len(before) && after[i].ID != before[i].ID:
			t.Errorf("channel %+v, before %+v", after[i], before[i])
		}
		read += after[i].BytesRead
		if i < len(before) {
			read -= before[i].BytesRead
		}
	}
	if read != 8*block {
		t.Errorf("the channels counted %d bytes read, want %d", read, 8*block)
	}
}

func closeTwice(t *testing.T, tgt target.Target) {
	t.Helper()
	if err := tgt.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tgt.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func renamingReplaces(t *testing.T, tgt target.Target) {
	t.Helper()
	dir := makeDir(t, tgt, "t-rename")
	data := buffers(t, 3, target.SectorBytes)
	old := makeFile(t, dir, "name", data[0])
	makeFile(t, dir, "part", data[1])
	if err := dir.Rename(t.Context(), "part", "name"); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]target.File{"by its name": nil, "as it was opened": old} {
		want := data[0]
		if f == nil {
			opened, err := dir.Open(t.Context(), "name", target.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = opened.Close() }()
			f, want = opened, data[1]
		}
		// A server may forget a file that has no name.
		if _, err := f.ReadAt(t.Context(), data[2], 0); (err != nil && f != old) || err == nil && !bytes.Equal(data[2], want) {
			t.Errorf("the file %s: %v", what, err)
		}
	}
	if _, err := dir.Open(t.Context(), "part", target.OpenOptions{}); !target.IsNotExist(err) {
		t.Errorf("the name before: %v", err)
	}
	if err := dir.Rename(t.Context(), "part", "name"); !target.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}

func filesHaveNames(t *testing.T, tgt target.Target) {
	t.Helper()
	dir := makeDir(t, tgt, "t-kind")
	makeFile(t, dir, "f", nil)
	if _, err := dir.Open(t.Context(), "", target.OpenOptions{}); err == nil {
		t.Error("a file without a name was opened")
	}
}
