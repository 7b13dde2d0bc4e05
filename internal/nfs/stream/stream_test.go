package stream_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// script drives a stream through a list of I/Os and keeps what became of them.
type script struct {
	todo    []stream.IO
	errs    []error
	threads []atomic.Int64
	next    atomic.Int64
	bufs    [][]byte // by slot
	at      []int64  // by slot: which of todo
	check   func(i int, p []byte)
	after   func(done int64)
	done    atomic.Int64
}

func newScript(s *nfs.Stream, slots, size int, todo []stream.IO) *script {
	d := &script{todo: todo, errs: make([]error, len(todo)), threads: make([]atomic.Int64, s.Threads()), at: make([]int64, slots)}
	for range slots {
		d.bufs = append(d.bufs, make([]byte, size))
	}
	return d
}

func (d *script) Next(x *stream.IO) bool {
	i := d.next.Add(1) - 1
	if i >= int64(len(d.todo)) {
		return false
	}
	t := d.todo[i]
	d.at[x.Slot] = i
	x.Write, x.Handle, x.Offset, x.Stable = t.Write, t.Handle, t.Offset, t.Stable
	x.Buf = t.Buf
	if !t.Write {
		x.Buf = d.bufs[x.Slot][:len(t.Buf)]
	}
	return true
}

// succeeds runs the script, of which nothing may fail.
func (d *script) succeeds(t *testing.T, s *nfs.Stream) {
	t.Helper()
	s.Run(t.Context(), d)
	for i, err := range d.errs {
		if err != nil {
			t.Fatalf("I/O %d: %v", i, err)
		}
	}
}

// compares lets the script compare each read with what is to be there.
func (d *script) compares(t *testing.T) *script {
	t.Helper()
	d.check = func(i int, p []byte) {
		if !bytes.Equal(p, d.todo[i].Buf) {
			t.Errorf("read %d at %d brought other bytes", i, d.todo[i].Offset)
		}
	}
	return d
}

func (d *script) Done(x *stream.IO) {
	i := d.at[x.Slot]
	d.errs[i] = x.Err
	d.threads[x.Thread].Add(1)
	if d.check != nil && x.Err == nil {
		d.check(int(i), x.Buf)
	}
	if n := d.done.Add(1); d.after != nil {
		d.after(n)
	}
}

// reads makes count reads of size bytes, one behind the other and around.
func reads(handle []byte, content []byte, size, count int) []stream.IO {
	todo := make([]stream.IO, count)
	blocks := len(content) / size
	for i := range todo {
		off := i % blocks * size
		todo[i] = stream.IO{Handle: handle, Offset: int64(off), Buf: content[off : off+size]}
	}
	return todo
}

// TestMain gives the server in this process processors of its own beside the threads of
// a stream, which wait in system calls. With two processors the scheduler takes
// milliseconds to notice that, for each I/O.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(64)
	os.Exit(m.Run())
}

// start serves on the addresses and mounts over all of them. The clock of the client stands
// still until it has mounted: its timeout is for the calls of streams.
func start(t *testing.T, s *faulty.Server, timeout time.Duration, addresses ...string) *nfs.Client {
	t.Helper()
	s.Start(t, addresses...)
	var mounted atomic.Bool
	began := time.Now()
	now := func() time.Time {
		if !mounted.Load() {
			return began
		}
		return time.Now()
	}
	cfg := nfs.Config{Export: "/export", NFSPort: s.Port(), MountPort: s.Port(), Now: now, CallTimeout: timeout, MountTimeout: time.Hour}
	for _, a := range addresses {
		cfg.Channels = append(cfg.Channels, nfs.Channel{Path: a})
	}
	c, err := nfs.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	mounted.Store(true)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(p)
	return p
}

func openStream(t *testing.T, c *nfs.Client, slots, block int) *nfs.Stream {
	t.Helper()
	s, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: slots, BlockBytes: int64(block)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStreamReadsEveryBlockFromItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		size, slots, count int
		addresses          []string
		maxTransfer        int
		shortRead          uint32
	}{
		"small":              {"many replies come in one receive", 8 << 10, 64, 2000, []string{"127.0.0.1"}, 0, 0},
		"one at a time":      {"", 512, 1, 200, []string{"127.0.0.1"}, 0, 0},
		"large":              {"data are received in place", 1 << 20, 8, 64, []string{"127.0.0.1", "127.0.0.2"}, 0, 0},
		"odd":                {"padding follows the data", 70_001, 5, 100, []string{"127.0.0.1"}, 0, 0},
		"in fragments":       {"a block is larger than the transfer size", 1 << 20, 3, 30, []string{"127.0.0.1", "127.0.0.2"}, 64 << 10, 0},
		"short":              {"the server gives less than asked", 128 << 10, 4, 50, []string{"127.0.0.1"}, 0, 50_000},
		"deep":               {"depth 1024 on a channel", 4 << 10, 1024, 20_000, []string{"127.0.0.1"}, 0, 0},
		"fewer than threads": {"slots go from thread to thread", 8 << 10, 1, 400, []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := &faulty.Server{MaxTransfer: tc.maxTransfer, Short: func(faulty.Call) uint32 { return tc.shortRead }}
			c := start(t, server, time.Hour, tc.addresses...)
			content := randomBytes(8 << 20)
			handle := server.AddFile("data", content)
			s := openStream(t, c, tc.slots, tc.size)
			d := newScript(s, tc.slots, tc.size, reads(handle, content, tc.size, tc.count)).compares(t)
			d.succeeds(t, s)
			for i := range d.threads {
				if d.threads[i].Load() == 0 {
					t.Errorf("thread %d carried nothing", i)
				}
			}
			var data, wire int64
			for _, k := range c.Channels() {
				data, wire = data+k.BytesRead, wire+k.WireBytesRead
			}
			if want := int64(tc.size * tc.count); data != want || wire <= want {
				t.Errorf("the channels counted %d bytes read, want %d, and %d on the wire, want more", data, want, wire)
			}
		})
	}
}

func TestAStreamWritesEveryBlockToItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		size, slots, transfer int
	}{
		"small": {8 << 10, 32, 0}, "large": {1 << 20, 4, 0}, "odd": {33_333, 4, 0}, "in fragments": {256 << 10, 3, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			server := &faulty.Server{MaxTransfer: tc.transfer}
			c := start(t, server, time.Hour, "127.0.0.1", "127.0.0.2")
			content := randomBytes(tc.size * 40)
			handle := server.AddFile("data", make([]byte, len(content)))
			s := openStream(t, c, tc.slots, tc.size)
			todo := reads(handle, content, tc.size, 40)
			for i := range todo {
				todo[i].Write, todo[i].Stable = true, stream.FileSync
			}
			newScript(s, tc.slots, tc.size, todo).succeeds(t, s)
			got := make([]byte, len(content))
			if _, err := c.OpenFile(nfs.FileHandle(handle)).ReadAt(t.Context(), got, 0); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, content) {
				t.Error("the file is not what was written")
			}
		})
	}
}

func TestAStreamTellsWhatWentWrong(t *testing.T) {
	content := randomBytes(64 << 10)
	for name, tc := range map[string]struct {
		action faulty.Action
		write  bool
		offset int64
		limit  time.Duration // of a call; 0 = none
		want   func(error) bool
	}{
		"end of file": {want: func(err error) bool { return errors.Is(err, io.EOF) }, offset: 60 << 10},
		"no space":    {action: faulty.NoSpace, write: true, want: nfs.IsNoSpace},
		"denied":      {action: faulty.Deny, write: true, want: nfs.IsPermission},
		"no answer":   {action: faulty.Drop, limit: 2 * time.Second, want: func(err error) bool { return errors.Is(err, stream.ErrTimeout) }},
		"garbage":     {action: faulty.Garbage, want: func(err error) bool { return err != nil && !errors.Is(err, stream.ErrTimeout) }},
		"oversize":    {action: faulty.Oversize, want: func(err error) bool { return err != nil && !errors.Is(err, stream.ErrTimeout) }},
		"ask later":   {action: faulty.TryLater, limit: 2 * time.Second, want: func(err error) bool { return errors.Is(err, v3.ErrJukebox) }},
		"bad handle":  {want: func(err error) bool { return err != nil }, offset: -1},
	} {
		t.Run(name, func(t *testing.T) {
			server := &faulty.Server{Hook: func(k faulty.Call) faulty.Action {
				if k.Procedure == v3.ProcRead || k.Procedure == v3.ProcWrite {
					return tc.action
				}
				return faulty.Answer
			}}
			c := start(t, server, cmp.Or(tc.limit, time.Hour), "127.0.0.1")
			handle := server.AddFile("data", content)
			s := openStream(t, c, 2, 8<<10)
			todo := []stream.IO{{Handle: handle, Offset: tc.offset, Buf: content[:8<<10], Write: tc.write, Stable: stream.FileSync}}
			if tc.offset < 0 {
				todo[0].Handle, todo[0].Offset = []byte("no such handle at all"), 0
			}
			d := newScript(s, 2, 8<<10, todo)
			s.Run(t.Context(), d)
			if !tc.want(d.errs[0]) {
				t.Errorf("the error is %v", d.errs[0])
			}
			t.Log(d.errs[0])
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAStreamLosesNothingWithAChannel(t *testing.T) {
	for name, action := range map[string]faulty.Action{
		"closed": faulty.Disconnect, "truncated": faulty.Truncate, "garbage": faulty.Garbage, "oversized": faulty.Oversize,
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			server := &faulty.Server{Hook: faulty.On(v3.ProcRead, action, func(k faulty.Call) bool {
				return calls.Add(1)%100 == 0 && k.Address == "127.0.0.2"
			})}
			c := start(t, server, time.Hour, "127.0.0.1", "127.0.0.2")
			content := randomBytes(4 << 20)
			handle := server.AddFile("data", content)
			s := openStream(t, c, 32, 8<<10)
			newScript(s, 32, 8<<10, reads(handle, content, 8<<10, 5000)).compares(t).succeeds(t, s)
			k := c.Channels()[1]
			if k.Reconnects == 0 || k.Retransmits == 0 || k.Down == 0 || k.LastError == "" {
				t.Errorf("the loss of the channel does not show: %+v", k)
			}
		})
	}
}

// The server executes each call that it sees. With one call under way, it sees each that was sent.
func TestTheCallsThatCountAsSentAgainAreThoseThatTheServerSeesAgain(t *testing.T) {
	const writes = 40
	var calls atomic.Int64
	server := &faulty.Server{Hook: func(k faulty.Call) faulty.Action {
		if k.IsWrite() && calls.Add(1)%10 < 2 { // also the second time
			return faulty.Lose
		}
		return faulty.Answer
	}}
	c := start(t, server, time.Hour, "127.0.0.1", "127.0.0.2")
	content := randomBytes(1 << 20)
	todo := reads(server.AddFile("data", make([]byte, len(content))), content, 8<<10, writes)
	for i := range todo {
		todo[i].Write, todo[i].Stable = true, stream.FileSync
	}
	s := openStream(t, c, 1, 8<<10)
	newScript(s, 1, 8<<10, todo).succeeds(t, s)
	var again int64
	for _, k := range c.Channels() {
		again += k.Retransmits
	}
	if seen := calls.Load() - writes; again != seen || seen == 0 {
		t.Errorf("%d calls count as sent again, and the server saw %d again", again, seen)
	}
}

func TestTheThreadThatEndsAnIOTellsOfIt(t *testing.T) {
	begun := make(chan struct{})
	var once sync.Once
	server := &faulty.Server{Hook: func(k faulty.Call) faulty.Action {
		if k.Procedure != v3.ProcRead {
			return faulty.Answer
		}
		if k.Address == "127.0.0.2" {
			once.Do(func() { close(begun) })
			return faulty.Disconnect
		}
		<-begun // or all could be over before the other path has begun
		return faulty.Answer
	}}
	c := start(t, server, time.Hour, "127.0.0.1", "127.0.0.2")
	content := randomBytes(1 << 20)
	handle := server.AddFile("data", content)
	s := openStream(t, c, 16, 8<<10)
	d := newScript(s, 16, 8<<10, reads(handle, content, 8<<10, 500))
	s.Run(t.Context(), d)
	if c.Channels()[1].Retransmits == 0 {
		t.Fatal("no read began on the path that answers none")
	}
	if n := d.threads[1].Load(); n != 0 {
		t.Errorf("%d reads are said to have ended on a path that never answered one", n)
	}
}

// until reads the same block until thread has ended enough I/Os, or the time is over.
type until struct {
	handle []byte
	bufs   [][]byte
	thread int
	enough int64
	limit  time.Time
	done   atomic.Int64
}

func (d *until) Next(x *stream.IO) bool {
	x.Handle, x.Buf = d.handle, d.bufs[x.Slot]
	return d.done.Load() < d.enough && time.Now().Before(d.limit)
}

func (d *until) Done(x *stream.IO) {
	if x.Thread == d.thread && x.Err == nil {
		d.done.Add(1)
	}
}

func TestAThreadThatComesBackGetsItsShareAgain(t *testing.T) {
	var lost atomic.Bool
	server := &faulty.Server{Hook: faulty.On(v3.ProcRead, faulty.Disconnect, func(k faulty.Call) bool {
		return k.Address == "127.0.0.2" && !lost.Swap(true)
	})}
	c := start(t, server, time.Hour, "127.0.0.1", "127.0.0.2")
	handle := server.AddFile("data", make([]byte, 8<<10))
	d := &until{handle: handle, thread: 1, enough: 500, limit: time.Now().Add(time.Hour)}
	for range 16 {
		d.bufs = append(d.bufs, make([]byte, 8<<10))
	}
	openStream(t, c, len(d.bufs), 8<<10).Run(t.Context(), d)
	if c.Channels()[1].Reconnects == 0 {
		t.Error("the path was not lost")
	}
	if n := d.done.Load(); n < d.enough {
		t.Errorf("%d reads ended on the path that came back, want %d", n, d.enough)
	}
}

func TestACancelledStreamEndsAndCanRunAgain(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	var drop atomic.Bool
	var dropped atomic.Int32
	drop.Store(true)
	server := &faulty.Server{Hook: faulty.On(v3.ProcRead, faulty.Drop, func(faulty.Call) bool {
		if !drop.Load() {
			return false
		}
		if dropped.Add(1) == 16 {
			cancel(why)
		}
		return true
	})}
	c := start(t, server, time.Hour, "127.0.0.1", "127.0.0.2")
	content := randomBytes(1 << 20)
	handle := server.AddFile("data", content)
	s := openStream(t, c, 16, 8<<10)
	d := newScript(s, 16, 8<<10, reads(handle, content, 8<<10, 100))
	s.Run(ctx, d)
	for i := range 16 {
		if !errors.Is(d.errs[i], why) {
			t.Fatalf("read %d ended with %v", i, d.errs[i])
		}
	}
	drop.Store(false)
	newScript(s, 16, 8<<10, reads(handle, content, 8<<10, 100)).succeeds(t, s)
}
