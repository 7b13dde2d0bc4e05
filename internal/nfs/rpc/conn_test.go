package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// peer is the server's end of a connection, played by a test.
type peer struct {
	t   *testing.T
	nc  net.Conn
	rec *RecordReader
}

// connect returns a Conn and its peer over TCP, because pipes have no buffers.
func connect(t *testing.T) (*Conn, *peer) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(here, Options{})
	t.Cleanup(func() {
		_ = c.Close()
		_ = there.Close()
	})
	return c, &peer{t: t, nc: there, rec: NewRecordReader(there, 32<<20)}
}

// request reads one call and returns its xid and arguments.
func (p *peer) request() (xid uint32, args []byte) {
	if err := p.rec.Next(); err != nil {
		p.t.Error(err)
		return 0, nil
	}
	in, err := p.rec.AppendRest(nil)
	if err != nil {
		p.t.Error(err)
	}
	d := xdr.NewDecoder(in)
	var h CallHeader
	xdr.Decode(&d, &h)
	return h.XID, in[d.Offset():]
}

// reply is a record with a successful header and the results.
func reply(xid uint32, results []byte) []byte {
	h := ReplyHeader{XID: xid}
	b := append(h.Append(make([]byte, RecordMarkBytes)), results...)
	PutRecordMark(b, len(b)-RecordMarkBytes)
	return b
}

func (p *peer) send(b []byte) {
	if _, err := p.nc.Write(b); err != nil {
		p.t.Error(err)
	}
}

func newCall(arg uint32) *Call {
	c := &Call{}
	c.Reset()
	c.Request = xdr.AppendUint32(AppendCall(nil, 1, 2, 3, Auth{}), arg)
	return c
}

func TestRepliesFindTheirCallsInAnyOrder(t *testing.T) {
	c, p := connect(t)
	const calls = 300
	go func() {
		var replies [][]byte
		for range calls {
			xid, args := p.request()
			replies = append(replies, reply(xid, args))
		}
		rand.Shuffle(calls, func(i, j int) { replies[i], replies[j] = replies[j], replies[i] })
		p.send(bytes.Join(replies, nil))
	}()
	var wg sync.WaitGroup
	for i := range uint32(calls) {
		wg.Go(func() {
			call := newCall(i)
			if err := c.Do(t.Context(), call); err != nil {
				t.Error(err)
				return
			}
			if got := binary.BigEndian.Uint32(call.Results); got != i {
				t.Errorf("call %d got the results of call %d", i, got)
			}
		})
	}
	wg.Wait()
	if n := c.counters.InFlight.Load(); n != 0 {
		t.Errorf("%d calls in flight after all were answered", n)
	}
}

func TestResultsArriveWholeHoweverTheReplyIsCut(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 30_001)
	for name, fragment := range map[string]int{"one fragment": 1 << 20, "many": 997} {
		c, p := connect(t)
		go func() {
			xid, _ := p.request()
			p.send(fragments(reply(xid, data)[RecordMarkBytes:], fragment))
		}()
		call := newCall(0)
		if err := c.Do(t.Context(), call); err != nil || !bytes.Equal(call.Results, data) {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(call.Results), len(data))
		}
	}
}

func TestBadRepliesEndTheConnectionWithAReason(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(xid uint32) []byte
		want   error
		lost   bool
	}{
		"closed":               {func(uint32) []byte { return nil }, io.EOF, true},
		"cut in the mark":      {func(uint32) []byte { return []byte{0x80, 0} }, io.ErrUnexpectedEOF, true},
		"cut in the header":    {func(x uint32) []byte { return reply(x, nil)[:20] }, io.ErrUnexpectedEOF, true},
		"cut in the data":      {func(x uint32) []byte { return reply(x, []byte{0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8})[:34] }, io.ErrUnexpectedEOF, true},
		"garbage":              {func(uint32) []byte { return bytes.Repeat([]byte{0x80, 0, 0, 0x20}, 20) }, ErrNotReply, false},
		"huge record":          {func(uint32) []byte { return []byte{0xFF, 0xFF, 0xFF, 0xFF} }, ErrRecordTooLarge, false},
		"unknown xid":          {func(x uint32) []byte { return reply(x+77, nil) }, ErrUnknownXID, false},
		"record too short":     {func(uint32) []byte { return AppendRecordMark(nil, 0) }, ErrRecordShort, false},
		"endless verifier":     {endlessVerifier, xdr.ErrTooLong, false},
		"denied for no reason": {func(x uint32) []byte { return denied(x, 9) }, xdr.ErrBadValue, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := connect(t)
			go func() {
				xid, _ := p.request()
				p.send(tc.answer(xid))
				_ = p.nc.Close()
			}()
			err := c.Do(t.Context(), newCall(0))
			if !errors.Is(err, tc.want) || IsLost(err) != tc.lost || IsProtocolError(err) == tc.lost {
				t.Errorf("err = %v (lost %v), want %v", err, IsLost(err), tc.want)
			}
			<-c.Done()
			if err := c.Do(t.Context(), newCall(1)); err == nil {
				t.Error("a dead connection takes calls")
			}
		})
	}
}

