package nfs4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

const (
	// blockBytes is more than a WRITE copies, so that data are sent from where they are.
	blockBytes = 20 << 10
	// perWriter is how many blocks one writer has for itself.
	perWriter = 4
	// fileWriters use File.ReadAt and File.WriteAt beside the stream.
	fileWriters = 4
)

var fileNames atomic.Int64

// blocks is a load that finds lost and torn writes: each block says where it belongs and which
// of its writes it is from, with a checksum. A block has one writer, which alone reads it, and
// reads what it wrote last.
type blocks struct {
	f       *nfs.File
	s       *nfs.Stream
	writers []*writer
	left    atomic.Int64
	done    atomic.Int64
	at      map[int64]func() // by operations done
	faults  sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// writer is one slot of the stream, or one goroutine.
type writer struct {
	index       int
	generations [perWriter]uint32 // that were acknowledged
	block       int
	write       bool
	buf         []byte
	random      *rand.Rand
}

func newBlocks(tb testing.TB, c *nfs.Client, depth int) *blocks {
	tb.Helper()
	b := &blocks{f: create4(tb, c, fmt.Sprint("blocks", fileNames.Add(1))), at: map[int64]func(){}}
	for i := range depth + fileWriters {
		w := &writer{index: i, buf: make([]byte, blockBytes), random: rand.New(rand.NewPCG(uint64(i), 1))}
		b.writers = append(b.writers, w)
		for w.block = range perWriter {
			w.fill()
			if _, err := b.f.WriteAt(tb.Context(), w.buf, w.offset(), nfs.FileSync); err != nil {
				tb.Fatal(err)
			}
			w.generations[w.block]++
		}
	}
	var err error
	if b.s, err = c.NewStream(tb.Context(), nfs.StreamConfig{Slots: depth, BlockBytes: blockBytes}); err != nil {
		tb.Fatal(err)
	}
	return b
}

func (w *writer) offset() int64 { return int64(w.index*perWriter+w.block) * blockBytes }

// fill makes the next generation of the block.
func (w *writer) fill() {
	binary.BigEndian.PutUint64(w.buf, uint64(w.offset()))
	binary.BigEndian.PutUint32(w.buf[8:], w.generations[w.block]+1)
	for i := 12; i < blockBytes-4; i += 512 {
		binary.BigEndian.PutUint32(w.buf[i:], w.random.Uint32())
	}
	binary.BigEndian.PutUint32(w.buf[blockBytes-4:], crc32.ChecksumIEEE(w.buf[:blockBytes-4]))
}

// verify compares what was read with what was written last.
func (w *writer) verify() error {
	offset, generation := int64(binary.BigEndian.Uint64(w.buf)), binary.BigEndian.Uint32(w.buf[8:])
	sum := binary.BigEndian.Uint32(w.buf[blockBytes-4:])
	switch {
	case sum != crc32.ChecksumIEEE(w.buf[:blockBytes-4]):
		return fmt.Errorf("block at %d is torn", w.offset())
	case offset != w.offset() || generation != w.generations[w.block]:
		return fmt.Errorf("block at %d has generation %d of the block at %d, want %d",
			w.offset(), generation, offset, w.generations[w.block])
	}
	return nil
}

// next chooses an operation and prepares the buffer.
func (w *writer) next() {
	if w.block, w.write = w.random.IntN(perWriter), w.random.IntN(2) == 0; w.write {
		w.fill()
	} else {
		clear(w.buf)
	}
}

// ended notes what became of the operation.
func (w *writer) ended(err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("block at %d, write %v: %w", w.offset(), w.write, err)
	case w.write:
		w.generations[w.block]++
		return nil
	default:
		return w.verify()
	}
}

func (b *blocks) note(err error) {
	b.mu.Lock()
	if err != nil && len(b.errs) < 10 {
		b.errs = append(b.errs, err)
	}
	b.mu.Unlock()
	n := b.done.Add(1)
	b.mu.Lock()
	fault := b.at[n]
	delete(b.at, n)
	b.mu.Unlock()
	if fault != nil {
		b.faults.Go(fault)
	}
}

