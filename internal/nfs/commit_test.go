package nfs

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/test/faulty"
)

func TestCommitTellsWhatARestartLost(t *testing.T) {
	s := &faulty.Server{MaxTransfer: 4096}
	c := start(t, s, nil)
	content := randomBytes(50_000)
	f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, len(content)))))
	write := func(from, to int, how Stability) {
		if _, err := f.WriteAt(t.Context(), content[from:to], int64(from), how); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 10_000, Unstable)
	write(20_000, 30_000, Unstable)
	s.Restart()
	if bytes.Equal(s.Content("data")[:10_000], content[:10_000]) {
		t.Fatal("the fake server lost nothing: the test proves nothing")
	}
	write(30_000, 50_000, Unstable)
	lost, err := f.Commit(t.Context())
	if diff := cmp.Diff([]Span{{0, 10_000}, {20_000, 30_000}}, lost); diff != "" || err != nil {
		t.Fatalf("Commit: %v; what was lost differs (-want +got):\n%s", err, diff)
	}
	for _, x := range lost {
		write(int(x.From), int(x.To), FileSync)
	}
	if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 {
		t.Errorf("the second Commit = %v, %v", lost, err)
	}
	clear(content[10_000:20_000])
	if s.Restart(); !bytes.Equal(s.Content("data"), content) {
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

func TestCommitTellsWhatAStreamHasWrittenBeforeARestart(t *testing.T) {
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
	st, err := c.NewStream(t.Context(), StreamConfig{Slots: 4, BlockBytes: int64(d.block)})
	if err != nil {
		t.Fatal(err)
	}
	st.Run(t.Context(), d)
	if err := d.errs.Load(); err != nil {
		t.Fatal(*err)
	}
	content := s.Content("data")
	if bytes.Equal(content, d.content) {
		t.Fatal("the restart lost nothing: the test proves nothing")
	}
	lost, err := d.f.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var bytesLost int64
	for _, x := range lost {
		bytesLost += x.To - x.From
		copy(content[x.From:x.To], d.content[x.From:x.To])
	}
	if !bytes.Equal(content, d.content) {
		t.Error("more was lost than Commit says")
	}
	// 49 of the parts, of which an I/O has 8, are those of 6 whole I/Os at most, and of the 4 that are outstanding.
	if bytesLost < 128<<10 || bytesLost > 10*32<<10 {
		t.Errorf("%d bytes were lost, want those of the I/Os that had begun before the restart", bytesLost)
	}
	want := s.Content("data")
	if s.Restart(); !bytes.Equal(s.Content("data"), want) {
		t.Error("what was committed did not survive a second restart")
	}
}

// A COMMIT is sent again when its server dies. The server that answers then has another verifier, whether or not the
// first one had done it.
func TestACommitAtAServerThatDiesTellsWhatMayBeLost(t *testing.T) {
	for name, action := range map[string]faulty.Action{"before the COMMIT": faulty.Disconnect, "after it": faulty.Lose} {
		t.Run(name, func(t *testing.T) {
			var commits atomic.Int64
			s := &faulty.Server{MaxTransfer: 4096}
			s.Hook = faulty.On(v3.ProcCommit, action, func(faulty.Call) bool {
				n := commits.Add(1)
				if n == 1 && action == faulty.Disconnect || n == 2 {
					s.Restart()
				}
				return n == 1
			})
			c := start(t, s, nil)
			content := randomBytes(50_000)
			f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, len(content)))))
			if _, err := f.WriteAt(t.Context(), content, 0, Unstable); err != nil {
				t.Fatal(err)
			}
			lost, err := f.Commit(t.Context())
			if diff := cmp.Diff([]Span{{0, 50_000}}, lost); diff != "" || err != nil || commits.Load() != 2 {
				t.Errorf("Commit: %v after %d calls; what may be lost differs (-want +got):\n%s", err, commits.Load(), diff)
			}
		})
	}
}

