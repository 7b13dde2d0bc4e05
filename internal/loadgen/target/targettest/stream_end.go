package targettest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

func cancelEndsAll(t *testing.T, tgt target.Target, by target.Streamer) {
	t.Helper()
	const slots = 32
	f := stableFile(t, makeDir(t, tgt, "t-stop"), "f", numbered(t, slots*block, 1))
	s, buf := newStream(t, by, slots, block), buffers(t, slots, block)
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
	for i := range d.slots {
		if d.slots[i].ended != 2 {
			t.Errorf("afterwards slot %d does not work", i)
		}
	}
}

func nothingWhenDone(t *testing.T, tgt target.Target, by target.Streamer) {
	t.Helper()
	f := stableFile(t, makeDir(t, tgt, "t-over"), "f", numbered(t, 4*block, 1))
	s := newStream(t, by, 4, block)
	why := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := by.NewStream(ctx, target.StreamOptions{Slots: 4, BlockBytes: block, Streams: 1}); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
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

func closeStreamTwice(t *testing.T, tgt target.Target, by target.Streamer) {
	t.Helper()
	f := stableFile(t, makeDir(t, tgt, "t-twice"), "f", numbered(t, 4*block, 1))
	used, unused, open := newStream(t, by, 4, block), newStream(t, by, 4, block), newStream(t, by, 4, block)
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

func streamsAreCounted(t *testing.T, tgt target.Target, by target.Streamer) {
	t.Helper()
	const slots, each = 8, 25
	f := stableFile(t, makeDir(t, tgt, "t-count"), "f", numbered(t, slots*block, 1))
	s := newStream(t, by, slots, block)
	before := tgt.Channels()
	drive(t.Context(), t, s, slots, blocks(f, buffers(t, slots, block), each, false))
	drive(t.Context(), t, s, slots, blocks(f, buffers(t, slots, block), each, true))
	after := tgt.Channels()
	if len(after) != len(before) {
		t.Fatalf("%d channels became %d", len(before), len(after))
	}
	var read, written int64
	for i := range after {
		read += after[i].BytesRead - before[i].BytesRead
		written += after[i].BytesWritten - before[i].BytesWritten
		if after[i].ID != before[i].ID || after[i].Sends == before[i].Sends {
			t.Errorf("channel %+v was not used, before %+v", after[i], before[i])
		}
	}
	if want := int64(slots * each * block); read != want || written != want {
		t.Errorf("the channels counted %d bytes read and %d written, want %d", read, written, want)
	}
}

func streamAllocatesNothing(t *testing.T, tgt target.Target, by target.Streamer) {
	t.Helper()
	const slots, few, many = 8, 20, 520
	f := stableFile(t, makeDir(t, tgt, "t-alloc"), "f", numbered(t, slots*block, 1))
	s, buf := newStream(t, by, slots, block), buffers(t, slots, block)
	for _, write := range []bool{false, true} {
		limit := few
		d := blocks(f, buf, 0, write)
		d.next = func(o *target.IO, before int) bool {
			o.Write, o.File, o.Buf, o.Offset = write, f, buf[o.Slot], int64(o.Slot)*block
			return before < limit
		}
		run := func() {
			for i := range d.slots {
				d.slots[i].begun = 0
			}
			s.Run(t.Context(), d)
		}
		d.lanes, d.slots = make([]atomic.Bool, s.Lanes()), make([]tally, slots)
		// What a Run costs once is no matter.
		once := testing.AllocsPerRun(5, run)
		limit = many
		each := (testing.AllocsPerRun(5, run) - once) / (slots * (many - few))
		if text := d.wrong.Load(); text != nil {
			t.Error(*text)
		}
		if each > 0.001 {
			t.Errorf("%v allocations for each I/O (write: %v)", each, write)
		}
	}
}