func (b *blocks) Next(x *stream.IO) bool {
	if b.left.Add(-1) < 0 {
		return false
	}
	w := b.writers[x.Slot]
	w.next()
	b.f.Prepare(x)
	x.Write, x.Stable, x.Offset, x.Buf = w.write, stream.FileSync, w.offset(), w.buf
	return true
}

func (b *blocks) Done(x *stream.IO) { b.note(b.writers[x.Slot].ended(x.Err)) }

// run does count operations with the stream, and some with the File at the same time. It
// fails the test if one fails, or if a block is not what was written last.
func (b *blocks) run(t *testing.T, count int) {
	t.Helper()
	b.left.Store(int64(count))
	streaming := make(chan struct{})
	var wg sync.WaitGroup
	for _, w := range b.writers[len(b.writers)-fileWriters:] {
		wg.Go(func() {
			for {
				select {
				case <-streaming:
					return
				default:
				}
				var err error
				if w.next(); w.write {
					_, err = b.f.WriteAt(t.Context(), w.buf, w.offset(), nfs.FileSync)
				} else {
					_, err = b.f.ReadAt(t.Context(), w.buf, w.offset())
				}
				b.note(w.ended(err))
			}
		})
	}
	b.s.Run(t.Context(), b)
	close(streaming)
	wg.Wait()
	b.faults.Wait()
	for _, w := range b.writers {
		for w.block = range perWriter {
			clear(w.buf)
			if _, err := b.f.ReadAt(t.Context(), w.buf, w.offset()); err != nil {
				b.note(err)
			} else {
				b.note(w.verify())
			}
		}
	}
	for _, err := range b.errs {
		t.Error(err)
	}
}

// refuseBind makes a server that knows BIND_CONN_TO_SESSION only behind a SEQUENCE, as nfs4j does.
func refuseBind(s *nfs4test.Server) { s.Hook = failing(v4.OpBindConnToSession, v4.ErrOpNotInSession) }

