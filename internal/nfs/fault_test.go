package nfs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// readAll reads the file in blocks from several goroutines and compares it.
func readAll(t *testing.T, f *File, content []byte, rounds int) {
	t.Helper()
	const block = 8192
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			p := make([]byte, block)
			for r := range rounds {
				off := ((r*8 + w) * block) % (len(content) - block)
				if n, err := f.ReadAt(t.Context(), p, int64(off)); n != block || err != nil {
					t.Errorf("ReadAt = %d, %v", n, err)
					return
				}
				if !bytes.Equal(p, content[off:off+block]) {
					t.Errorf("content differs at %d", off)
				}
			}
		})
	}
	wg.Wait()
}

func TestADyingChannelCostsNoError(t *testing.T) {
	for name, act := range map[string]faulty.Action{
		"disconnected":         faulty.Disconnect,
		"truncated reply":      faulty.Truncate,
		"garbage once":         faulty.Garbage,
		"oversized reply once": faulty.Oversize,
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := &faulty.Server{Hook: faulty.On(v3.ProcRead, act, func(c faulty.Call) bool {
				return c.Address == "127.0.0.2" && calls.Add(1) == 50
			})}
			c := start(t, s, nil, "127.0.0.1", "127.0.0.2")
			content := randomBytes(1 << 20)
			f := c.OpenFile(FileHandle(s.AddFile("data", content)))
			readAll(t, f, content, 200)
			waitFor(t, func() bool { return c.Channels()[1].Reconnects > 0 })
			ch := c.Channels()
			if ch[1].Retransmits == 0 || ch[1].LastError == "" || ch[0].Reconnects != 0 {
				t.Errorf("the loss is not counted on the channel that died: %+v", ch)
			}
		})
	}
}

func TestAChannelThatStaysDownIsLeftOut(t *testing.T) {
	s := &faulty.Server{}
	c := start(t, s, nil, "127.0.0.1", "127.0.0.2")
	content := randomBytes(1 << 20)
	f := c.OpenFile(FileHandle(s.AddFile("data", content)))
	readAll(t, f, content, 10)
	s.Kill("127.0.0.2")
	readAll(t, f, content, 50)
	waitFor(t, func() bool { return c.Channels()[1].State == ChannelReconnecting })
	waitFor(t, func() bool { return c.Channels()[1].Down > 0 }) // counted while it lasts
	before := c.Channels()[1].BytesRead
	readAll(t, f, content, 50)
	if got := c.Channels()[1].BytesRead; got != before {
		t.Errorf("a channel that is down read %d bytes", got-before)
	}
	if err := s.Listen("127.0.0.2"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return c.Channels()[1].State == ChannelUp })
	readAll(t, f, content, 50)
	if ch := c.Channels()[1]; ch.BytesRead == before || ch.Reconnects != 1 {
		t.Errorf("the channel is not in use again: %+v", ch)
	}
}

func TestALoneChannelComesBackWithTheSameXID(t *testing.T) {
	var mu sync.Mutex
	var xids []uint32
	s := &faulty.Server{}
	s.Hook = func(c faulty.Call) faulty.Action {
		if c.Procedure != v3.ProcRead || c.Program != v3.Program {
			return faulty.Answer
		}
		mu.Lock()
		defer mu.Unlock()
		xids = append(xids, c.XID)
		if len(xids) == 1 {
			return faulty.Disconnect
		}
		return faulty.Answer
	}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", randomBytes(8192))))
	if _, err := f.ReadAt(t.Context(), make([]byte, 8192), 0); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(xids) != 2 || xids[0] != xids[1] {
		t.Errorf("xids of the attempts are %v, want the same one twice", xids)
	}
}

func TestServersThatNeverSpeakRPCEndInAClearError(t *testing.T) {
	for name, tc := range map[string]struct {
		act  faulty.Action
		want string
	}{
		"garbage":  {faulty.Garbage, "not a reply"},
		"oversize": {faulty.Oversize, "larger than allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := &faulty.Server{Hook: faulty.On(v3.ProcRead, tc.act, func(faulty.Call) bool { calls.Add(1); return true })}
			c := start(t, s, nil, "127.0.0.1", "127.0.0.2")
			f := c.OpenFile(FileHandle(s.AddFile("data", randomBytes(8192))))
			_, err := f.ReadAt(t.Context(), make([]byte, 8192), 0)
			if err == nil || !rpc.IsProtocolError(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want a protocol error with %q", err, tc.want)
			}
			if n := calls.Load(); n != protocolTries {
				t.Errorf("it was asked %d times, want %d", n, protocolTries)
			}
		})
	}
}