func endlessVerifier(xid uint32) []byte {
	b := reply(xid, nil)
	binary.BigEndian.PutUint32(b[RecordMarkBytes+16:], 1<<30)
	return b
}

func denied(xid, why uint32) []byte {
	b := AppendRecordMark(nil, 16)
	for _, v := range []uint32{xid, typeReply, 1, why} {
		b = xdr.AppendUint32(b, v)
	}
	return b
}

func TestARefusalConcernsOnlyItsCall(t *testing.T) {
	c, p := connect(t)
	go func() {
		xid, _ := p.request()
		h := ReplyHeader{XID: xid, Denied: true, Reject: RejectAuth, AuthWhy: AuthTooWeak}
		b := h.Append(make([]byte, RecordMarkBytes))
		PutRecordMark(b, len(b)-RecordMarkBytes)
		p.send(b)
		xid, args := p.request()
		p.send(reply(xid, args))
	}()
	if err := c.Do(t.Context(), newCall(0)); !IsAuthError(err) {
		t.Errorf("err = %v, want that the credential is refused", err)
	}
	if err := c.Do(t.Context(), newCall(1)); err != nil {
		t.Error(err)
	}
}

func TestAnAbandonedCallIsSkippedWhenItsReplyComes(t *testing.T) {
	c, p := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		late, args := p.request()
		cancel()
		xid, _ := p.request()
		p.send(reply(late, args))
		p.send(reply(xid, []byte("next")))
	}()
	if err := c.Do(ctx, newCall(0)); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	call := newCall(1)
	if err := c.Do(t.Context(), call); err != nil || string(call.Results) != "next" {
		t.Errorf("err = %v, results %q", err, call.Results)
	}
}

func TestAServerThatDoesNotReadCannotHoldACallerWhoGivesUp(t *testing.T) {
	c, _ := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	call := newCall(0)
	call.Request = append(call.Request, make([]byte, 64<<20)...)
	if err := c.Do(ctx, call); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestARetransmissionKeepsItsXID(t *testing.T) {
	c, p := connect(t)
	call := newCall(7)
	call.xid, call.hasXID = 12345, true
	go func() {
		xid, args := p.request()
		if xid != 12345 {
			t.Errorf("xid = %d, want the old one", xid)
		}
		p.send(reply(xid, args))
	}()
	if err := c.Do(t.Context(), call); err != nil {
		t.Error(err)
	}
}

func TestTableFindsEveryCallOnce(t *testing.T) {
	tab := table{calls: map[uint32]*Call{}, next: 0xFFFFFFF0} // xids wrap around
	calls := make([]*Call, 5000)
	for i := range calls {
		calls[i] = &Call{Since: int64(len(calls) - i)}
		tab.add(calls[i])
	}
	if since, ok := tab.oldest(); since != 1 || !ok {
		t.Errorf("oldest = %d, %v", since, ok)
	}
	for i, c := range calls {
		if got, ok := tab.take(c.xid + 1<<20); got != nil || ok {
			t.Fatalf("call %d is given for another xid", i)
		}
		if got, ok := tab.take(c.xid); got != c || !ok {
			t.Fatalf("call %d is not found", i)
		}
		if got, ok := tab.take(c.xid); got != nil || !ok {
			t.Fatalf("call %d is found twice, or its second reply is not known", i)
		}
	}
	if _, ok := tab.oldest(); ok || len(tab.calls) != 0 {
		t.Errorf("%d calls in an empty table", len(tab.calls))
	}
}

// The WRITE of a connection that failed is made again over another one: the kernel must not
// send it once more when the path is healed.
func TestAConnectionThatFailsTakesBackWhatTheOtherSideHasNotReceived(t *testing.T) {
	c, p := connect(t)
	call := &Call{}
	call.Reset()
	call.Request = append(AppendCall(nil, 100003, 3, 7, Auth{}), make([]byte, 64<<20)...) // more than all buffers hold
	if err := c.start(call); err != nil {
		t.Fatal(err)
	}
	_ = p.nc.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(p.nc, make([]byte, 1<<20)); err != nil { // it is under way
		t.Fatal(err)
	}
	c.Fail(io.ErrUnexpectedEOF)
	if err := c.wait(t.Context(), call); err == nil {
		t.Error("the call did not fail")
	}
	if n, err := io.Copy(io.Discard, p.nc); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes more arrived, and reading ended with %v", n, err)
	}
}