func TestLoadSurvivesFaults(t *testing.T) {
	type fault func(s *nfs4test.Server)
	for name, tc := range map[string]struct {
		fault  fault
		only   bench.NFSVersion
		server func(s *nfs4test.Server)
		// state says that state is lost, so that recoveries are counted.
		state bool
	}{
		"restart": {state: true, fault: func(s *nfs4test.Server) {
			s.Restart()
			// What can be reclaimed is, in the grace period. It ends when others may go on.
			for _, _, opens, _ := s.Clients(); opens < 1; _, _, opens, _ = s.Clients() {
				<-time.After(time.Millisecond)
			}
			s.EndGrace()
		}},
		"restart without grace": {state: true, fault: func(s *nfs4test.Server) {
			s.Restart()
			s.EndGrace()
		}},
		"two restarts": {state: true, fault: func(s *nfs4test.Server) {
			s.Restart()
			s.Restart()
			s.EndGrace()
		}},
		"lease expired": {state: true, fault: func(s *nfs4test.Server) { s.ExpireLease() }},
		"session destroyed": {only: bench.NFSv41, state: true, fault: func(s *nfs4test.Server) {
			s.DestroySessions()
		}},
		"session destroyed, connections have to be bound": {
			only: bench.NFSv41, state: true,
			server: func(s *nfs4test.Server) { s.RequireBind = true }, fault: func(s *nfs4test.Server) { s.DestroySessions() },
		},
		"session destroyed, connections are bound by their first use": {
			only: bench.NFSv41, state: true, server: refuseBind, fault: func(s *nfs4test.Server) { s.DestroySessions() },
		},
		"connections killed, and bound by their first use": {
			only: bench.NFSv41, server: refuseBind, fault: func(s *nfs4test.Server) {
				s.KillConnections(here)
				s.KillConnections(there)
			},
		},
		"connections killed": {fault: func(s *nfs4test.Server) {
			s.KillConnections(here)
			s.KillConnections(there)
		}},
		"connections killed, few slots": {server: func(s *nfs4test.Server) { s.Slots = 3 }, fault: func(s *nfs4test.Server) {
			s.KillConnections(here)
			s.KillConnections(there)
		}},
		"one path dead, one slot": {
			server: func(s *nfs4test.Server) { s.Slots = 1 }, fault: func(s *nfs4test.Server) { s.Kill(there) },
		},
		"restart, one slot": {state: true, server: func(s *nfs4test.Server) { s.Slots = 1 }, fault: func(s *nfs4test.Server) {
			s.Restart()
			s.EndGrace()
		}},
		"one path dead": {fault: func(s *nfs4test.Server) { s.Kill(there) }},
		"one path dead and back": {fault: func(s *nfs4test.Server) {
			s.Kill(there)
			_ = s.Listen(there) // else it stays dead
		}},
		"state revoked": {only: bench.NFSv41, state: true, fault: func(s *nfs4test.Server) { s.RevokeState() }},
		"state revoked, connections killed": {only: bench.NFSv41, state: true, fault: func(s *nfs4test.Server) {
			s.RevokeState()
			s.KillConnections(here)
			s.KillConnections(there)
		}},
		"state revoked, NFSv4.0": {
			only: bench.NFSv40, state: true, server: func(s *nfs4test.Server) { s.LeaveState = true },
			fault: func(s *nfs4test.Server) { s.RevokeState() },
		},
		"delegations": {server: func(s *nfs4test.Server) { s.Delegate = true }, fault: func(*nfs4test.Server) {}},
		"recall of what nobody wants": {only: bench.NFSv41, fault: func(s *nfs4test.Server) {
			_ = s.Callback(&v4.CBRecallAny{Types: v4.Bits(0, 1)}) // Callbacks has the error
		}},
		"fewer slots": {only: bench.NFSv41, fault: func(s *nfs4test.Server) {
			_ = s.RecallSlots(3) // Callbacks has the error
		}},
	} {
		for _, v := range []bench.NFSVersion{bench.NFSv40, bench.NFSv41} {
			if tc.only != "" && tc.only != v {
				continue
			}
			t.Run(name+" "+string(v), func(t *testing.T) {
				s := &nfs4test.Server{}
				if tc.server != nil {
					tc.server(s)
				}
				c := mount4(t, s, v, here, there)
				b := newBlocks(t, c, 16)
				b.at[200] = func() { tc.fault(s) }
				b.run(t, 800)
				b.run(t, 100) // whatever came late
				got := c.Servers()[0]
				if counted := got.Recoveries > 0; counted != tc.state {
					t.Errorf("%d recoveries, want some: %v", got.Recoveries, tc.state)
				}
				if timed := got.RecoveryTime > 0; timed != tc.state {
					t.Errorf("recoveries took %v, want some time: %v", got.RecoveryTime, tc.state)
				}
				for _, cb := range s.Callbacks() {
					if cb.Err != nil {
						t.Errorf("callback %s: %v", cb.Op, cb.Err)
					}
				}
			})
		}
	}
}

// TestALateRefusalLosesNoNewerOpen: the refusal of an I/O comes while the file is opened again. It is about the open
// before, so it neither loses the new client ID nor the new open, which nobody would close.
func TestALateRefusalLosesNoNewerOpen(t *testing.T) {
	var expired, held atomic.Bool
	var once sync.Once
	opened, refused := make(chan struct{}), make(chan struct{})
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		switch {
		case !expired.Load():
		case (c.Has(v4.OpRead) || c.Has(v4.OpWrite)) && !held.Swap(true):
			return nfs4test.Action{HoldReply: opened}
		case c.Has(v4.OpOpenConfirm):
			// The client has 50 ms for the refusal before it knows that the file is open. A correct client leaves nothing
			// behind in either order.
			once.Do(func() {
				close(opened)
				time.AfterFunc(50*time.Millisecond, func() { close(refused) })
			})
			return nfs4test.Action{HoldReply: refused}
		}
		return nfs4test.Action{}
	}}
	c := mount4(t, s, bench.NFSv40, here, there)
	b := newBlocks(t, c, 16)
	b.at[200] = func() {
		s.ExpireLease()
		expired.Store(true)
	}
	b.run(t, 800)
	if r := c.Servers()[0].Recoveries; r != 1 {
		t.Errorf("%d recoveries, want one", r)
	}
}

