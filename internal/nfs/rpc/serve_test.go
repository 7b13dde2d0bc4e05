package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// calling returns a record with a call of n bytes.
func calling(xid uint32, n int) []byte {
	b := AppendCall(nil, 0x40000000, 1, 1, AuthSys{}.Auth())
	b = append(b, make([]byte, n)...)
	PutRecordMark(b, len(b)-RecordMarkBytes)
	binary.BigEndian.PutUint32(b[xidOffset:], xid)
	return b
}

// echo answers with the xid of the call.
func echo(call []byte) []byte {
	h := ReplyHeader{XID: binary.BigEndian.Uint32(call)}
	return h.Append(make([]byte, RecordMarkBytes))
}

func TestACallOfTheOtherSideIsServedBetweenReplies(t *testing.T) {
	here, there := net.Pipe()
	c := NewConn(here, Options{Serve: echo})
	defer func() { _ = c.Close() }()
	call := newCall(1)
	started := make(chan error, 1)
	go func() { started <- c.start(call) }() // it writes, and a pipe has no room
	rec := NewRecordReader(there, 1<<20)
	next := func() []byte {
		if err := rec.Next(); err != nil {
			t.Fatal(err)
		}
		b, err := rec.AppendRest(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	request := next()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if _, err := there.Write(calling(77, 100)); err != nil {
		t.Fatal(err)
	}
	if got := next(); binary.BigEndian.Uint32(got) != 77 || binary.BigEndian.Uint32(got[4:]) != typeReply {
		t.Errorf("reply %x", got)
	}
	if _, err := there.Write(reply(binary.BigEndian.Uint32(request), []byte{0, 0, 0, 0})); err != nil {
		t.Fatal(err)
	}
	if err := c.wait(t.Context(), call); err != nil {
		t.Error(err)
	}
}

func TestCallsOfTheOtherSideAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func([]byte) []byte
		in    []byte
		want  error
	}{
		"not served": {nil, calling(1, 0), ErrNotReply},
		"too long":   {echo, calling(1, maxServedBytes), ErrRecordTooLarge},
		// Nobody takes the replies: net.Pipe has no room at all.
		"no reply is taken": {func([]byte) []byte { return make([]byte, 64<<10) }, bytes.Repeat(calling(1, 0), 64), ErrUnsentReplies},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			c := NewConn(here, Options{Serve: tc.serve})
			go func() { _, _ = there.Write(tc.in) }()
			<-c.Done()
			if err := c.Err(); !IsProtocolError(err) || !errors.Is(err, tc.want) {
				t.Errorf("the connection ends with %v, want a violation of the protocol: %v", err, tc.want)
			}
			_ = c.Close()
			_ = there.Close()
		})
	}
}

// answering plays a server that answers one call with bytes.
func answering(t *testing.T, out []byte) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	go func() {
		rec := NewRecordReader(there, 1<<20)
		if rec.Next() != nil {
			return
		}
		if _, err := rec.AppendRest(nil); err != nil {
			return
		}
		_, _ = there.Write(out)
		_ = there.Close()
	}()
	return here
}

func TestExchangeReadsNothingBeyondItsReply(t *testing.T) {
	behind := []byte("of the next reader")
	nc := answering(t, append(reply(1, []byte{1, 2, 3, 4}), behind...))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results, err := Exchange(ctx, nc, newCall(0).Request)
	if err != nil || !bytes.Equal(results, []byte{1, 2, 3, 4}) {
		t.Fatalf("Exchange = %x, %v", results, err)
	}
	if rest, err := io.ReadAll(nc); err != nil || !bytes.Equal(rest, behind) {
		t.Errorf("behind the reply there is %q, %v; want %q", rest, err, behind)
	}
}

func TestExchangeRefusesNonsense(t *testing.T) {
	for name, tc := range map[string]struct {
		in       []byte
		protocol bool
	}{
		"another xid": {reply(2, nil), true},
		"a call":      {calling(1, 0), true},
		"half":        {reply(1, nil)[:10], false},
		"too long":    {reply(1, make([]byte, maxExchangeBytes)), true},
		"no record":   {reply(1, nil)[:RecordMarkBytes], false},
	} {
		if _, err := Exchange(t.Context(), answering(t, tc.in), newCall(0).Request); err == nil || IsProtocolError(err) != tc.protocol {
			t.Errorf("%s: %v, want a violation of the protocol: %v", name, err, tc.protocol)
		}
	}
}

func TestExchangeEndsWithItsContext(t *testing.T) {
	here, there := net.Pipe()
	defer func() { _, _ = here.Close(), there.Close() }()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Exchange(ctx, here, newCall(0).Request); err == nil {
		t.Error("Exchange has results")
	}
}

// FuzzServe feeds a connection that serves with hostile bytes, and Exchange with the same.
func FuzzServe(f *testing.F) {
	f.Add(calling(7, 10))
	f.Add(slices.Concat(calling(7, 0), calling(8, 0), reply(1, nil)))
	f.Add(reply(1, []byte{0, 0, 0, 0}))
	f.Add(fragments(calling(3, 40)[RecordMarkBytes:], 7))
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 8*len(in)+8*recordBufBytes, func() {
			here, there := net.Pipe()
			c := NewConn(here, Options{Serve: func(call []byte) []byte {
				if len(call) > maxServedBytes || len(call) < 8 {
					t.Errorf("Serve got %d bytes", len(call))
				}
				return echo(call)
			}})
			go func() { _, _ = io.Copy(io.Discard, there) }()
			_, _ = there.Write(in)
			_ = there.Close()
			<-c.Done()
			_ = c.Close()
			if results, err := Exchange(t.Context(), answering(t, in), newCall(0).Request); err == nil && len(results) > len(in) {
				t.Errorf("%d bytes of results from %d", len(results), len(in))
			}
		})
	})
}
