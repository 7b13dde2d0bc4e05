package faults

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	ledgerSlots  = 16
	ledgerBlocks = 8 // of each slot
	ledgerBlock  = 32 << 10
	ledgerDir    = "ledger"
	// ledgerStep is how many I/Os show that load goes on: several of each slot.
	ledgerStep = 20 * ledgerSlots
)

// ledger is a load that knows at any moment what every block must hold. Each slot writes
// and reads blocks of its own: what a read returns must be the last write that was
// acknowledged, every sector of it.
type ledger struct {
	t       *testing.T
	tgt     target.Target
	names   []string
	files   []target.File
	data    []content.Data
	slots   []ledgerSlot
	arena   *target.Arena
	done    atomic.Int64 // I/Os
	stopped atomic.Bool
	wrong   atomic.Pointer[error]
	ended   chan struct{}
	stop    context.CancelFunc
}

type ledgerSlot struct {
	random      *rand.Rand
	buffer      []byte
	block       int
	generations [ledgerBlocks]uint64 // acknowledged
}

func open(t *testing.T, at site, version bench.NFSVersion) target.Target {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	tgt, err := direct.Open(t.Context(), direct.Options{Now: time.Now, Logger: logger, Engine: runfile.Engine{
		Client: bench.ClientDirectNFS, NFSVersion: version, Server: "lab", Export: at.export,
		Channels: runfile.ChannelsTo(at.paths...), MountTimeoutSeconds: 120, CallTimeoutSeconds: 120,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tgt.Close() })
	return tgt
}

// keep starts the load on new files of a directory.
func keep(t *testing.T, at site, version bench.NFSVersion, names ...string) *ledger {
	t.Helper()
	l := &ledger{t: t, tgt: open(t, at, version), names: names, slots: make([]ledgerSlot, ledgerSlots), ended: make(chan struct{})}
	var err error
	if l.arena, err = target.NewArena(ledgerSlots, ledgerBlock); err != nil {
		t.Fatal(err)
	}
	dir, err := l.tgt.Directory(t.Context(), ledgerDir, true)
	if err != nil {
		t.Fatal(err)
	}
	pool := content.NewPool(uint64(len(names)))
	for _, name := range names {
		f, err := dir.Open(t.Context(), name, target.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if f, err = dir.Open(t.Context(), name, target.OpenOptions{Stable: true}); err != nil {
			t.Fatal(err)
		}
		l.files, l.data = append(l.files, f), append(l.data, pool.File(name))
	}
	for i := range l.slots {
		l.slots[i] = ledgerSlot{random: rand.New(rand.NewPCG(uint64(i), 7)), buffer: l.arena.Buffer(i)}
	}
	s, err := l.tgt.NewStream(t.Context(), target.StreamOptions{Slots: ledgerSlots, BlockBytes: ledgerBlock, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	go func() {
		defer close(l.ended)
		s.Run(ctx, l)
	}()
	t.Cleanup(func() {
		stop()
		<-l.ended
		_ = s.Close()
		_ = l.arena.Release()
	})
	l.goesOn()
	return l
}

// place returns where the present block of a slot is.
func (l *ledger) place(slot int) (file int, off int64) {
	return slot % len(l.files), int64(slot*ledgerBlocks+l.slots[slot].block) * ledgerBlock
}

// Next implements target.Driver.
func (l *ledger) Next(o *target.IO) bool {
	if l.stopped.Load() {
		return false
	}
	own := &l.slots[o.Slot]
	own.block = own.random.IntN(ledgerBlocks)
	file, off := l.place(o.Slot)
	o.Write, o.File, o.Buf, o.Offset, o.Wait = own.generations[own.block] == 0 || own.random.IntN(2) == 0, l.files[file], own.buffer, off, 0
	if o.Write {
		l.data[file].Write(o.Buf, off, own.generations[own.block]+1)
	} else {
		clear(o.Buf)
	}
	return true
}

// Done implements target.Driver.
func (l *ledger) Done(o *target.IO) {
	own := &l.slots[o.Slot]
	file, off := l.place(o.Slot)
	generation := own.generations[own.block]
	err := o.Err
	switch {
	case err != nil:
		err = fmt.Errorf("write %v at %d: %w", o.Write, off, err)
	case o.Write:
		own.generations[own.block]++
	default:
		if bad := l.data[file].Check(o.Buf, off, generation, generation); bad != nil {
			err = errors.New(bad.Text)
		}
	}
	if err != nil {
		l.wrong.CompareAndSwap(nil, &err)
		l.stopped.Store(true)
	}
	l.done.Add(1)
}

// goesOn waits until the load has done a good many I/Os more.
func (l *ledger) goesOn() {
	l.t.Helper()
	until := l.done.Load() + ledgerStep
	l.until("the load goes on", func() bool { return l.done.Load() >= until })
}

// until waits for something, and for no longer than the load is right.
func (l *ledger) until(what string, ok func() bool) {
	l.t.Helper()
	waitFor(l.t, what, func() bool {
		if err := l.wrong.Load(); err != nil {
			l.t.Fatal(*err)
		}
		return ok()
	})
}

// channel waits for counters of a channel that please ok.
func (l *ledger) channel(n int, what string, ok func(runfile.Channel) bool) {
	l.t.Helper()
	l.until(what, func() bool {
		all := l.tgt.Channels()
		return n < len(all) && ok(all[n])
	})
}

// balance ends the load, and reads every block through another mount: NFSv3 keeps no state
// that could hide what the server has.
func (l *ledger) balance(at site) []runfile.NFSServer {
	l.t.Helper()
	l.stopped.Store(true)
	select {
	case <-l.ended:
	case <-time.After(patience):
		l.t.Fatal("the load does not end")
	}
	if err := l.wrong.Load(); err != nil {
		l.t.Fatal(*err)
	}
	servers := l.tgt.Servers()
	for _, s := range servers {
		l.t.Logf("%d I/Os, server %+v", l.done.Load(), s)
	}
	for _, c := range l.tgt.Channels() {
		l.t.Logf("channel %+v", c)
	}
	for _, f := range l.files {
		if err := f.Close(); err != nil {
			l.t.Errorf("close: %v", err)
		}
	}
	if err := l.tgt.Close(); err != nil {
		l.t.Errorf("close the target: %v", err)
	}
	l.audit(at)
	return servers
}

func (l *ledger) audit(at site) {
	l.t.Helper()
	dir, err := open(l.t, at, bench.NFSv3).Directory(l.t.Context(), ledgerDir, false)
	if err != nil {
		l.t.Fatal(err)
	}
	files := make([]target.File, len(l.names))
	for i, name := range l.names {
		if files[i], err = dir.Open(l.t.Context(), name, target.OpenOptions{}); err != nil {
			l.t.Fatal(err)
		}
	}
	for i := range l.slots {
		own := &l.slots[i]
		for own.block = range ledgerBlocks {
			file, off := l.place(i)
			generation := own.generations[own.block]
			if generation == 0 {
				continue // never written
			}
			if _, err := files[file].ReadAt(l.t.Context(), own.buffer, off); err != nil {
				l.t.Fatal(err)
			}
			if err := l.data[file].Check(own.buffer, off, generation, generation); err != nil {
				l.t.Errorf("after the run: %v", err)
			}
		}
	}
}
