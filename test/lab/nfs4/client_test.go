package nfs4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

const (
	here  = "127.0.0.1"
	there = "127.0.0.2"
)

// versions are those that most tests run with.
func versions() []bench.NFSVersion { return []bench.NFSVersion{bench.NFSv40, bench.NFSv41} }

// mount4 serves on the addresses and mounts over all of them. The server checks at the end
// that nothing is left.
func mount4(tb testing.TB, s *nfs4test.Server, v bench.NFSVersion, addresses ...string) *nfs.Client {
	tb.Helper()
	if len(addresses) == 0 {
		addresses = []string{here}
	}
	s.Start(tb, addresses...)
	c, err := nfs.Dial(tb.Context(), config4(s, v, nil, addresses...))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

func config4(s *nfs4test.Server, v bench.NFSVersion, change func(*nfs.Config), addresses ...string) nfs.Config {
	cfg := nfs.Config{Export: "/export", Version: v, NFSPort: s.Port(), Now: time.Now, CallTimeout: time.Hour, MountTimeout: time.Hour}
	for _, a := range addresses {
		cfg.Channels = append(cfg.Channels, nfs.Channel{Path: a})
	}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// patient lets a client wait for an answer longer than any test takes: what comes to an end
// did not wait for one.
func patient(c *nfs.Config) { c.CallTimeout = time.Hour }

func create4(tb testing.TB, c *nfs.Client, name string) *nfs.File {
	tb.Helper()
	f, err := c.Create(tb.Context(), c.Root(), name, 0o600, true)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(context.WithoutCancel(tb.Context())); err != nil && !errors.Is(err, rpc.ErrClosed) {
			tb.Error(err)
		}
	})
	return f
}

// first makes the server do something to the first call that has an operation.
func first(op v4.Op, a nfs4test.Action) func(nfs4test.Call) nfs4test.Action {
	var done atomic.Bool
	return func(c nfs4test.Call) nfs4test.Action {
		if c.Has(op) && !done.Swap(true) {
			return a
		}
		return nfs4test.Action{}
	}
}

func TestNFSv4NamesComeAndGo(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			ctx := t.Context()
			c := mount4(t, &nfs4test.Server{NumLinks: 2}, v)
			f, err := c.Create(ctx, c.Root(), "a", 0o600, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Create(ctx, c.Root(), "a", 0o600, true); !nfs.IsExist(err) {
				t.Errorf("a second exclusive create: %v, want that the name exists", err)
			}
			again, err := c.Create(ctx, c.Root(), "a", 0o600, false)
			if err != nil || again.Handle() != f.Handle() {
				t.Errorf("create of what exists: %v, want the same file", err)
			}
			dir, err := c.Mkdir(ctx, c.Root(), "d", 0o700)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Lookup(ctx, c.Root(), "d"); err != nil || got != dir {
				t.Errorf("Lookup = %q, %v; want %q", got, err, dir)
			}
			if err := c.SetSize(ctx, f.Handle(), 12345); err != nil {
				t.Error(err)
			}
			if a, err := c.Getattr(ctx, f.Handle()); err != nil || a != (nfs.Attr{Type: nfs.TypeRegular, SizeBytes: 12345, Links: 2}) {
				t.Errorf("attributes %+v, %v", a, err)
			}
			entries, err := c.ReadDir(ctx, c.Root())
			if slices.Sort(entries); err != nil || !slices.Equal(entries, []string{"a", "d"}) {
				t.Errorf("ReadDir = %v, %v", entries, err)
			}
			if err := errors.Join(f.Close(ctx), f.Close(ctx), again.Close(ctx)); err != nil {
				t.Error(err)
			}
			if err := c.Rename(ctx, c.Root(), "missing", "a"); !nfs.IsNotExist(err) {
				t.Errorf("a missing name was renamed: %v", err)
			}
			part, err := c.Create(ctx, c.Root(), "a.part", 0o600, true)
			if err == nil {
				err = errors.Join(part.Close(ctx), c.Rename(ctx, c.Root(), "a.part", "a"))
			}
			if got, lost := c.Lookup(ctx, c.Root(), "a"); err != nil || lost != nil || got != part.Handle() {
				t.Errorf("after a rename: %q, %v, %v", got, err, lost)
			}
			if err := c.Rmdir(ctx, c.Root(), "a"); err == nil {
				t.Error("a file was removed as a directory")
			}
			if err := errors.Join(c.Remove(ctx, c.Root(), "a"), c.Rmdir(ctx, c.Root(), "d")); err != nil {
				t.Error(err)
			}
			if _, err := c.Open(ctx, c.Root(), "a"); !nfs.IsNotExist(err) {
				t.Errorf("open of a removed name: %v", err)
			}
			if _, err := c.Getattr(ctx, f.Handle()); !nfs.IsStale(err) {
				t.Errorf("attributes of a removed file: %v, want a stale handle", err)
			}
		})
	}
}