// TestARestartIsOneRecovery: one loss, which all meet, is counted once.
func TestARestartIsOneRecovery(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			var reclaims, opens atomic.Int64
			s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				for _, o := range c.Ops {
					if o, ok := o.(*v4.Open); ok && o.Claim == v4.ClaimPrevious {
						reclaims.Add(1)
					} else if ok {
						opens.Add(1)
					}
				}
				return nfs4test.Action{}
			}}
			c := mount4(t, s, v, here, there)
			b := newBlocks(t, c, 16)
			b.at[100] = func() { s.Restart() } // the grace period does not end: only reclaims are let in
			b.run(t, 1000)
			s.EndGrace()
			if r := c.Servers()[0].Recoveries; r != 1 || reclaims.Load() != 1 || opens.Load() != 1 {
				t.Errorf("%d recoveries with %d reclaims and %d opens, want one of each", r, reclaims.Load(), opens.Load())
			}
		})
	}
}

// TestTroubleInTheMiddleOfRecovery: each step of recovery fails once, and the state is
// reclaimed all the same.
func TestTroubleInTheMiddleOfRecovery(t *testing.T) {
	for _, status := range []v4.Status{v4.ErrDelay, v4.ErrServerFault, v4.OK} {
		for _, op := range []v4.Op{v4.OpExchangeID, v4.OpCreateSession, v4.OpReclaimComplete, v4.OpSequence} {
			t.Run(fmt.Sprint(op, " ", status), func(t *testing.T) {
				var armed, reclaimed, failed atomic.Bool
				s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
					for _, o := range c.Ops {
						if o, ok := o.(*v4.Open); ok && o.Claim == v4.ClaimPrevious {
							reclaimed.Store(true)
						}
					}
					if !c.Has(op) || !armed.CompareAndSwap(true, false) {
						return nfs4test.Action{}
					}
					failed.Store(true)
					if status == v4.OK {
						return nfs4test.Action{Lose: true}
					}
					return nfs4test.Fail(op, status)
				}}
				c := mount4(t, s, bench.NFSv41, here)
				f := create4(t, c, "data")
				s.Restart()
				armed.Store(true)
				_, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync)
				if op == v4.OpSequence && status == v4.ErrServerFault {
					if err != nil && !errors.Is(err, v4.ErrServerFault) {
						t.Error(err)
					}
				} else if err != nil {
					t.Error(err)
				}
				if _, err := f.ReadAt(t.Context(), make([]byte, 1), 0); err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				if !failed.Load() || !reclaimed.Load() {
					t.Errorf("failed %v, reclaimed %v", failed.Load(), reclaimed.Load())
				}
				s.EndGrace()
			})
		}
	}
}

// TestAReclaimWhoseSessionIsLostIsMadeAgain, before anything ends the reclaiming.
func TestAReclaimWhoseSessionIsLostIsMadeAgain(t *testing.T) {
	var reclaims, opens atomic.Int64
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		for _, o := range c.Ops {
			if o, ok := o.(*v4.Open); ok && o.Claim != v4.ClaimPrevious {
				opens.Add(1)
			} else if ok && reclaims.Add(1) == 1 {
				return nfs4test.Fail(v4.OpSequence, v4.ErrBadSession)
			}
		}
		return nfs4test.Action{}
	}}
	c := mount4(t, s, bench.NFSv41, here)
	f := create4(t, c, "data")
	s.Restart()
	if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil {
		t.Error(err)
	}
	if s.EndGrace(); reclaims.Load() != 2 || opens.Load() != 1 {
		t.Errorf("%d reclaims and %d other opens, want two and the first one", reclaims.Load(), opens.Load())
	}
}

// TestRevokedStateOfAnIdleFileIsMadeAgain: only the flags of SEQUENCE show it.
func TestRevokedStateOfAnIdleFileIsMadeAgain(t *testing.T) {
	var frees atomic.Int64
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Has(v4.OpFreeStateID) {
			frees.Add(1)
		}
		return nfs4test.Action{}
	}}
	c := mount4(t, s, bench.NFSv41, here)
	f := create4(t, c, "data")
	s.RevokeState()
	if _, err := c.Getattr(t.Context(), c.Root()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return c.Servers()[0].Recoveries > 0 })
	if n := frees.Load(); n != 1 {
		t.Errorf("FREE_STATEID %d times, want once", n)
	}
	if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil {
		t.Error(err)
	}
}