func TestCommitTellsWhatTwoRestartsInOneIOLost(t *testing.T) {
	for name, restarts := range map[string][]int64{"three verifiers": {3, 6}, "and a fourth at the end": {3, 6, 8}} {
		t.Run(name, func(t *testing.T) {
			var writes atomic.Int64
			s := &faulty.Server{MaxTransfer: 4096}
			s.Hook = func(c faulty.Call) faulty.Action {
				if c.IsWrite() && slices.Contains(restarts, writes.Add(1)) {
					s.Restart()
				}
				return faulty.Answer
			}
			c := start(t, s, nil)
			d := &fill{content: randomBytes(64 << 10), block: 32 << 10}
			d.f = c.OpenFile(FileHandle(s.AddFile("data", make([]byte, len(d.content)))))
			st, err := c.NewStream(t.Context(), StreamConfig{Slots: 1, BlockBytes: int64(d.block)})
			if err != nil {
				t.Fatal(err)
			}
			st.Run(t.Context(), d)
			if err := d.errs.Load(); err != nil {
				t.Fatal(*err)
			}
			lost, err := d.f.Commit(t.Context())
			if diff := cmp.Diff([]Span{{0, int64(d.block)}}, lost); diff != "" || err != nil {
				t.Errorf("Commit: %v; what was lost differs (-want +got):\n%s", err, diff)
			}
			if got := s.Content("data"); !bytes.Equal(got[d.block:], d.content[d.block:]) {
				t.Error("the second I/O is not there")
			}
		})
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
	if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 || commits.Load() != 0 {
		t.Errorf("Commit = %v, %v with %d calls, want none", lost, err, commits.Load())
	}
}

// TestAServerThatRestartsWithEachWriteTakesFewCommits: each verifier took a COMMIT, and was looked at with each write.
func TestAServerThatRestartsWithEachWriteTakesFewCommits(t *testing.T) {
	var commits atomic.Int64
	s := &faulty.Server{}
	s.Hook = func(c faulty.Call) faulty.Action {
		if c.IsWrite() {
			s.Restart()
		}
		return countCommits(&commits)(c)
	}
	c := start(t, s, nil)
	const writes, block = 4 * maxVerifiers, 512
	content := randomBytes(writes * block)
	f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, len(content)))))
	for at := 0; at < len(content); at += block {
		if _, err := f.WriteAt(t.Context(), content[at:at+block], int64(at), Unstable); err != nil {
			t.Fatal(err)
		}
	}
	f.putBack(slices.Clone(f.dirty)) // as after a failed COMMIT
	lost, err := f.Commit(t.Context())
	if diff := cmp.Diff([]Span{{0, (writes - 1) * block}}, lost); diff != "" || err != nil {
		t.Errorf("Commit: %v; what was lost differs (-want +got):\n%s", err, diff)
	}
	if n := commits.Load(); n > maxVerifiers {
		t.Errorf("%d COMMITs for %d writes", n, writes)
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
		add  []Span
		want []Span
	}{
		"apart":            {[]Span{{10, 20}, {0, 5}, {30, 40}}, []Span{{0, 5}, {10, 20}, {30, 40}}},
		"touching":         {[]Span{{0, 10}, {20, 30}, {10, 20}}, []Span{{0, 30}}},
		"inside":           {[]Span{{0, 100}, {10, 20}}, []Span{{0, 100}}},
		"around":           {[]Span{{10, 20}, {30, 40}, {5, 50}}, []Span{{5, 50}}},
		"overlap left":     {[]Span{{10, 20}, {5, 15}}, []Span{{5, 20}}},
		"overlap right":    {[]Span{{10, 20}, {15, 25}}, []Span{{10, 25}}},
		"bridge of two":    {[]Span{{0, 10}, {20, 30}, {40, 50}, {9, 21}}, []Span{{0, 30}, {40, 50}}},
		"empty is ignored": {[]Span{{5, 5}, {7, 3}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s spanSet
			for _, x := range tc.add {
				s.add(x.From, x.To)
			}
			if diff := cmp.Diff(tc.want, s.spans); diff != "" {
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
			if x.From <= last || x.To <= x.From {
				t.Fatalf("spans are not sorted and apart: %v", s.spans)
			}
			last = x.To
			for b := x.From; b < x.To; b++ {
				got[b] = true
			}
		}
		if got != want {
			t.Fatalf("spans %v do not hold what was added: %v", s.spans, in)
		}
	})
}