func TestNFSv4DataGoRound(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			s := &nfs4test.Server{MaxTransfer: 64 << 10}
			c := mount4(t, s, v, here, there)
			f := create4(t, c, "data")
			content := randomBytes(1<<20 + 33)
			for _, stable := range []nfs.Stability{nfs.Unstable, nfs.FileSync} {
				if n, err := f.WriteAt(t.Context(), content, 7, stable); n != len(content) || err != nil {
					t.Fatalf("WriteAt = %d, %v", n, err)
				}
				if got := f.UncommittedBytes() > 0; got != (stable == nfs.Unstable) {
					t.Errorf("uncommitted: %v", got)
				}
				if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 {
					t.Fatal(lost, err)
				}
				p := make([]byte, len(content)+1)
				if n, err := f.ReadAt(t.Context(), p, 7); n != len(content) || !errors.Is(err, io.EOF) || !bytes.Equal(p[:n], content) {
					t.Fatalf("ReadAt = %d, %v, or other bytes", n, err)
				}
			}
			if n := s.Counters(here).Commits + s.Counters(there).Commits; n != 1 {
				t.Errorf("%d commits, want one", n)
			}
		})
	}
}

// TestNFSv4CommitTellsWhatARestartLost: the verifier of NFSv4 changes with a restart.
func TestNFSv4CommitTellsWhatARestartLost(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			s := &nfs4test.Server{}
			c := mount4(t, s, v)
			f := create4(t, c, "data")
			content := randomBytes(50_000)
			if _, err := f.WriteAt(t.Context(), content, 0, nfs.Unstable); err != nil {
				t.Fatal(err)
			}
			s.Restart()
			s.EndGrace()
			if lost, err := f.Commit(t.Context()); err != nil || !slices.Equal(lost, []nfs.Span{{From: 0, To: 50_000}}) {
				t.Errorf("Commit = %v, %v, want that all is lost", lost, err)
			}
		})
	}
}

func TestAnNFSv4StreamAllocatesNothingForAnOperation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			for _, write := range []bool{false, true} {
				t.Run(fmt.Sprint("write ", write), func(t *testing.T) {
					c := mount4(t, &nfs4test.Server{}, v, here, there)
					f := create4(t, c, "data")
					s, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 16, BlockBytes: 8 << 10})
					if err != nil {
						t.Fatal(err)
					}
					d := newCircle(f, write, 16, 8<<10)
					if _, err := f.WriteAt(t.Context(), d.bufs[0], 0, nfs.FileSync); err != nil {
						t.Fatal(err)
					}
					d.allocates(t, s, 200)
					if few, many := d.allocates(t, s, 100), d.allocates(t, s, 600); many-few > 50 {
						t.Errorf("500 more operations allocate %d times more", many-few)
					}
				})
			}
		})
	}
}

// load runs a stream of reads and writes over all blocks, and File I/O beside it.
func load(t *testing.T, c *nfs.Client, depth, count int) {
	t.Helper()
	newBlocks(t, c, depth).run(t, count)
}