// TestAFileThatCannotBeOpenedAgainFailsAlone: others go on.
func TestAFileThatCannotBeOpenedAgainFailsAlone(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			s := &nfs4test.Server{}
			c := mount4(t, s, v, here)
			gone, kept := create4(t, c, "gone"), create4(t, c, "kept")
			if err := c.Remove(t.Context(), c.Root(), "gone"); err != nil {
				t.Fatal(err)
			}
			s.Restart()
			s.EndGrace()
			if _, err := kept.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil {
				t.Error(err)
			}
			if _, err := gone.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); !nfs.IsStale(err) && !nfs.IsNotExist(err) {
				t.Errorf("write to a file that is gone: %v", err)
			}
		})
	}
}

// TestAnOpenThatIsRefusedForGoodFailsAtOnce: the status does not pass, and the error has it. The call timeout is an hour.
func TestAnOpenThatIsRefusedForGoodFailsAtOnce(t *testing.T) {
	for _, status := range []v4.Status{
		v4.ErrNotDir, v4.ErrInval, v4.ErrNotSupp, v4.ErrServerFault, v4.ErrWrongSec, v4.ErrNoEnt,
	} {
		for _, v := range versions() {
			t.Run(fmt.Sprint(v, " ", status), func(t *testing.T) {
				var armed atomic.Bool
				s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
					if armed.Load() && c.Has(v4.OpOpen) {
						return nfs4test.Fail(v4.OpOpen, status)
					}
					return nfs4test.Action{}
				}}
				c := mount4(t, s, v, here)
				f := create4(t, c, "data")
				armed.Store(true)
				s.Restart()
				s.EndGrace()
				if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); !errors.Is(err, status) {
					t.Errorf("write to a file that cannot be opened again: %v", err)
				}
			})
		}
	}
}

// TestAnOpenThatIsRefusedForNowIsMadeAgain, until the server grants it.
func TestAnOpenThatIsRefusedForNowIsMadeAgain(t *testing.T) {
	for _, status := range []v4.Status{v4.ErrGrace, v4.ErrDelay, v4.ErrBadStateID, v4.OK} {
		for _, v := range versions() {
			t.Run(fmt.Sprint(v, " ", status), func(t *testing.T) {
				var left atomic.Int64
				s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
					switch {
					case !c.Has(v4.OpOpen) || left.Add(-1) < 0:
						return nfs4test.Action{}
					case status == v4.OK:
						return nfs4test.Action{Lose: true}
					default:
						return nfs4test.Fail(v4.OpOpen, status)
					}
				}}
				c := mount4(t, s, v, here)
				f := create4(t, c, "data")
				left.Store(3)
				s.Restart()
				s.EndGrace()
				if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil || left.Load() > 0 {
					t.Errorf("write after refusals that pass: %v, %d are left", err, left.Load())
				}
			})
		}
	}
}

// TestAnotherFileUnderTheNameIsNotTaken: NFSv4.0 can only open by name.
func TestAnotherFileUnderTheNameIsNotTaken(t *testing.T) {
	s := &nfs4test.Server{}
	c := mount4(t, s, bench.NFSv40, here)
	f := create4(t, c, "a")
	if err := c.Remove(t.Context(), c.Root(), "a"); err != nil {
		t.Fatal(err)
	}
	other := create4(t, c, "a")
	s.Restart()
	s.EndGrace()
	if _, err := other.ReadAt(t.Context(), make([]byte, 1), 0); !errors.Is(err, io.EOF) {
		t.Errorf("read of the other file: %v", err)
	}
	if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); !nfs.IsStale(err) {
		t.Errorf("write to a file that is gone: %v", err)
	}
	if len(s.Content("a")) != 0 {
		t.Error("the other file was written")
	}
}

