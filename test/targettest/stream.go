package targettest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// runStreams checks the contract of streams. Parts
// that a target cannot have are left out, not skipped: nothing can make them run.
func runStreams(t *testing.T, open func(testing.TB) target.Target) {
	t.Helper()
	probe := open(t)
	t.Cleanup(func() { _ = probe.Close() })
	checks := map[string]func(*testing.T, target.Target){
		"every slot is used":                           everySlotIsUsed,
		"a thousand slots are served":                  manySlots,
		"every read gets the data of its place":        readsGetTheirPlace,
		"what is written is there":                     writesLand,
		"an I/O that fails does so alone":              failuresStayAlone,
		"waiting is kept, and holds up nobody":         waitIsKept,
		"a cancelled Run ends, with all that it began": cancelEndsAll,
		"nothing is begun when it is over already":     nothingWhenDone,
		"two streams run at once":                      twoAtOnce,
		"a stream is closed twice, or by its target":   closeStreamTwice,
	}
	if len(probe.Channels()) > 0 {
		checks["what moves is counted"] = streamsAreCounted
	} else { // behind channels there is a server, which allocates in this process too
		checks["no I/O allocates"] = streamAllocatesNothing
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			tgt := open(t)
			t.Cleanup(func() { _ = tgt.Close() })
			// A check that closes its target leaves this directory to another one.
			makeDir(t, probe, closedDir)
			check(t, tgt)
		})
	}
}

// script is a Driver of functions.
type script struct {
	next func(o *target.IO, before int) bool // before: so many I/Os of this slot
	done func(o *target.IO)                  // may be nil

	threads []atomic.Bool // who is calling
	slots   []tally
	wrong   atomic.Pointer[string]
}

// tally is what a slot was given and ended.
type tally struct {
	begun, ended, asked int
	busy                atomic.Bool
}

func (s *script) Next(o *target.IO) bool {
	own := &s.slots[o.Slot]
	s.enter(o.Thread)
	defer s.threads[o.Thread].Store(false)
	if own.busy.Swap(true) {
		s.complain("a slot was asked for the next I/O before the last was done")
	}
	own.asked++
	o.Wait = 0
	more := s.next(o, own.begun)
	if more && o.Wait == 0 {
		own.begun++
	} else {
		own.busy.Store(false)
	}
	return more
}

func (s *script) Done(o *target.IO) {
	s.enter(o.Thread)
	defer s.threads[o.Thread].Store(false)
	if s.done != nil {
		s.done(o)
	}
	own := &s.slots[o.Slot]
	own.ended++
	if !own.busy.Swap(false) {
		s.complain("an I/O was done twice")
	}
}

// enter notes that a thread is calling.
func (s *script) enter(thread int) {
	if s.threads[thread].Swap(true) {
		s.complain("two goroutines called as the same thread")
	}
}

func (s *script) complain(text string) { s.wrong.CompareAndSwap(nil, &text) }