func TestPathsOfOneServerAreOneOrSeveral(t *testing.T) {
	for name, tc := range map[string]struct {
		identity func(string) nfs4test.Identity
		perAddr  bool
		want     bench.Trunking
		servers  int
		opens    int
	}{
		"session trunking":                        {nil, false, bench.TrunkingSession, 1, 1},
		"session trunking, client IDs by address": {nil, true, bench.TrunkingSession, 1, 1},
		"client ID trunking": {func(a string) nfs4test.Identity {
			return nfs4test.Identity{Major: "one", Minor: uint64(len(a)) + uint64(a[len(a)-1]), Scope: "s"}
		}, false, bench.TrunkingClientID, 2, 1},
		"separate": {func(a string) nfs4test.Identity { return nfs4test.Identity{Major: a, Scope: "s"} }, false, bench.TrunkingSeparate, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &nfs4test.Server{Identity: tc.identity, ClientIDPerAddress: tc.perAddr, RequireBind: true}
			c := mount4(t, s, bench.NFSv41, here, there)
			b := newBlocks(t, c, 16)
			b.run(t, 2000)
			all := c.Servers()
			if len(all) != tc.servers {
				t.Fatalf("servers %+v, want %d", all, tc.servers)
			}
			for _, one := range all {
				if one.Trunking != tc.want || one.Version != bench.NFSv41 || one.Recoveries != 0 {
					t.Errorf("server %+v, want trunking %s and no recovery", one, tc.want)
				}
			}
			if _, _, opens, _ := s.Clients(); opens != tc.opens {
				t.Errorf("%d opens, want %d", opens, tc.opens)
			}
			for _, a := range []string{here, there} {
				if k := s.Counters(a); k.BytesRead == 0 || k.BytesWritten == 0 {
					t.Errorf("path %s carried nothing: %+v", a, k)
				}
			}
		})
	}
}

func TestSeveralStreamsAtAServerWithClientIDTrunking(t *testing.T) {
	s := &nfs4test.Server{Identity: func(a string) nfs4test.Identity {
		return nfs4test.Identity{Major: "one", Minor: uint64(a[len(a)-1]), Scope: "s"}
	}}
	c := mount4(t, s, bench.NFSv41, here, there)
	for range 3 { // the sequence of CREATE_SESSION is that of the client ID, not of the path
		load(t, c, 4, 200)
	}
	s.Restart()
	s.EndGrace()
	load(t, c, 4, 200)
	if clients, _, _, _ := s.Clients(); clients != 1 {
		t.Errorf("%d clients, want one", clients)
	}
}

// TestIOWaitsForTheSlotsOfOneSession: each stream has one session, and the calls beside it have one.
func TestIOWaitsForTheSlotsOfOneSession(t *testing.T) {
	for _, slots := range []uint32{1, 4} {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) {
			s := &nfs4test.Server{Slots: slots}
			c := mount4(t, s, bench.NFSv41, here, there)
			b := newBlocks(t, c, 64)
			b.run(t, 1000)
			n := c.Servers()[0]
			if n.Slots != int(slots) || n.SlotsAsked != 64 || n.Sessions != 2 || n.Recoveries != 0 {
				t.Errorf("server %+v, want two sessions of %d slots", n, slots)
			}
			if w := n.Slot; w.Requests < 1000 || w.Waits == 0 || w.Waits > w.Requests || w.Waited <= 0 || w.Used != int(slots) || w.Wanted != 0 {
				t.Errorf("%+v, want that I/O has waited for %d slots", w, slots)
			}
			for _, a := range []string{here, there} {
				if k := s.Counters(a); k.BytesRead == 0 || k.BytesWritten == 0 {
					t.Errorf("path %s carried nothing: %+v", a, k)
				}
			}
		})
	}
}