// TestAnIdleClientKeepsItsLease: the server's clock goes on by most of a lease with each
// renewal, so one that came late, or not at all, would lose the state.
func TestAnIdleClientKeepsItsLease(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			var clock, renewals atomic.Int64
			enough := make(chan struct{})
			s := &nfs4test.Server{
				LeaseSeconds: 1, EnforceLease: true,
				Now: func() time.Time { return time.Unix(0, clock.Load()) },
				Hook: func(c nfs4test.Call) nfs4test.Action {
					if c.Has(v4.OpRenew) || v == bench.NFSv41 && len(c.Ops) == 1 && c.Has(v4.OpSequence) {
						clock.Add(int64(900 * time.Millisecond))
						if renewals.Add(1) == 3 {
							close(enough)
						}
					}
					return nfs4test.Action{}
				},
			}
			c := mount4(t, s, v, here)
			f := create4(t, c, "data")
			select {
			case <-enough: // long before the first renewal that the lease of before would ask for
			case <-time.After(2 * time.Minute):
				t.Fatalf("%d renewals", renewals.Load())
			}
			if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil {
				t.Error(err)
			}
			if r := c.Servers()[0].Recoveries; r != 0 {
				t.Errorf("%d recoveries, want that the lease was kept", r)
			}
		})
	}
}

// TestSlotsThatTheServerTakesAwayAreNotUsed: it refuses those above without a word before. Only a slot that is not there
// leaves the others.
func TestSlotsThatTheServerTakesAwayAreNotUsed(t *testing.T) {
	for _, status := range []v4.Status{v4.ErrBadHighSlot, v4.ErrBadSlot} {
		t.Run(status.Error(), func(t *testing.T) {
			var few atomic.Bool
			s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				switch o := c.Ops[0].(type) {
				case *v4.CreateSession:
					if few.Load() {
						o.Fore.MaxRequests = min(o.Fore.MaxRequests, 4)
					}
				case *v4.Sequence:
					if few.Load() && o.HighestSlot > 3 {
						return nfs4test.Fail(v4.OpSequence, status)
					}
				}
				return nfs4test.Action{}
			}}
			c := mount4(t, s, bench.NFSv41, here, there)
			b := newBlocks(t, c, 16)
			b.at[300] = func() { few.Store(true) }
			b.run(t, 1500)
			if got := c.Servers()[0]; status == v4.ErrBadHighSlot && (got.Slots != 4 || got.Recoveries == 0) {
				t.Errorf("server %+v, want sessions of 4 slots", got)
			}
		})
	}
}

