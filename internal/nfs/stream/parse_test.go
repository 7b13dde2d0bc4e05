package stream

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// endless asks for reads and writes without end and counts what is done.
type endless struct {
	bufs  [][]byte
	done  int
	bad   int
	write bool
}

func (d *endless) Next(x *IO) bool {
	x.Write, x.Handle, x.Buf, x.Stable = d.write && x.Slot%2 == 1, []byte("h"), d.bufs[x.Slot], FileSync
	return true
}

func (d *endless) Done(x *IO) {
	d.done++
	if x.Err != nil {
		d.bad++
	}
}

// plain is NFSv3 in a few lines: package nfs, which has it whole, imports this one.
type plain struct{}

func (plain) Append(b []byte, p *Part) ([]byte, error) {
	procedure := uint32(v3.ProcRead)
	if p.IO.Write {
		procedure = v3.ProcWrite
	}
	b = rpc.AppendCall(b, v3.Program, v3.Version, procedure, rpc.Auth{})
	if p.IO.Write {
		args := v3.WriteArgs{Handle: p.IO.Handle, Offset: p.Offset(), Count: uint32(p.Bytes()), Stable: v3.FileSync}
		return args.AppendHead(b, p.Bytes()), nil
	}
	args := v3.ReadArgs{Handle: p.IO.Handle, Offset: p.Offset(), Count: uint32(p.Bytes())}
	return args.Append(b), nil
}

func (plain) Decode(d *xdr.Decoder, p *Part) (r Results) {
	var status v3.Status
	if p.IO.Write {
		var res v3.WriteRes
		res.DecodeBrief(d)
		status, r.Count, r.Committed = res.Status, int(res.Count), Stability(res.Committed)
	} else {
		var res v3.ReadRes
		r.Data = res.DecodeHead(d)
		status, r.Count, r.EOF = res.Status, int(res.Count), res.EOF
	}
	if status != v3.OK {
		return Results{Err: status}
	}
	return r
}

// threadWithoutSocket has slots I/Os of size bytes in flight that nobody answers
// but the test. The xid of the first I/O of slot i is first|i.
func threadWithoutSocket(slots, size int, write bool) (l *thread, d *endless, first uint32) {
	now := time.Unix(0, 0)
	s := prepare(Config{
		Threads: 1, Slots: slots, BlockBytes: int64(size), ReadBytes: 64 << 10, WriteBytes: 64 << 10,
		Protocol: plain{}, Timeout: time.Minute,
		Now: func() time.Time { return now }, Describe: func(int) string { return "path" },
	})
	d = &endless{write: write}
	s.base, s.driver, s.done = 0, d, make(chan struct{})
	s.active.Store(int32(slots))
	l = s.threads[0]
	l.begin()
	for i := range s.slots {
		d.bufs = append(d.bufs, make([]byte, size))
		l.take(&s.slots[i])
	}
	l.sendAll()
	return l, d, s.indexMask + 1
}

// sendAll takes everything for sent.
func (l *thread) sendAll() {
	for l.encode(); l.send.pending(); l.encode() {
		l.send.sent = l.send.queued
		l.send.reset()
	}
}

// feed hands bytes to the thread in chunks, as receives would.
func (l *thread) feed(b []byte, chunk int) error {
	for len(b) > 0 {
		to, then, _ := l.recv.room(l.inFlight == 1)
		n := copy(to, b[:min(chunk, len(b))])
		n += copy(then, b[n:min(chunk, len(b))])
		if err := l.received(n); err != nil {
			return err
		}
		b = b[n:]
		l.sendAll()
	}
	return nil
}

// A receive must never wait for more than the rest of a READ, which may be the last that
// the server sends.
func TestAReceiveWaitsForAPartOfTheDataAtMost(t *testing.T) {
	for missing, least := range map[int][2]int{
		1 << 20: {512 << 10, 512 << 10}, stepBytes: {stepBytes, stepBytes / 2}, aloneBytes + 1: {aloneBytes + 1, aloneBytes}, aloneBytes: {aloneBytes, aloneBytes}, 1: {1, 1}, 0: {1, 1},
	} {
		for i, alone := range []bool{false, true} {
			r := receiver{buf: make([]byte, receiveBytes), dst: make([]byte, missing)}
			if _, _, got := r.room(alone); got != least[i] {
				t.Errorf("%d bytes missing, alone %v: waits for %d bytes, not %d", missing, alone, got, least[i])
			}
		}
	}
}