// TestMoreSessionsAreOpenedIfTheyAreAskedFor, and not more than there are parts for.
func TestMoreSessionsAreOpenedIfTheyAreAskedFor(t *testing.T) {
	for _, tc := range []struct{ asked, depth, want int }{{3, 64, 3}, {64, 10, 3}, {64, 4, 1}} {
		s := &nfs4test.Server{Slots: 4, RequireBind: true}
		s.Start(t, here, there)
		c, err := nfs.Dial(t.Context(), config4(s, bench.NFSv41, func(c *nfs.Config) { c.Sessions = tc.asked }, here, there))
		if err != nil {
			t.Fatal(err)
		}
		b := newBlocks(t, c, tc.depth)
		b.run(t, 500)
		if n := c.Servers()[0]; n.Sessions != 1+tc.want || n.Slots != 4 {
			t.Errorf("%d sessions asked for: %+v, want %d and that of other calls", tc.asked, n, tc.want)
		}
		if err := errors.Join(b.f.Close(t.Context()), c.Close()); err != nil {
			t.Error(err)
		}
	}
}

// sequences calls f for each SEQUENCE of a READ or WRITE.
func sequences(f func(q *v4.Sequence)) func(nfs4test.Call) nfs4test.Action {
	return func(c nfs4test.Call) nfs4test.Action {
		if q, ok := c.Ops[0].(*v4.Sequence); ok && (c.Has(v4.OpRead) || c.Has(v4.OpWrite)) && !q.CacheThis {
			f(q)
		}
		return nfs4test.Action{}
	}
}

// TestTheTargetSlotIsObeyed: what was in flight when the server said it ends, and nothing new is above it.
func TestTheTargetSlotIsObeyed(t *testing.T) {
	var mu sync.Mutex
	var highest uint32
	s := &nfs4test.Server{Hook: sequences(func(q *v4.Sequence) {
		mu.Lock()
		defer mu.Unlock()
		highest = max(highest, q.Slot)
	})}
	c := mount4(t, s, bench.NFSv41, here, there)
	b := newBlocks(t, c, 16)
	for _, target := range []uint32{63, 2, 0, 5, 63} {
		s.SetTargetSlot(target)
		b.run(t, 200) // which has many a reply that says so
		mu.Lock()
		highest = 0
		mu.Unlock()
		b.run(t, 400)
		mu.Lock()
		if want := min(target, 15); highest != want {
			t.Errorf("slots up to %d are used, want %d", highest, want)
		}
		mu.Unlock()
	}
	if n := c.Servers()[0]; n.Recoveries != 0 || n.Sessions != 2 || n.Slot.Wanted != 1 {
		t.Errorf("server %+v, want the same sessions", n)
	}
}

// TestASessionWhoseCallsWereAllGivenUpIsReplaced, and no call is taken for done.
func TestASessionWhoseCallsWereAllGivenUpIsReplaced(t *testing.T) {
	const slots = 4
	var armed atomic.Bool
	var came atomic.Int64
	gate := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := &nfs4test.Server{Slots: slots, Hook: func(c nfs4test.Call) nfs4test.Action {
		if !armed.Load() || !c.Has(v4.OpWrite) {
			return nfs4test.Action{}
		}
		if came.Add(1) == slots {
			cancel()
		}
		return nfs4test.Action{Hold: gate}
	}}
	c := mount4(t, s, bench.NFSv41, here, there)
	f := create4(t, c, "data")
	st, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 16, BlockBytes: 512})
	if err != nil {
		t.Fatal(err)
	}
	d := newCircle(f, true, 16, 512)
	armed.Store(true)
	d.left.Store(16)
	st.Run(ctx, d)
	if err := d.err.Load(); err == nil || !errors.Is(*err, context.Canceled) || came.Load() != slots {
		t.Errorf("%d calls came, and they ended with %v", came.Load(), err)
	}
	if n := s.Counters(here).Writes + s.Counters(there).Writes; n != 0 {
		t.Errorf("the server has executed %d writes", n)
	}
	armed.Store(false)
	close(gate)
	d.err.Store(nil)
	d.left.Store(100)
	st.Run(t.Context(), d)
	if err := d.err.Load(); err != nil {
		t.Error(*err)
	}
	if n := c.Servers()[0]; n.Recoveries != 1 || n.Slots != slots {
		t.Errorf("server %+v, want that one session was made again", n)
	}
}