// ahead is a clock that a test puts forward: so a call times out after an hour of its own, and
// not when this machine is busy.
type ahead struct{ by atomic.Int64 }

func (a *ahead) add(d time.Duration) bool {
	a.by.Add(int64(d))
	return true
}

func (a *ahead) config(c *Config) {
	c.CallTimeout, c.Now = time.Hour, func() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }
}

func TestASilentServerEndsInATimeout(t *testing.T) {
	var late ahead
	s := &faulty.Server{Hook: faulty.On(v3.ProcRead, faulty.Drop, func(faulty.Call) bool { return late.add(40 * time.Minute) })}
	c := start(t, s, late.config)
	f := c.OpenFile(FileHandle(s.AddFile("data", randomBytes(8192))))
	_, err := f.ReadAt(t.Context(), make([]byte, 8192), 0)
	if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error is %v, want a timeout that names the path", err)
	}
	if ch := c.Channels()[0]; ch.Retransmits == 0 {
		t.Errorf("the call was not sent again before it was given up: %+v", ch)
	}
}

func TestOneLostReplyIsAskedForAgain(t *testing.T) {
	var calls atomic.Int64
	var late ahead
	s := &faulty.Server{Hook: faulty.On(v3.ProcRead, faulty.Drop, func(faulty.Call) bool { return calls.Add(1) == 1 && late.add(40*time.Minute) })}
	c := start(t, s, late.config)
	content := randomBytes(8192)
	f := c.OpenFile(FileHandle(s.AddFile("data", content)))
	p := make([]byte, 8192)
	if _, err := f.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, content) {
		t.Errorf("ReadAt = %v, or other bytes", err)
	}
}

func TestAServerThatAsksToTryLaterIsAskedAgain(t *testing.T) {
	var mu sync.Mutex
	xids := map[uint32]bool{}
	s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
		mu.Lock()
		defer mu.Unlock()
		if c.Procedure != v3.ProcWrite && c.Procedure != v3.ProcRead || xids[0] {
			return faulty.Answer
		}
		xids[c.XID] = true
		if len(xids) == 3 {
			xids[0] = true // enough
			return faulty.Answer
		}
		return faulty.TryLater
	}}
	c := start(t, s, nil)
	content := randomBytes(8192)
	f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
	if n, err := f.WriteAt(t.Context(), content, 0, FileSync); n != 8192 || err != nil {
		t.Fatalf("WriteAt = %d, %v", n, err)
	}
	if !bytes.Equal(s.Content("data"), content) {
		t.Error("content differs")
	}
	if len(xids) != 4 {
		t.Errorf("%d xids for 3 attempts: the server would repeat its first answer to the same one", len(xids)-1)
	}
}

func TestAServerThatAsksToTryLaterIsAskedAgainForNames(t *testing.T) {
	var asked atomic.Int32
	s := &faulty.Server{Hook: faulty.On(v3.ProcLookup, faulty.TryLater, func(faulty.Call) bool { return asked.Add(1) == 1 })}
	c := start(t, s, nil)
	want := s.AddFile("data", nil)
	if got, err := c.Lookup(t.Context(), c.Root(), "data"); err != nil || string(got) != string(want) || asked.Load() != 2 {
		t.Errorf("Lookup = %q, %v after %d attempts; want %q after 2", got, err, asked.Load(), want)
	}
}

func TestAFullDiskIsSaidAtOnce(t *testing.T) {
	s := &faulty.Server{Hook: faulty.On(v3.ProcWrite, faulty.NoSpace, nil)}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
	n, err := f.WriteAt(t.Context(), make([]byte, 5<<20), 4096, Unstable)
	if n != 0 || !IsNoSpace(err) || !strings.Contains(err.Error(), "offset 4096") {
		t.Errorf("WriteAt = %d, %v; want no space, with the offset", n, err)
	}
	if ch := c.Channels()[0]; ch.InFlight != 0 || ch.Reconnects != 0 {
		t.Errorf("parts of the write are left behind: %+v", ch)
	}
}

func TestACancelledReadLeavesTheConnectionInUse(t *testing.T) {
	entered := make(chan struct{}, 1)
	var calls atomic.Int64
	s := &faulty.Server{Hook: faulty.On(v3.ProcRead, faulty.Drop, func(faulty.Call) bool {
		if calls.Add(1) > 1 {
			return false
		}
		entered <- struct{}{}
		return true
	})}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", randomBytes(8192))))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	if _, err := f.ReadAt(ctx, make([]byte, 8192), 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("ReadAt = %v, want that it was cancelled", err)
	}
	if _, err := f.ReadAt(t.Context(), make([]byte, 8192), 0); err != nil {
		t.Fatal(err)
	}
	if ch := c.Channels()[0]; ch.Reconnects != 0 || ch.InFlight != 0 {
		t.Errorf("after a cancelled call: %+v", ch)
	}
}

