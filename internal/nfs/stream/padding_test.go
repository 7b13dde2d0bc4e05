package stream

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

// The last bytes of a record come alone when TCP cuts it there, and the next
// reply begins right behind them.
func TestPaddingThatComesLateIsSkipped(t *testing.T) {
	for _, n := range []int{2045, 2046, 2047} {
		l, d, first := threadWithoutSocket(2, n, false)
		data := bytes.Repeat([]byte{7}, n)
		in := readReply(first, data, false)
		if err := l.feed(in, len(in)-1); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if err := l.feed(readReply(first|1, data, false), 1<<20); err != nil {
			t.Fatalf("%d bytes: the reply behind them: %v", n, err)
		}
		if d.done != 2 || d.bad != 0 {
			t.Errorf("%d bytes: %d are done, %d of them failed; want 2 and none", n, d.done, d.bad)
		}
	}
}

// XDR counts in fours: what a write lacks to that is sent behind its data, and the
// record mark counts it.
func TestWritesOfAnyLengthArePadded(t *testing.T) {
	for _, n := range []int{copyBytes - 1, copyBytes, copyBytes + 1, copyBytes + 2, copyBytes + 3, copyBytes + 4} {
		l, _, _ := threadWithoutSocket(2, n, true)
		l.send.restart()
		f := &l.s.slots[1].fragments[0]
		f.state = fragmentQueued
		l.unsent.push(f)
		l.encode()
		var sent []byte
		for _, p := range l.send.pieces {
			if p.data != nil {
				sent = append(sent, p.data...)
			} else {
				sent = append(sent, l.send.batch[p.from:p.to]...)
			}
		}
		if len(sent) < rpc.RecordMarkBytes {
			t.Fatalf("%d bytes: nothing was encoded", n)
		}
		body := len(sent) - rpc.RecordMarkBytes
		if mark := int(binary.BigEndian.Uint32(sent) &^ lastFragment); mark != body {
			t.Errorf("%d bytes: the record mark says %d and %d follow it", n, mark, body)
		}
		if body%4 != 0 {
			t.Errorf("%d bytes: the call has %d, which is no multiple of 4", n, body)
		}
		if l.send.queued != uint64(len(sent)) {
			t.Errorf("%d bytes: %d are counted and %d sent", n, l.send.queued, len(sent))
		}
	}
}
