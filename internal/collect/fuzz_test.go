package collect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzEventTail reads a hostile events file that grows in two steps. Wherever it
// is cut, the same events come out, and what follows them is made of them
// without a panic.
func FuzzEventTail(f *testing.F) {
	f.Add([]byte(`{"time":"2026-11-01T10:00:00Z","span":"Fill","percent":3}`+"\n"+`{"span":"Measure","repetition":1,"percent":50}`+"\n"), 70)
	f.Add([]byte("no JSON\n{\"span\":\"Warmup\"}\n{\"per"), 5)
	f.Add(bytes.Repeat([]byte("x"), 70_000), 1)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		cut = min(max(cut, 0), len(in))
		memory.Bound(t, 4*maxTailBytes+64*len(in), func() { followBoth(t, in, cut) })
	})
}

func followBoth(t *testing.T, in []byte, cut int) {
	t.Helper()
	whole, pieces := newFollower(t.TempDir()), newFollower(t.TempDir())
	grow(t, whole, in)
	grow(t, pieces, in[:cut])
	grow(t, pieces, in)
	if len(in) <= maxLineBytes && len(whole.spans) != len(pieces.spans) {
		t.Fatalf("%d spans at once, %d in two steps", len(whole.spans), len(pieces.spans))
	}
	if whole.done() {
		t.Fatal("events alone end a run")
	}
	crashedLoad(whole.partialLoad(), whole.last)
	closedAt(whole.spans, whole.last)
}

// grow replaces the events file by a longer one and follows it.
func grow(t *testing.T, f *follower, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, runfile.EventsFile), content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := f.readEvents()
	if _, unread := errors.AsType[*os.PathError](err); unread {
		t.Fatal(err)
	}
}

func FuzzReadJournal(f *testing.F) {
	for _, e := range []entry{
		{Host: &runfile.HostSample{}, Edge: true}, {Reading: &Reading{}}, {Problem: &runfile.CollectionError{Source: "a"}},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(line, '\n'))
	}
	f.Add([]byte("{}\n{}\nnull\n[]\n{\"host\":{}}\n{\"host\""))
	f.Fuzz(func(t *testing.T, in []byte) {
		j := &journal{dir: t.TempDir(), name: JournalFile}
		if err := os.WriteFile(filepath.Join(j.dir, j.name), in, 0o600); err != nil {
			t.Fatal(err)
		}
		memory.Bound(t, 256*len(in), func() {
			entries, err := j.read()
			if err != nil && !errors.Is(err, bufio.ErrTooLong) {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e == (entry{}) {
					t.Error("an entry of nothing")
				}
			}
		})
	})
}