func TestCloseEndsCallsThatWait(t *testing.T) {
	entered := make(chan struct{}, 1)
	s := &faulty.Server{Hook: faulty.On(v3.ProcRead, faulty.Drop, func(faulty.Call) bool { entered <- struct{}{}; return true })}
	c := start(t, s, nil)
	f := c.OpenFile(FileHandle(s.AddFile("data", randomBytes(8192))))
	result := make(chan error)
	go func() {
		_, err := f.ReadAt(t.Context(), make([]byte, 8192), 0)
		result <- err
	}()
	<-entered
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("the waiting call got %v, want rpc.ErrClosed", err)
	}
	if got := c.Channels()[0].State; got != ChannelClosed {
		t.Errorf("state is %s", got)
	}
}

func TestDialWorksWhileOnePathIsDown(t *testing.T) {
	s := &faulty.Server{}
	s.Start(t, "127.0.0.2")
	c, err := Dial(t.Context(), config(s, nil, "127.0.0.1", "127.0.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ch := c.Channels()
	if ch[0].State != ChannelReconnecting || !strings.Contains(ch[0].LastError, "nothing listens") || ch[1].State != ChannelUp {
		t.Errorf("channels are %+v", ch)
	}
}

func TestChannelsShareTheLoad(t *testing.T) {
	s := &faulty.Server{}
	c := start(t, s, nil, "127.0.0.1", "127.0.0.2", "127.0.0.3")
	content := randomBytes(1 << 20)
	f := c.OpenFile(FileHandle(s.AddFile("data", content)))
	for i := range 300 {
		if _, err := f.ReadAt(t.Context(), make([]byte, 8192), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, ch := range c.Channels() {
		if ch.BytesRead < 90*8192 {
			t.Errorf("channel %s read %d bytes of %d", ch.Path, ch.BytesRead, 300*8192)
		}
	}
}

func TestTheChannelWithTheFewestCallsIsTaken(t *testing.T) {
	c := start(t, &faulty.Server{}, nil, "127.0.0.1", "127.0.0.2", "127.0.0.3")
	for i, n := range []int64{5, 2, 9} {
		c.transport.channels[i].counters.InFlight.Add(n)
		defer c.transport.channels[i].counters.InFlight.Add(-n)
	}
	for range 10 {
		if ch, _ := c.transport.leastBusy(); ch != c.transport.channels[1] {
			t.Fatalf("path %s is taken, want the one with 2 calls in flight", ch.addr.Path)
		}
	}
}

func TestANameThatALostCallMadeChangedOrRemovedIsNoError(t *testing.T) {
	var mu sync.Mutex
	seen := map[uint32]bool{}
	s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
		mu.Lock()
		defer mu.Unlock()
		if c.Program == v3.Program && c.Procedure != v3.ProcFsinfo && !seen[c.XID] {
			seen[c.XID] = true
			return faulty.Lose
		}
		return faulty.Answer
	}}
	c, ctx := start(t, s, nil), t.Context()
	dir, err := c.Mkdir(ctx, c.Root(), "d", 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(ctx, dir, "f", 0o600, true); err != nil {
		t.Error(err)
	}
	if err := c.Rename(ctx, dir, "f", "g"); err != nil {
		t.Error(err)
	}
	if err := c.Remove(ctx, dir, "g"); err != nil {
		t.Error(err)
	}
	if err := c.Rmdir(ctx, c.Root(), "d"); err != nil {
		t.Error(err)
	}
}

func TestARemovalThatMetAnotherFindsTheNameGone(t *testing.T) {
	s := &faulty.Server{Hook: faulty.On(v3.ProcRmdir, faulty.Fail(v3.ErrStale), nil)}
	c, ctx := start(t, s, nil), t.Context()
	if err := c.Rmdir(ctx, c.Root(), "gone"); !IsNotExist(err) {
		t.Errorf("of a name that is gone: %v, want that it does not exist", err)
	}
	if _, err := c.Mkdir(ctx, c.Root(), "there", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Rmdir(ctx, c.Root(), "there"); !IsStale(err) {
		t.Errorf("of a name that is there: %v, want the server's error", err)
	}
}

// waitFor waits for something that another goroutine does soon.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not happen within 2 minutes")
		}
	}
}