// TestCallsThatAnotherSessionTakesOverAreGivenUpInTheirOwn: with client ID trunking a path has a session. Those that
// were under way when it died have spent their slots, and when it is back it gets another session.
func TestCallsThatAnotherSessionTakesOverAreGivenUpInTheirOwn(t *testing.T) {
	var armed atomic.Bool
	gate := make(chan struct{})
	s := &nfs4test.Server{Slots: 1, Identity: func(a string) nfs4test.Identity {
		return nfs4test.Identity{Major: "one", Minor: uint64(a[len(a)-1]), Scope: "s"}
	}}
	s.Hook = func(c nfs4test.Call) nfs4test.Action {
		if c.Address == there && c.Has(v4.OpWrite) && armed.CompareAndSwap(true, false) {
			s.Kill(there)
			close(gate)
		}
		return nfs4test.Action{}
	}
	c := mount4(t, s, bench.NFSv41, here, there)
	f := create4(t, c, "data")
	st, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 4, BlockBytes: 512})
	if err != nil {
		t.Fatal(err)
	}
	d := newCircle(f, true, 4, 512)
	armed.Store(true)
	d.left.Store(200)
	st.Run(t.Context(), d)
	<-gate
	if err := s.Listen(there); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return c.Servers()[1].Recoveries > 0 })
	if err := d.err.Load(); err != nil {
		t.Error(*err)
	}
}

// TestAnAnswerToAnotherSlotIsNotBelieved: the error has both.
func TestAnAnswerToAnotherSlotIsNotBelieved(t *testing.T) {
	s := &nfs4test.Server{}
	var lies atomic.Bool
	s.Hook = sequences(func(q *v4.Sequence) {
		if lies.Load() {
			q.Slot ^= 1 // executed, and answered, in another slot than it was sent in
			q.HighestSlot = max(q.HighestSlot, q.Slot)
		}
	})
	c := mount4(t, s, bench.NFSv41, here)
	f := create4(t, c, "data")
	st, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 2, BlockBytes: 512})
	if err != nil {
		t.Fatal(err)
	}
	lies.Store(true)
	d := newCircle(f, false, 1, 512)
	d.bufs = append(d.bufs, d.bufs[0])
	d.left.Store(1)
	st.Run(t.Context(), d)
	s.TakeViolations()
	if err := d.err.Load(); err == nil || !strings.Contains((*err).Error(), "slot 0, sequence ID 1 is answered for") ||
		!strings.Contains((*err).Error(), "slot 1") {
		t.Errorf("it ends with %v, want both slots", err)
	}
}

// TestAServerThatLimitsSessionsKeepsNone: sessions that were made for nothing are given back.
func TestAServerThatLimitsSessionsKeepsNone(t *testing.T) {
	var sessions atomic.Int64
	s := &nfs4test.Server{Slots: 4, Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Has(v4.OpCreateSession) && sessions.Add(1) > 1 {
			return nfs4test.Fail(v4.OpCreateSession, v4.ErrNoSpc)
		}
		return nfs4test.Action{}
	}}
	c := mount4(t, s, bench.NFSv41)
	if _, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 64, BlockBytes: 4096}); !nfs.IsNoSpace(err) {
		t.Errorf("NewStream = %v", err)
	}
	if _, n, _, _ := s.Clients(); n != 1 {
		t.Errorf("%d sessions are left, want that of the other calls", n)
	}
}

// TestAServerMayLackOperations: the server of pynfs has no RECLAIM_COMPLETE. It is not taken for one that restarts,
// although it asks for a reclaim in every SEQUENCE.
func TestAServerMayLackOperations(t *testing.T) {
	for _, op := range []v4.Op{v4.OpReclaimComplete, v4.OpBindConnToSession} {
		t.Run(op.String(), func(t *testing.T) {
			var calls atomic.Int64
			s := &nfs4test.Server{Lacks: []v4.Op{op}, Hook: func(c nfs4test.Call) (a nfs4test.Action) {
				if c.Has(op) {
					calls.Add(1)
				}
				return a
			}}
			c := mount4(t, s, bench.NFSv41, here, there)
			if op == v4.OpReclaimComplete {
				s.SetFlags(v4.SeqRestartReclaimNeeded)
			}
			load(t, c, 4, 200)
			if got := c.Servers()[0].Recoveries; got != 0 || calls.Load() == 0 {
				t.Errorf("%d recoveries, want none; the client called it %d times", got, calls.Load())
			}
		})
	}
}

func TestAFailedMountLeavesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		version bench.NFSVersion
		op      v4.Op
	}{
		"no RECLAIM_COMPLETE": {bench.NFSv41, v4.OpReclaimComplete},
		"no CREATE_SESSION":   {bench.NFSv41, v4.OpCreateSession},
		"no LOOKUP":           {bench.NFSv41, v4.OpLookup},
		"no LOOKUP, NFSv4.0":  {bench.NFSv40, v4.OpLookup},
		"no SETCLIENTID":      {bench.NFSv40, v4.OpSetClientID},
		"no confirmed client": {bench.NFSv40, v4.OpSetClientIDConfirm},
		"nobody can be asked": {bench.NFSv41, v4.OpExchangeID},
	} {
		t.Run(name, func(t *testing.T) {
			s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				if c.Has(tc.op) {
					return nfs4test.Fail(tc.op, v4.ErrServerFault)
				}
				return nfs4test.Action{}
			}}
			s.Start(t, here)
			c, err := nfs.Dial(t.Context(), config4(s, tc.version, nil, here))
			if !errors.Is(err, v4.ErrServerFault) {
				t.Errorf("Dial = %v", err)
			}
			if c != nil {
				_ = c.Close()
			}
		})
	}
}

// TestALostReplyOfAWriteIsAskedForAgain: the connection ends behind a WRITE that was executed.
func TestALostReplyOfAWriteIsAskedForAgain(t *testing.T) {
	s := &nfs4test.Server{Hook: first(v4.OpWrite, nfs4test.Action{Lose: true})}
	c := mount4(t, s, bench.NFSv41, here, there)
	f := create4(t, c, "data")
	p := randomBytes(8192)
	if _, err := f.WriteAt(t.Context(), p, 0, nfs.FileSync); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Content("data"), p) {
		t.Error("the content differs")
	}
	if r := c.Servers()[0].Recoveries; r != 0 {
		t.Errorf("%d recoveries, want none: no state was lost", r)
	}
}

// TestLostRepliesOfChangesAreExact: the slot of NFSv4.1, and the open owner of NFSv4.0,
// remember the reply.
func TestLostRepliesOfChangesAreExact(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			for _, op := range []v4.Op{
				v4.OpOpen, v4.OpOpenConfirm, v4.OpClose, v4.OpCreate, v4.OpRemove, v4.OpRename, v4.OpCreateSession, v4.OpSetClientID,
				v4.OpSetClientIDConfirm, v4.OpDestroySession, v4.OpReclaimComplete,
			} {
				t.Run(op.String(), func(t *testing.T) {
					s := &nfs4test.Server{Hook: first(op, nfs4test.Action{Lose: true})}
					c := mount4(t, s, v)
					f, err := c.Create(t.Context(), c.Root(), "a", 0o600, true)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil {
						t.Error(err)
					}
					if _, err := c.Mkdir(t.Context(), c.Root(), "d", 0o700); err != nil {
						t.Error(err)
					}
					if err := f.Close(t.Context()); err != nil {
						t.Error(err)
					}
					if err := errors.Join(
						c.Rename(t.Context(), c.Root(), "a", "b"), c.Remove(t.Context(), c.Root(), "b"), c.Rmdir(t.Context(), c.Root(), "d"),
					); err != nil {
						t.Error(err)
					}
					if r := c.Servers()[0].Recoveries; r != 0 {
						t.Errorf("%d recoveries, want none", r)
					}
				})
			}
		})
	}
}