func newStream(t *testing.T, tgt target.Target, slots int, size int64) target.Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := tgt.NewStream(ctx, target.StreamOptions{Slots: slots, BlockBytes: size, Streams: 1})
	cancel() // it bounds the opening only
	if err != nil {
		t.Fatalf("open a stream of %d slots: %v", slots, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if s.Threads() < 1 {
		t.Fatalf("the stream has %d threads", s.Threads())
	}
	return s
}

// drive runs a script and checks that every I/O that it gave has ended.
func drive(ctx context.Context, t *testing.T, s target.Stream, slots int, d *script) {
	t.Helper()
	d.threads, d.slots = make([]atomic.Bool, s.Threads()), make([]tally, slots)
	s.Run(ctx, d)
	for i := range d.slots {
		if own := &d.slots[i]; own.begun != own.ended || own.busy.Load() {
			t.Errorf("slot %d began %d I/Os, and %d ended", i, own.begun, own.ended)
		}
	}
	if text := d.wrong.Load(); text != nil {
		t.Error(*text)
	}
}

// allEnded checks how many I/Os each slot did.
func (s *script) allEnded(t *testing.T, want int) {
	t.Helper()
	for i := range s.slots {
		if got := s.slots[i].ended; got != want {
			t.Errorf("slot %d of %d did %d I/Os, want %d", i, len(s.slots), got, want)
		}
	}
}

// numbered gives data every sector of which tells where it is and whose.
func numbered(t *testing.T, size int64, file byte) []byte {
	t.Helper()
	data := buffers(t, 1, size)[0]
	for off := 0; off < len(data); off += target.SectorBytes {
		data[off] = file
		binary.LittleEndian.PutUint32(data[off+1:], uint32(off/target.SectorBytes))
		data[off+target.SectorBytes-1] = byte(off / target.SectorBytes * 7)
	}
	return data
}

func stableFile(t *testing.T, dir target.Directory, name string, data []byte) target.File {
	t.Helper()
	makeFile(t, dir, name, data)
	f, err := dir.Open(t.Context(), name, target.OpenOptions{Stable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// blocks lets each slot read or write blocks of one file, limit times.
func blocks(f target.File, buf [][]byte, limit int, write bool) *script {
	d := &script{next: func(o *target.IO, before int) bool {
		o.Write, o.File, o.Buf, o.Offset = write, f, buf[o.Slot], int64(o.Slot)*block
		return before < limit
	}}
	d.done = func(o *target.IO) {
		if o.Err != nil {
			d.complain(o.Err.Error())
		}
	}
	return d
}

func everySlotIsUsed(t *testing.T, tgt target.Target) {
	t.Helper()
	for _, slots := range []int{1, 2, 7, 64} {
		f := stableFile(t, makeDir(t, tgt, "t-slots"), string(rune('a'+slots%26)), numbered(t, 64*block, 1))
		s := newStream(t, tgt, slots, block)
		for range 2 { // a stream may run again
			d := blocks(f, buffers(t, slots, block), 20, false)
			drive(t.Context(), t, s, slots, d)
			d.allEnded(t, 20)
		}
	}
}

func manySlots(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots = 1024
	f := stableFile(t, makeDir(t, tgt, "t-thousand"), "f", numbered(t, slots*block, 1))
	buf, want := buffers(t, slots, block), numbered(t, slots*block, 1)
	d := blocks(f, buf, 3, false)
	drive(t.Context(), t, newStream(t, tgt, slots, block), slots, d)
	d.allEnded(t, 3)
	for i := range buf {
		if !bytes.Equal(buf[i], want[i*block:(i+1)*block]) {
			t.Fatalf("slot %d read what is elsewhere", i)
		}
	}
}

// at gives the place and the length of the n-th I/O of a slot, of any size up to
// most.
func at(slot, n int, most, size int64) (off, length int64) {
	mixed := int64(slot)*7919 + int64(n)*104729
	length = (1 + mixed%(most/target.SectorBytes)) * target.SectorBytes
	off = mixed * 31 % ((size - length) / target.SectorBytes) * target.SectorBytes
	return off, length
}

func readsGetTheirPlace(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots, most, size = 6, 3 << 19, 3 << 20 // more than one transfer
	dir := makeDir(t, tgt, "t-place")
	data := [][]byte{numbered(t, size, 1), numbered(t, size, 2), numbered(t, size, 4)}
	var files []target.File
	for i := range data {
		files = append(files, stableFile(t, dir, string(rune('a'+i)), data[i]))
	}
	buf := buffers(t, slots, most)
	which := make([]int, slots)
	d := &script{}
	d.next = func(o *target.IO, before int) bool {
		which[o.Slot] = (o.Slot + before) % len(files)
		off, length := at(o.Slot, before, most, size)
		o.Write, o.File, o.Buf, o.Offset = false, files[which[o.Slot]], buf[o.Slot][:length], off
		clear(o.Buf)
		return before < 12
	}
	d.done = func(o *target.IO) {
		switch want := data[which[o.Slot]][o.Offset:]; {
		case o.Err != nil:
			d.complain(o.Err.Error())
		case !bytes.Equal(o.Buf, want[:len(o.Buf)]):
			d.complain("a read got something else than what is there")
		}
	}
	drive(t.Context(), t, newStream(t, tgt, slots, most), slots, d)
}

func writesLand(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots, share = 4, 3 << 19 // more than one transfer
	const size = slots * share
	dir := makeDir(t, tgt, "t-land")
	want := [][]byte{numbered(t, size, 1), numbered(t, size, 2)}
	files := []target.File{
		stableFile(t, dir, "a", numbered(t, size, 8)),
		stableFile(t, dir, "b", numbered(t, size, 16)),
	}
	// The slots share both files out, and write their part in steps of all sizes.
	steps := []int64{target.SectorBytes, 3 * target.SectorBytes, 64 << 10, share}
	buf := buffers(t, slots, share)
	place := make([][2]int64, slots)
	d := &script{}
	d.next = func(o *target.IO, before int) bool {
		p := &place[o.Slot]
		i := o.Slot % 2
		if p[i] == share {
			i = 1 - i
		}
		if p[i] == share {
			return false
		}
		length := min(steps[before%len(steps)], share-p[i])
		off := int64(o.Slot)*share + p[i]
		p[i] += length
		o.Write, o.File, o.Buf, o.Offset = true, files[i], buf[o.Slot][:length], off
		copy(o.Buf, want[i][off:])
		return true
	}
	d.done = func(o *target.IO) {
		if o.Err != nil {
			d.complain(o.Err.Error())
		}
	}
	drive(t.Context(), t, newStream(t, tgt, slots, share), slots, d)
	got := buffers(t, 1, size)[0]
	for i, f := range files {
		if _, err := f.ReadAt(t.Context(), got, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[i]) {
			t.Errorf("file %d does not hold what was written", i)
		}
		if n, err := f.Size(t.Context()); err != nil || n != size {
			t.Errorf("file %d has %d bytes, %v", i, n, err)
		}
	}
}

func failuresStayAlone(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots = 6
	f := stableFile(t, makeDir(t, tgt, "t-fail"), "f", numbered(t, 4*block, 1))
	buf := buffers(t, slots, block)
	errs := make([][]error, slots)
	d := &script{next: func(o *target.IO, before int) bool {
		o.Write, o.File, o.Buf, o.Offset = false, f, buf[o.Slot], 0
		switch o.Slot {
		case 1:
			o.Offset = 4*block - target.SectorBytes // over the end
		case 2:
			o.Offset = 64 * block // behind it
		}
		return before < 5
	}}
	d.done = func(o *target.IO) { errs[o.Slot] = append(errs[o.Slot], o.Err) }
	drive(t.Context(), t, newStream(t, tgt, slots, block), slots, d)
	for slot, all := range errs {
		if len(all) != 5 {
			t.Errorf("slot %d was called for %d I/Os, want 5", slot, len(all))
		}
		for _, err := range all {
			switch isEOF := errors.Is(err, io.EOF); {
			case (slot == 1 || slot == 2) && !isEOF:
				t.Errorf("a read over the end gave %v", err)
			case slot != 1 && slot != 2 && err != nil:
				t.Errorf("a good read gave %v", err)
			}
		}
	}
}

func waitIsKept(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots, pause = 4, 30 * time.Millisecond
	f := stableFile(t, makeDir(t, tgt, "t-wait"), "f", numbered(t, slots*block, 1))
	buf := buffers(t, slots, block)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var busy atomic.Int32
	busy.Store(slots - 1)
	until := func(more bool) bool { // the last of those that end ends it all
		if !more && busy.Add(-1) == 0 {
			cancel()
		}
		return more
	}
	var early *time.Timer
	waits := 0
	d := &script{}
	d.next = func(o *target.IO, before int) bool {
		o.Write, o.File, o.Buf, o.Offset = false, f, buf[o.Slot], 0
		switch o.Slot {
		case 0: // forever: only the end of ctx helps
			o.Wait = time.Hour
			return true
		case 1: // before each I/O once
			if early == nil {
				early, o.Wait = time.NewTimer(pause-pause/10), pause
				waits++
				return true
			}
			select {
			case <-early.C:
			default:
				d.complain("Next was called before the wait was over")
			}
			early = nil
			return until(before < 3)
		default:
			return until(before < 50)
		}
	}
	drive(ctx, t, newStream(t, tgt, slots, block), slots, d)
	if waits != 4 || d.slots[0].asked != 1 {
		t.Errorf("slot 1 waited %d times, want 4; slot 0 was asked %d times", waits, d.slots[0].asked)
	}
	if d.slots[2].ended != 50 || d.slots[3].ended != 50 {
		t.Errorf("beside those that waited, %d and %d I/Os were done, want 50", d.slots[2].ended, d.slots[3].ended)
	}
}

func twoAtOnce(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots = 8
	dir := makeDir(t, tgt, "t-two")
	data := numbered(t, slots*block, 1)
	ended := make(chan *script, 2)
	for _, name := range []string{"a", "b"} {
		f, s, buf := stableFile(t, dir, name, data), newStream(t, tgt, slots, block), buffers(t, slots, block)
		go func() {
			d := blocks(f, buf, 100, false)
			drive(t.Context(), t, s, slots, d)
			ended <- d
		}()
	}
	for range 2 {
		(<-ended).allEnded(t, 100)
	}
}

func cancelEndsAll(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots = 32
	f := stableFile(t, makeDir(t, tgt, "t-stop"), "f", numbered(t, slots*block, 1))
	s, buf := newStream(t, tgt, slots, block), buffers(t, slots, block)
	for range 3 { // a stream may run again
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		var ended atomic.Int64
		d := blocks(f, buf, 1<<40, false)
		d.done = func(o *target.IO) {
			if ended.Add(1) == 500 {
				cancel(why)
			}
			if o.Err != nil && !errors.Is(o.Err, why) {
				d.complain("an I/O that was cut off gave " + o.Err.Error())
			}
		}
		drive(ctx, t, s, slots, d)
		cancel(nil)
	}
	d := blocks(f, buf, 2, false)
	drive(t.Context(), t, s, slots, d)
	d.allEnded(t, 2)
}

func nothingWhenDone(t *testing.T, tgt target.Target) {
	t.Helper()
	f := stableFile(t, makeDir(t, tgt, "t-over"), "f", numbered(t, 4*block, 1))
	s := newStream(t, tgt, 4, block)
	why := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := tgt.NewStream(ctx, target.StreamOptions{Slots: 4, BlockBytes: block, Streams: 1}); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("opening a stream gave %v", err)
	}
	d := blocks(f, buffers(t, 4, block), 1<<40, true)
	d.done = func(o *target.IO) {
		if !errors.Is(o.Err, why) {
			d.complain("an I/O was done when all was over")
		}
	}
	drive(ctx, t, s, 4, d)
}

// closedDir is the directory of closeStreamTwice.
const closedDir = "t-twice"

func closeStreamTwice(t *testing.T, tgt target.Target) {
	t.Helper()
	f := stableFile(t, makeDir(t, tgt, closedDir), "f", numbered(t, 4*block, 1))
	used, unused, open := newStream(t, tgt, 4, block), newStream(t, tgt, 4, block), newStream(t, tgt, 4, block)
	drive(t.Context(), t, used, 4, blocks(f, buffers(t, 4, block), 5, false))
	drive(t.Context(), t, open, 4, blocks(f, buffers(t, 4, block), 5, false))
	for range 2 {
		for _, s := range []target.Stream{used, unused} {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}
	if err := tgt.Close(); err != nil {
		t.Errorf("close the target: %v", err)
	}
	if err := open.Close(); err != nil {
		t.Errorf("close a stream whose target is closed: %v", err)
	}
}

func streamsAreCounted(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots, each = 8, 25
	f := stableFile(t, makeDir(t, tgt, "t-count"), "f", numbered(t, slots*block, 1))
	s := newStream(t, tgt, slots, block)
	before := tgt.Channels()
	drive(t.Context(), t, s, slots, blocks(f, buffers(t, slots, block), each, false))
	drive(t.Context(), t, s, slots, blocks(f, buffers(t, slots, block), each, true))
	after := tgt.Channels()
	if len(after) < len(before) {
		t.Fatalf("%d channels became %d", len(before), len(after))
	}
	before = append(before, make([]runfile.Channel, len(after)-len(before))...)
	// With layouts the I/O goes to the data servers, and to as few of them as have files.
	byLayout := slices.ContainsFunc(after, func(c runfile.Channel) bool { return c.Role == bench.PathDataServer })
	var read, written int64
	for i := range after {
		read += after[i].BytesRead - before[i].BytesRead
		written += after[i].BytesWritten - before[i].BytesWritten
		if !byLayout && (after[i].ID != before[i].ID || after[i].Sends == before[i].Sends) {
			t.Errorf("channel %+v was not used, before %+v", after[i], before[i])
		}
	}
	if want := int64(slots * each * block); read != want || written != want {
		t.Errorf("the channels counted %d bytes read and %d written, want %d", read, written, want)
	}
}

func streamAllocatesNothing(t *testing.T, tgt target.Target) {
	t.Helper()
	const slots, few, many = 8, 20, 520
	f := stableFile(t, makeDir(t, tgt, "t-alloc"), "f", numbered(t, slots*block, 1))
	s, buf := newStream(t, tgt, slots, block), buffers(t, slots, block)
	for _, write := range []bool{false, true} {
		var limit int
		d := blocks(f, buf, 0, write)
		d.next = func(o *target.IO, before int) bool {
			o.Write, o.File, o.Buf, o.Offset = write, f, buf[o.Slot], int64(o.Slot)*block
			return before < limit
		}
		d.threads, d.slots = make([]atomic.Bool, s.Threads()), make([]tally, slots)
		each := memory.PerOperation(slots*few, slots*many, func(operations int) {
			limit = operations / slots
			for i := range d.slots {
				d.slots[i].begun = 0
			}
			s.Run(t.Context(), d)
		})
		if text := d.wrong.Load(); text != nil {
			t.Error(*text)
		}
		if each > 0.001 {
			t.Errorf("%v allocations for each I/O (write: %v)", each, write)
		}
	}
}