// readReply is the whole record of a READ's reply.
func readReply(xid uint32, data []byte, eof bool) []byte {
	h := rpc.ReplyHeader{XID: xid}
	b := h.Append(make([]byte, rpc.RecordMarkBytes))
	res := v3.ReadRes{Count: uint32(len(data)), EOF: eof, Data: data}
	b = res.Append(b)
	rpc.PutRecordMark(b, len(b)-rpc.RecordMarkBytes)
	return b
}

func writeReply(xid, count uint32) []byte {
	h := rpc.ReplyHeader{XID: xid}
	b := h.Append(make([]byte, rpc.RecordMarkBytes))
	res := v3.WriteRes{Count: count, Committed: v3.FileSync}
	b = res.Append(b)
	rpc.PutRecordMark(b, len(b)-rpc.RecordMarkBytes)
	return b
}

// split makes records of fragments of at most n bytes, an empty one in front.
func split(record []byte, n int) []byte {
	body := record[rpc.RecordMarkBytes:]
	out := xdr.AppendUint32(nil, 0)
	for len(body) > 0 {
		k := min(n, len(body))
		mark := uint32(k)
		if k == len(body) {
			mark |= lastFragment
		}
		out = append(xdr.AppendUint32(out, mark), body[:k]...)
		body = body[k:]
	}
	return out
}

func TestRepliesAreUnderstoodHoweverTheyArrive(t *testing.T) {
	data := make([]byte, 50_001)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for name, chunk := range map[string]int{"byte by byte": 1, "odd": 777, "large": 60_000, "all": 1 << 20} {
		for kind, cut := range map[string]func([]byte) []byte{
			"whole":        func(b []byte) []byte { return b },
			"in fragments": func(b []byte) []byte { return split(b, 999) },
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				l, d, first := threadWithoutSocket(4, len(data), true)
				var in []byte
				for _, i := range []uint32{2, 0} { // in another order than asked
					in = append(in, cut(readReply(first|i, data, false))...)
				}
				in = append(in, cut(writeReply(first|3, uint32(len(data))))...)
				if err := l.feed(in, chunk); err != nil {
					t.Fatal(err)
				}
				if d.done != 3 || d.bad != 0 {
					t.Errorf("%d are done, %d of them failed; want 3 and none", d.done, d.bad)
				}
				if !bytes.Equal(d.bufs[0], data) || !bytes.Equal(d.bufs[2], data) {
					t.Error("the data are not where they belong")
				}
			})
		}
	}
}

func TestWhatIsNoReplyEndsTheConnection(t *testing.T) {
	good := readReply(0, make([]byte, 100), false)
	for name, tc := range map[string]struct {
		reason string
		change func(first uint32) []byte
	}{
		"unknown xid":   {"it answers nothing", func(uint32) []byte { return good }},
		"too much data": {"more than was asked for", func(x uint32) []byte { return readReply(x, make([]byte, 8193), false) }},
		"2 GiB":         {"no reply is that long", func(uint32) []byte { return []byte{0xFF, 0xFF, 0xFF, 0xFF} }},
		"longer than a READ": {"no reply is longer than its data and a head", func(uint32) []byte {
			return xdr.AppendUint32(nil, lastFragment|(64<<10+2*headBytes))
		}},
		"fragments without end": {"empty ones could go on forever", func(uint32) []byte { return make([]byte, 4*(70<<10)) }},
		"short record": {"it ends within the data", func(x uint32) []byte {
			b := readReply(x, make([]byte, 8192), false)[:4096]
			rpc.PutRecordMark(b, len(b)-rpc.RecordMarkBytes)
			return b
		}},
		"a call": {"servers do not call", func(x uint32) []byte {
			b := bytes.Clone(readReply(x, nil, true))
			binary.BigEndian.PutUint32(b[8:], 0)
			return b
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l, _, first := threadWithoutSocket(2, 8192, false)
			if err := l.feed(tc.change(first), 1<<20); !rpc.IsProtocolError(err) {
				t.Errorf("%s, but the error is %v", tc.reason, err)
			}
		})
	}
}