// TestFlagsThatStayDoNotKeepTheClientBusy: a server may say for long that state was revoked,
// for one of a delegation that nobody here knows.
func TestFlagsThatStayDoNotKeepTheClientBusy(t *testing.T) {
	s := &nfs4test.Server{}
	c := mount4(t, s, bench.NFSv41, here)
	f := create4(t, c, "data")
	s.SetFlags(v4.SeqRecallableStateRevoked | v4.SeqCBPathDown)
	for range 100 {
		if _, err := f.WriteAt(t.Context(), []byte("abc"), 0, nfs.FileSync); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Servers()[0]; got.Recoveries != 0 || got.RecoveryTime != 0 {
		t.Errorf("%d recoveries in %v, want none: nothing was lost", got.Recoveries, got.RecoveryTime)
	}
}

// TestASpuriousLossCostsNothing: the server knows client ID, sessions and opens still.
func TestASpuriousLossCostsNothing(t *testing.T) {
	s := &nfs4test.Server{Hook: first(v4.OpWrite, nfs4test.Fail(v4.OpWrite, v4.ErrExpired))}
	c := mount4(t, s, bench.NFSv41, here, there)
	load(t, c, 8, 300)
	if clients, _, _, _ := s.Clients(); clients != 1 {
		t.Errorf("%d clients", clients)
	}
}

// TestDelegationsGoBack once, whether OPEN or CB_RECALL names them.
func TestDelegationsGoBack(t *testing.T) {
	var returns atomic.Int64
	var hold atomic.Pointer[chan struct{}]
	s := &nfs4test.Server{Delegate: true, Hook: func(c nfs4test.Call) nfs4test.Action {
		if !c.Has(v4.OpDelegReturn) {
			return nfs4test.Action{}
		}
		returns.Add(1)
		if gate := hold.Load(); gate != nil {
			return nfs4test.Action{Hold: *gate}
		}
		return nfs4test.Action{}
	}}
	c := mount4(t, s, bench.NFSv41, here)
	gate := make(chan struct{})
	hold.Store(&gate)
	create4(t, c, "a")
	asked, err := s.RecallDelegations()
	close(gate)
	if asked != 1 || err != nil {
		t.Errorf("%d recalls, %v", asked, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := returns.Load(); n != 1 {
		t.Errorf("returned %d times, want once", n)
	}
	if n := c.Servers()[0].Callbacks; n != 1 {
		t.Errorf("%d callbacks counted", n)
	}
}

func TestCallbacksAreAnswered(t *testing.T) {
	s := &nfs4test.Server{}
	c := mount4(t, s, bench.NFSv41, here, there)
	for _, tc := range []struct {
		op   v4.Operation
		want v4.Status
	}{
		{&v4.CBRecallAny{Types: v4.Bits(0)}, v4.OK},
		{&v4.CBRecallSlot{TargetSlot: 3}, v4.OK},
		{&v4.CBNotifyDeviceID{}, v4.OK},
		{&v4.CBLayoutRecall{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfAll}, v4.ErrNoMatchingLayout},
	} {
		if err := s.Callback(tc.op); tc.want == v4.OK && err != nil || tc.want != v4.OK && !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.op.Op(), err, tc.want)
		}
	}
	// The back channel is another connection afterwards.
	s.Kill(here)
	waitFor(t, func() bool { return s.Callback(&v4.CBRecallAny{Types: v4.Bits(0)}) == nil })
	_ = c
}

// TestCloseDuringRecoveryWaitsForNoAnswer: the server says that the state is lost, and then
// answers nothing.
func TestCloseDuringRecoveryWaitsForNoAnswer(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			never, recovers := make(chan struct{}), make(chan struct{})
			var restarted, silent atomic.Bool
			s := &nfs4test.Server{LeaveState: true, Hook: func(c nfs4test.Call) nfs4test.Action {
				if restarted.Load() && (c.Has(v4.OpExchangeID) || c.Has(v4.OpSetClientID)) && !silent.Swap(true) {
					close(recovers)
				}
				if silent.Load() {
					return nfs4test.Action{Hold: never}
				}
				return nfs4test.Action{}
			}}
			s.Start(t, here)
			c, err := nfs.Dial(t.Context(), config4(s, v, patient, here))
			if err != nil {
				t.Fatal(err)
			}
			f, err := c.Create(t.Context(), c.Root(), "a", 0o600, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 4, BlockBytes: 4096}); err != nil {
				t.Fatal(err)
			}
			restarted.Store(true)
			s.Restart()
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := f.ReadAt(t.Context(), make([]byte, 1), 0); err == nil {
					t.Error("a read succeeded")
				}
			})
			<-recovers
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
			noGoroutine(t, "internal/nfs.(*serverV4)")
		})
	}
}

// TestASlowServerIsToldOfAllThatItKeeps: the good-bye takes longer than a server may be silent.
func TestASlowServerIsToldOfAllThatItKeeps(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				if !c.Has(v4.OpClose) {
					return nfs4test.Action{}
				}
				answer := make(chan struct{})
				time.AfterFunc(200*time.Millisecond, func() { close(answer) })
				return nfs4test.Action{Hold: answer}
			}}
			c := mount4(t, s, v, here)
			for i := range 12 {
				if _, err := c.Create(t.Context(), c.Root(), fmt.Sprint(i), 0o600, true); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestAPathToAnotherServerIsNotUsed: it was down when the client was made.
func TestAPathToAnotherServerIsNotUsed(t *testing.T) {
	s := &nfs4test.Server{Identity: func(a string) nfs4test.Identity { return nfs4test.Identity{Major: a, Scope: "s"} }}
	s.Start(t, here)
	c, err := nfs.Dial(t.Context(), config4(s, bench.NFSv41, nil, here, there))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := s.Listen(there); err != nil {
		t.Fatal(err)
	}
	for c.Channels()[1].LastError == "" || s.Counters(there).Compounds == 0 {
		<-time.After(5 * time.Millisecond)
	}
	load(t, c, 4, 200)
	if got := c.Servers()[0]; got.Recoveries != 0 {
		t.Errorf("%d recoveries, want that the session is kept", got.Recoveries)
	}
}
