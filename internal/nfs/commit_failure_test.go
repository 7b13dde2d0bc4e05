package nfs

import (
	"sync/atomic"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/faulty"
)

func TestACommitThatFailsForgetsNothing(t *testing.T) {
	var ill atomic.Bool
	ill.Store(true)
	s := &faulty.Server{Hook: faulty.On(v3.ProcCommit, faulty.Fail(v3.ErrIO), func(faulty.Call) bool { return ill.Load() })}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
	content := randomBytes(8192)
	if _, err := f.WriteAt(t.Context(), content, 0, Unstable); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(t.Context()); err == nil {
		t.Fatal("the server fails, and Commit does not")
	}
	if got := f.UncommittedBytes(); got != int64(len(content)) {
		t.Errorf("UncommittedBytes = %d after a commit that failed, want %d", got, len(content))
	}
	ill.Store(false)
	if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 || f.UncommittedBytes() != 0 {
		t.Errorf("the second Commit = %v, %v, with %d bytes uncommitted", lost, err, f.UncommittedBytes())
	}
}

// careless answers each WRITE with a stability that is lower or higher than requested.
type careless struct {
	stream.Protocol
	says Stability
}

func (p careless) Decode(d *xdr.Decoder, part *stream.Part) stream.Results {
	r := p.Protocol.Decode(d, part)
	r.Committed = p.says
	return r
}

func TestAWriteThatIsLessSafeThanAskedForIsAViolation(t *testing.T) {
	for _, tc := range []struct {
		asked, says Stability
		violation   bool
		uncommitted int64
	}{
		{FileSync, FileSync, false, 0},
		{FileSync, DataSync, true, 0},
		{DataSync, Unstable, true, 0},
		{DataSync, FileSync, false, 0},
		{Unstable, FileSync, false, 0},
		{Unstable, Unstable, false, 8192},
	} {
		s := &faulty.Server{}
		c := start(t, s, nil)
		c.data = careless{c.data, tc.says}
		f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
		_, err := f.WriteAt(t.Context(), randomBytes(8192), 0, tc.asked)
		if rpc.IsProtocolError(err) != tc.violation || !tc.violation && err != nil {
			t.Errorf("asked for %d and got %d: %v", tc.asked, tc.says, err)
		}
		if got := f.UncommittedBytes(); got != tc.uncommitted {
			t.Errorf("asked for %d and got %d: %d bytes are uncommitted, want %d", tc.asked, tc.says, got, tc.uncommitted)
		}
	}
}
