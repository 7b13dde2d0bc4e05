package stream

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// askingClock goes on by a millisecond at each look.
func askingClock() func() time.Time {
	at := time.Unix(1, 0)
	return func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
}

// ceilingStream is a stream that was never connected.
func ceilingStream(slots int, block int64) *Stream {
	return prepare(Config{
		Protocol: idleProtocol{}, Dial: func(context.Context, int) (net.Conn, error) { panic("the storage is not asked") },
		Describe: func(int) string { return "a path" }, Threads: 1, Slots: slots, BlockBytes: block,
		ReadBytes: 64 << 10, WriteBytes: 32 << 10, Timeout: time.Minute, Now: askingClock(),
	})
}

func TestTheCeilingCountsWhatEndsInItsWindow(t *testing.T) {
	for name, write := range map[string]bool{"reads": false, "writes": true} {
		t.Run(name, func(t *testing.T) {
			const slots, block = 3, 256 << 10 // in parts of the largest READ and WRITE
			s := ceilingStream(slots, block)
			bufs := make([][]byte, slots)
			for i := range bufs {
				bufs[i] = make([]byte, block)
				bufs[i][block-1] = 1
			}
			ops, err := s.Ceiling(t.Context(), bufs, write, time.Second, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			// An I/O looks at the clock once at least, so that there can be no more than milliseconds.
			if ops < 1 || ops > 1000 {
				t.Errorf("%d operations within a second of a clock that goes on by 1 ms at each look", ops)
			}
			for i := range bufs {
				if got := bufs[i][block-1] == 1; got != write {
					t.Errorf("buffer %d was read into: %v", i, !got)
				}
			}
		})
	}
}

func TestACancelledCeilingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := ceilingStream(1, 4096)
	if ops, err := s.Ceiling(ctx, [][]byte{make([]byte, 4096)}, false, 0, 1000*time.Hour); err == nil {
		t.Errorf("%d operations of a context that is done", ops)
	}
}

// Whoever shares the loopback may connect, too.
func TestTheIdleServerDoesNotFollowStrangeCalls(t *testing.T) {
	call := func(mark uint32, write bool, count uint32) []byte {
		return xdr.AppendUint32(xdr.AppendBool(xdr.AppendUint32(xdr.AppendUint32(nil, mark), 7), write), count)
	}
	const most = 4096
	for name, c := range map[string]struct {
		call []byte
		ok   bool
	}{
		"a read":                         {call(lastFragment|12, false, most), true},
		"a read of more than there is":   {call(lastFragment|12, false, most+1), false},
		"a write of more than there is":  {call(lastFragment|12+most+1, true, most), false},
		"a record that ends in its head": {call(lastFragment|11, false, 1), false},
		"a length of 2 GiB":              {call(lastFragment|(1<<31-1), true, 1), false},
		"neither a read nor a write":     {append(append(call(lastFragment|12, false, 1)[:8], 0, 0, 0, 9), 0, 0, 0, 1), false},
	} {
		s := idleServer{zeros: make([]byte, most)}
		if rest := s.take(c.call); (len(rest) == 0) != c.ok || s.pending() != c.ok {
			t.Errorf("%s: %d bytes are left, reply %v", name, len(rest), s.pending())
		}
	}
}
