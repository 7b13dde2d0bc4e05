package direct_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// forgery puts hostile bytes in place of the replies to one procedure.
type forgery struct {
	program, procedure uint32
	how                byte
	body               []byte
	left               atomic.Int64 // replies still to be forged
}

const resultsAt = rpc.RecordMarkBytes + 24

// Where the ways to forge begin in forgery.how; other results begin at 0.
const (
	forgeChanges = 110
	forgeReply   = 220
	forgeStream  = 240
	forgeBefore  = 248
)

func (g *forgery) rewrite(c faulty.Call, reply []byte) (out []byte, more bool) {
	if c.Program != g.program || c.Procedure != g.procedure || g.left.Add(-1) < 0 {
		return reply, true
	}
	// What breaks the connection is rarer: making it again takes long.
	switch {
	case g.how < forgeChanges: // other results
		reply = append(reply[:resultsAt:resultsAt], g.body...)
		rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
	case g.how < forgeReply: // some of the results changed
		for i, b := range g.body {
			if at := resultsAt + i; at < len(reply) {
				reply[at] ^= b
			}
		}
	case g.how < forgeStream: // another reply to the same call
		reply = binary.BigEndian.AppendUint32(make([]byte, rpc.RecordMarkBytes), c.XID)
		reply = append(reply, g.body...)
		rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
	case g.how < forgeBefore: // bytes that may be no record at all, and the end
		return g.body, false
	default: // before the reply, something that nobody asked for
		return append(append(append([]byte{}, reply[:min(len(reply), len(g.body))]...), g.body...), reply...), true
	}
	return reply, true
}

// procedures are all that the load engine calls.
func procedures() [][2]uint32 {
	all := [][2]uint32{{mount.Program, mount.ProcMnt}}
	for _, p := range []uint32{
		v3.ProcFsinfo, v3.ProcFsstat, v3.ProcLookup, v3.ProcGetattr, v3.ProcMkdir, v3.ProcCreate, v3.ProcReaddirplus,
		v3.ProcRead, v3.ProcWrite, v3.ProcCommit, v3.ProcRemove, v3.ProcRmdir, v3.ProcRename,
	} {
		all = append(all, [2]uint32{v3.Program, p})
	}
	return all
}

// clientBytes is what a mount with one channel and one small stream takes, with
// the server of the test, however it ends: connections that are made again, each
// with its buffers.
const clientBytes = 96 << 20

// FuzzClient lets a server send hostile bytes in the place of any reply, on
// connections for names as on those for data. Whatever comes, every call ends,
// reads fill their buffer or say why not, and memory follows what arrived.
func FuzzClient(f *testing.F) {
	for i := range procedures() {
		for _, how := range []byte{0, forgeChanges, forgeReply, forgeStream, forgeBefore} {
			f.Add(byte(i), how, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0xFF, 0xFF, 0xFF, 0xFF})
		}
	}
	f.Add(byte(8), byte(forgeReply), []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5})
	f.Add(byte(8), byte(forgeStream), []byte{0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4})
	f.Add(byte(8), byte(0), binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0}, 1<<31))
	f.Add(byte(9), byte(0), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8})
	g := &atomic.Pointer[forgery]{}
	g.Store(&forgery{})
	s := &faulty.Server{Rewrite: func(c faulty.Call, reply []byte) ([]byte, bool) { return g.Load().rewrite(c, reply) }}
	s.Start(f, "127.0.0.1")
	s.AddFile("data", make([]byte, 64<<10))
	f.Fuzz(func(t *testing.T, which, how byte, body []byte) {
		all := procedures()
		p := all[int(which)%len(all)]
		next := &forgery{program: p[0], procedure: p[1], how: how, body: body}
		next.left.Store(2)
		g.Store(next)
		memory.Bound(t, clientBytes+64*len(body), func() { useExport(t, s.Port(), len(body)) })
	})
}

// useExport does what a run does, on an export that may lie. Errors are as good
// as success, but everything comes to an end.
func useExport(t *testing.T, port, hostile int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tgt, err := direct.Open(ctx, options(port, func(e *runfile.Engine) {
		e.Channels = runfile.ChannelsTo("127.0.0.1")
		e.CallTimeoutSeconds, e.MountTimeoutSeconds = 1, 1
	}))
	if err != nil {
		return
	}
	defer func() { _ = tgt.Close() }()
	dir, err := tgt.Directory(ctx, "d", true)
	if err != nil {
		return
	}
	names, _ := dir.List(ctx)
	if len(names) > hostile/8+10 {
		t.Fatalf("%d names from %d bytes", len(names), hostile)
	}
	file, err := dir.Open(ctx, "f", target.OpenOptions{Create: true})
	if target.IsExist(err) {
		file, err = dir.Open(ctx, "f", target.OpenOptions{Stable: true})
	}
	if err == nil {
		useFile(t, ctx, tgt, file)
	}
	_ = dir.Remove(ctx, "f")
	_ = tgt.RemoveDirectory(ctx, "d")
	if ctx.Err() != nil {
		t.Fatal("it did not come to an end")
	}
}

//nolint:revive // a test's context comes behind the test
func useFile(t *testing.T, ctx context.Context, tgt target.Target, file target.File) {
	t.Helper()
	const block = 4096
	arena, err := target.NewArena(2, block)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arena.Release() }()
	_ = file.WriteAt(ctx, arena.Buffer(0), 0)
	_, _ = file.Commit(ctx)
	_, _ = file.Size(ctx)
	if n, err := file.ReadAt(ctx, arena.Buffer(1), 0); n > block || n < block && err == nil {
		t.Fatalf("ReadAt = %d, %v", n, err)
	}
	stream, err := tgt.NewStream(ctx, target.StreamOptions{Slots: 2, BlockBytes: block, Streams: 1})
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	stream.Run(ctx, &twice{t: t, file: file, arena: arena})
}

// twice reads and then writes a block in each of two slots.
type twice struct {
	t     *testing.T
	file  target.File
	arena *target.Arena
	done  [2]int
}

func (d *twice) Next(io *target.IO) bool {
	if d.done[io.Slot] == 2 {
		return false
	}
	io.Write, io.File, io.Buf = d.done[io.Slot] == 1, d.file, d.arena.Buffer(io.Slot)
	io.Offset = int64(io.Slot) * int64(len(io.Buf))
	d.done[io.Slot]++
	return true
}

func (d *twice) Done(done *target.IO) {
	if errors.Is(done.Err, io.ErrUnexpectedEOF) {
		d.t.Errorf("the end of a file is told as %v", done.Err)
	}
}