func TestAReplyThatComesTwiceIsSkipped(t *testing.T) {
	for name, n := range map[string]int{"small": 300, "large": 50_000} {
		t.Run(name, func(t *testing.T) {
			l, d, first := threadWithoutSocket(2, n, false)
			data := bytes.Repeat([]byte{7}, n)
			one := readReply(first, data, false)
			in := append(bytes.Clone(one), one...)
			in = append(in, readReply(first|1, data, false)...)
			if err := l.feed(in, 1000); err != nil {
				t.Fatal(err)
			}
			if d.done != 2 || d.bad != 0 {
				t.Errorf("%d are done, %d of them failed; want 2 and none", d.done, d.bad)
			}
		})
	}
}

func TestTimeInWhichWeStoodStillIsNotTheServers(t *testing.T) {
	l, _, _ := threadWithoutSocket(2, 8192, false)
	at := l.s.start
	l.s.cfg.Now = func() time.Time { return at }
	l.sock = &socket{fd: -1}
	at = at.Add(time.Hour)
	l.look()
	if err := l.check(); err != nil {
		t.Errorf("after an hour without a turn: %v", err)
	}
	for range 70 {
		at = at.Add(time.Second)
		l.look()
	}
	if err := l.check(); err == nil {
		t.Error("a server that does not answer for more than the timeout is not given up")
	}
}

func TestAnAnswerBeforeTheRequestIsNotBelieved(t *testing.T) {
	l, _, first := threadWithoutSocket(2, 8192, true)
	l.send.sent--
	if err := l.feed(writeReply(first|1, 8192), 100); !rpc.IsProtocolError(err) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzReplies(f *testing.F) {
	_, _, first := threadWithoutSocket(4, 8192, true)
	f.Add(readReply(first, make([]byte, 40), false), 100)
	f.Add(split(readReply(first|2, make([]byte, 300), true), 64), 7)
	f.Add(append(writeReply(first|1, 8192), readReply(first, nil, true)...), 1<<20)
	f.Add(writeReply(first|3, 100), 3)
	f.Fuzz(func(t *testing.T, b []byte, chunk int) {
		l, _, _ := threadWithoutSocket(4, 8192, true)
		memory.Bound(t, 4*(len(b)+l.s.maxReply), func() { _ = l.feed(b, 1+max(chunk, 0)%(1<<20)) })
		if n := cap(l.recv.whole); n > 4*(len(b)+l.s.maxReply) {
			t.Errorf("%d bytes made the thread keep %d", len(b), n)
		}
		if l.inFlight < 0 || l.inFlight > 4 {
			t.Errorf("%d I/Os are in flight of 4", l.inFlight)
		}
	})
}

func TestAPathIsSilentWhenNothingIsAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		info   unix.TCPInfo
		want   bool
	}{
		"retransmitting":     {"two retransmissions were not answered", unix.TCPInfo{Unacked: 3, Retransmits: 2, Last_ack_recv: 1300, Last_data_sent: 700}, true},
		"one direction":      {"the other side is heard, and hears nothing", unix.TCPInfo{Unacked: 3, Retransmits: 3, Last_ack_recv: 20, Last_data_sent: 20}, true},
		"one retransmission": {"a packet may get lost", unix.TCPInfo{Unacked: 3, Retransmits: 1, Last_ack_recv: 1300, Last_data_sent: 700}, false},
		"closed window":      {"what is sent into it is answered", unix.TCPInfo{Unacked: 1, Backoff: 4, Last_ack_recv: 1500, Last_data_sent: 1501}, false},
		"first after a rest": {"it was sent just now", unix.TCPInfo{Unacked: 1, Last_ack_recv: 60_000}, false},
		"slow server":        {"it acknowledged and thinks", unix.TCPInfo{Last_ack_recv: 900, Last_data_sent: 5000}, false},
		"probe":              {"a probe left after a second", unix.TCPInfo{Probes: 1, Last_ack_recv: 1450}, true},
		"probe just now":     {"its answer is on the way", unix.TCPInfo{Probes: 1, Last_ack_recv: 1010}, false},
		"window probe":       {"its answer is on the way", unix.TCPInfo{Probes: 1, Notsent_bytes: 9, Last_ack_recv: 1600}, false},
		"window probes":      {"several were not answered", unix.TCPInfo{Probes: 2, Notsent_bytes: 9, Last_ack_recv: 1600}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := silent(&tc.info); got != tc.want {
				t.Errorf("silent: %v, but %s", got, tc.reason)
			}
		})
	}
}
