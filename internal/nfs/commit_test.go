package nfs

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/test/faulty"
)

func TestCommitSendsAgainWhatARestartLost(t *testing.T) {
	s := &faulty.Server{MaxTransfer: 4096}
	c := start(t, s, nil)
	content := randomBytes(50_000)
	f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, len(content)))))
	f.SetSource(bytes.NewReader(content))
	write := func(from, to int) {
		if _, err := f.WriteAt(t.Context(), content[from:to], int64(from), Unstable); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 10_000)
	write(20_000, 30_000)
	s.Restart()
	if bytes.Equal(s.Content("data")[:10_000], content[:10_000]) {
		t.Fatal("the fake server lost nothing: the test proves nothing")
	}
	write(30_000, 50_000)
	if err := f.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.ResentBytes(); got != 20_000 {
		t.Errorf("ResentBytes = %d, want what was written before the restart and no more", got)
	}
	want := append([]byte(nil), content...)
	clear(want[10_000:20_000])
	if !bytes.Equal(s.Content("data"), want) {
		t.Error("content differs after commit")
	}
	s.Restart()
	if !bytes.Equal(s.Content("data"), want) {
		t.Error("what was committed did not survive a second restart")
	}
}

// fill writes a content once, a block for each I/O, and tells the file.
type fill struct {
	f       *File
	content []byte
	block   int
	next    atomic.Int64
	errs    atomic.Pointer[error]
}

func (d *fill) Next(x *stream.IO) bool {
	off := (d.next.Add(1) - 1) * int64(d.block)
	if off >= int64(len(d.content)) {
		return false
	}
	d.f.Prepare(x)
	x.Write, x.Offset, x.Buf = true, off, d.content[off:][:d.block]
	return true
}

func (d *fill) Done(x *stream.IO) {
	if x.Err != nil {
		d.errs.Store(&x.Err)
	}
	d.f.Wrote(x)
}

func TestCommitSendsAgainWhatAStreamHasWrittenBeforeARestart(t *testing.T) {
	var writes atomic.Int64
	s := &faulty.Server{MaxTransfer: 4096}
	s.Hook = func(c faulty.Call) faulty.Action {
		if c.IsWrite() && writes.Add(1) == 50 { // of 128: in the middle of an I/O
			s.Restart()
		}
		return faulty.Answer
	}
	c := start(t, s, nil, "127.0.0.1", "127.0.0.2")
	d := &fill{content: randomBytes(512 << 10), block: 32 << 10}
	d.f = c.OpenFile(FileHandle(s.AddFile("data", nil)))
	d.f.SetSource(bytes.NewReader(d.content))
	st, err := c.NewStream(t.Context(), StreamConfig{Slots: 4, BlockBytes: int64(d.block)})
	if err != nil {
		t.Fatal(err)
	}
	st.Run(t.Context(), d)
	if err := d.errs.Load(); err != nil {
		t.Fatal(*err)
	}
	if bytes.Equal(s.Content("data"), d.content) {
		t.Fatal("the restart lost nothing: the test proves nothing")
	}
	if err := d.f.Commit(t.Context()); err != nil || !bytes.Equal(s.Content("data"), d.content) {
		t.Errorf("Commit = %v, or the content differs", err)
	}
	if n := d.f.ResentBytes(); n < 128<<10 || n > 256<<10 {
		t.Errorf("%d bytes were sent again, want those of the I/Os that had begun before the restart", n)
	}
	want := s.Content("data")
	if s.Restart(); !bytes.Equal(s.Content("data"), want) {
		t.Error("what was committed did not survive a second restart")
	}
}

func TestCommitWithoutSourceSaysThatDataAreLost(t *testing.T) {
	s := &faulty.Server{}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
	content := randomBytes(8192)
	if _, err := f.WriteAt(t.Context(), content, 0, Unstable); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	if err := f.Commit(t.Context()); !errors.Is(err, ErrLostWrites) {
		t.Errorf("Commit = %v, want ErrLostWrites", err)
	}
	if got := f.UncommittedBytes(); got != 8192 {
		t.Errorf("UncommittedBytes = %d after a failed commit, want that nothing is forgotten", got)
	}
	f.SetSource(bytes.NewReader(content))
	if err := f.Commit(t.Context()); err != nil || !bytes.Equal(s.Content("data"), content) {
		t.Errorf("a second Commit with a source = %v, or other content", err)
	}
}

func TestStableWritesNeedNoCommit(t *testing.T) {
	var commits atomic.Int64
	s := &faulty.Server{Hook: countCommits(&commits)}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
	if _, err := f.WriteAt(t.Context(), randomBytes(8192), 0, FileSync); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(t.Context()); err != nil || commits.Load() != 0 {
		t.Errorf("Commit = %v with %d calls, want none", err, commits.Load())
	}
}

func countCommits(n *atomic.Int64) func(faulty.Call) faulty.Action {
	return func(c faulty.Call) faulty.Action {
		if c.Program == v3.Program && c.Procedure == v3.ProcCommit {
			n.Add(1)
		}
		return faulty.Answer
	}
}

func TestSpanSetJoinsWhatTouches(t *testing.T) {
	for name, tc := range map[string]struct {
		add  []span
		want []span
	}{
		"apart":            {[]span{{10, 20}, {0, 5}, {30, 40}}, []span{{0, 5}, {10, 20}, {30, 40}}},
		"touching":         {[]span{{0, 10}, {20, 30}, {10, 20}}, []span{{0, 30}}},
		"inside":           {[]span{{0, 100}, {10, 20}}, []span{{0, 100}}},
		"around":           {[]span{{10, 20}, {30, 40}, {5, 50}}, []span{{5, 50}}},
		"overlap left":     {[]span{{10, 20}, {5, 15}}, []span{{5, 20}}},
		"overlap right":    {[]span{{10, 20}, {15, 25}}, []span{{10, 25}}},
		"bridge of two":    {[]span{{0, 10}, {20, 30}, {40, 50}, {9, 21}}, []span{{0, 30}, {40, 50}}},
		"empty is ignored": {[]span{{5, 5}, {7, 3}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s spanSet
			for _, x := range tc.add {
				s.add(x.from, x.to)
			}
			if diff := cmp.Diff(tc.want, s.spans, cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("spans differ (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzSpanSetEqualsASetOfBytes(f *testing.F) {
	f.Add([]byte{1, 5, 4, 9, 0, 1, 20, 30, 2, 25})
	f.Fuzz(func(t *testing.T, in []byte) {
		var s spanSet
		var want [256]bool
		for i := 0; i+1 < len(in); i += 2 {
			s.add(int64(in[i]), int64(in[i+1]))
			for b := int(in[i]); b < int(in[i+1]); b++ {
				want[b] = true
			}
		}
		var got [256]bool
		last := int64(-1)
		for _, x := range s.spans {
			if x.from <= last || x.to <= x.from {
				t.Fatalf("spans are not sorted and apart: %v", s.spans)
			}
			last = x.to
			for b := x.from; b < x.to; b++ {
				got[b] = true
			}
		}
		if got != want {
			t.Fatalf("spans %v do not hold what was added: %v", s.spans, in)
		}
	})
}