// TestCloseLeavesNoGoroutine also while the server does not answer.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			s := &nfs4test.Server{LeaveState: true, Delegate: true}
			s.Start(t, here, there)
			c, err := nfs.Dial(t.Context(), config4(s, v, patient, here, there))
			if err != nil {
				t.Fatal(err)
			}
			load(t, c, 8, 100)
			f, err := c.Create(t.Context(), c.Root(), "left open", 0o600, true)
			if err != nil {
				t.Fatal(err)
			}
			s.Kill(here)
			s.Kill(there)
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := c.NewStream(short, nfs.StreamConfig{Slots: 1, BlockBytes: 1}); err == nil {
				t.Error("a stream without server")
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := f.ReadAt(t.Context(), make([]byte, 1), 0); err == nil {
				t.Error("a read after Close")
			}
			noGoroutine(t, "internal/nfs.(*")
		})
	}
}

// noGoroutine waits until no goroutine runs code of a package any more.
func noGoroutine(t *testing.T, of string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for range 6000 {
		text := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(text, of) {
			return
		}
		runtime.Gosched()
		<-time.After(10 * time.Millisecond)
	}
	t.Errorf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
}

func TestADelayStormIsWaitedOut(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				last := c.Ops[len(c.Ops)-1].Op()
				if v == bench.NFSv40 && (c.Has(v4.OpOpen) || c.Has(v4.OpOpenConfirm) || c.Has(v4.OpClose)) {
					return nfs4test.Action{} // the server would not count what was not executed
				}
				if n.Add(1)%9 != 0 {
					return nfs4test.Action{}
				}
				if n.Load()%2 == 0 && v == bench.NFSv41 && c.Ops[0].Op() == v4.OpSequence {
					last = v4.OpSequence
				}
				return nfs4test.Fail(last, v4.ErrDelay)
			}}
			c := mount4(t, s, v, here, there)
			load(t, c, 8, 200)
			if r := c.Servers()[0]; r.Recoveries != 0 || r.RecoveryTime != 0 {
				t.Errorf("recoveries %d in %v, want none", r.Recoveries, r.RecoveryTime)
			}
		})
	}
}

func TestNFSv4ServersAreDescribed(t *testing.T) {
	c := mount4(t, &nfs4test.Server{LeaseSeconds: 33, Slots: 16}, bench.NFSv41, here, there)
	got := c.Servers()
	want := []nfs.ServerStats{{
		Version: bench.NFSv41, Addresses: []string{here, there}, Owner: "server", Scope: "scope", Trunking: bench.TrunkingSession,
		Slots: 16, SlotsAsked: 65, Sessions: 1, Lease: 33 * time.Second,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// TestManyFilesComeAndGoAtOnce: opens and closes share the slots of the session with nobody
// but themselves.
func TestManyFilesComeAndGoAtOnce(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			c := mount4(t, &nfs4test.Server{LeaseSeconds: 1}, v, here, there)
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() {
					for k := range 5 {
						f, err := c.Create(t.Context(), c.Root(), fmt.Sprint("f", i, "-", k), 0o600, true)
						if err == nil {
							_, err = f.WriteAt(t.Context(), []byte("x"), 0, nfs.FileSync)
							err = errors.Join(err, f.Close(t.Context()))
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestTheClientIDNamesTheAddressFamily(t *testing.T) {
	for address, want := range map[string]v4.Address{
		here:  {NetID: "tcp", Universal: "0.0.0.0.0.0"},
		"::1": {NetID: "tcp6", Universal: "::.0.0"},
	} {
		t.Run(address, func(t *testing.T) {
			needIPv6(t)
			var got atomic.Pointer[v4.Address]
			s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				for _, o := range c.Ops {
					if set, ok := o.(*v4.SetClientID); ok {
						got.Store(&set.Callback)
					}
				}
				return nfs4test.Action{}
			}}
			mount4(t, s, bench.NFSv40, address)
			if got := got.Load(); got == nil || *got != want {
				t.Errorf("SETCLIENTID has the callback address %+v, want %+v", got, want)
			}
		})
	}
}

// needIPv6 skips a test where the machine has no IPv6.
func needIPv6(tb testing.TB) {
	tb.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		tb.Skipf("this machine has no IPv6: %v", err)
	}
	_ = l.Close()
}
