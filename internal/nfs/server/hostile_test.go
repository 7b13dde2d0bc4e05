package server_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// survives checks that a new client is served.
func survives(t *testing.T, s *running) {
	t.Helper()
	c := mounted(t, s.Addrs()[0])
	if res := c.getattr(c.root); res.Status != v3.OK {
		t.Errorf("afterwards GETATTR answers %v", res.Status)
	}
}

func TestStreamsThatAreNoRPCEndTheConnectionOnly(t *testing.T) {
	s := start(t)
	reply := append([]byte{0x80, 0, 0, 24}, make([]byte, 24)...)
	reply[11] = 1 // message type: reply
	cases := map[string][]byte{
		"HTTP":                 []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a record of 2 GiB":    {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"an empty record":      {0x80, 0, 0, 0},
		"a torn header":        {0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0},
		"a reply":              reply,
		"empty fragments only": make([]byte, 16<<20),
	}
	for name, stream := range cases {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s.Addrs()[0])
			go func() { _, _ = c.conn.Write(stream) }() // the server may close before all is sent
			if _, err := io.Copy(io.Discard, c.conn); err != nil && !isReset(err) {
				t.Errorf("the connection must be closed: %v", err)
			}
			survives(t, s)
		})
	}
}

func isReset(err error) bool {
	e, ok := err.(*net.OpError) //nolint:errorlint // as net returns it
	return ok && !e.Timeout()
}

func TestFragmentsMakeOneRecord(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	data := random(300_001)
	h := c.header(v3.Program, v3.Version, v3.ProcWrite)
	a := v3.WriteArgs{Handle: file, Count: uint32(len(data)), Data: data}
	body := xdr.Append(xdr.Append(nil, &h), &a)
	var out []byte
	for _, n := range []int{1, 3, 100, 0, 50_000, 100_000} {
		out = binary.BigEndian.AppendUint32(out, uint32(n))
		out = append(out, body[:n]...)
		body = body[n:]
	}
	out = append(rpc.AppendRecordMark(out, len(body)), body...)
	if _, err := c.conn.Write(out); err != nil {
		t.Fatal(err)
	}
	reply, d := c.reply()
	var res v3.WriteRes
	xdr.Decode(&d, &res)
	if reply.Err() != nil || res.Status != v3.OK || int(res.Count) != len(data) {
		t.Errorf("%v, %+v", reply.Err(), res)
	}
	if got := c.read(file, 0, 1<<20); string(got.Data) != string(data) {
		t.Error("the data differ")
	}
}

// stall is longer than a busy machine keeps a client from going on.
const stall = 2 * time.Second

func TestAClientThatStopsInARecordIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.StallTimeout, o.MaxBuffers = stall, 1 })
	c := dial(t, s.Addrs()[0])
	// It holds the only large buffer until it is cut off.
	if _, err := c.conn.Write([]byte{0x80, 0x08, 0, 0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if err := c.in.Next(); err == nil {
		t.Error("the connection must be closed")
	}
	c = mounted(t, s.Addrs()[0])
	if res := c.write(c.create(c.root, "file"), 0, make([]byte, 100_000), v3.Unstable); res.Status != v3.OK {
		t.Errorf("write: %v", res.Status)
	}
}

func TestAClientThatTakesNoRepliesIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.StallTimeout, o.MaxBuffers = stall, 1 })
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	c.write(file, 0, make([]byte, 1<<20), v3.Unstable)
	var out []byte
	for range 200 { // far more than sockets hold
		h := c.header(v3.Program, v3.Version, v3.ProcRead)
		a := v3.ReadArgs{Handle: file, Count: 1 << 20}
		body := xdr.Append(xdr.Append(nil, &h), &a)
		out = append(rpc.AppendRecordMark(out, len(body)), body...)
	}
	if _, err := c.conn.Write(out); err != nil {
		t.Fatal(err)
	}
	// The only reply buffer is held by the stalled client; others get it when that is cut off.
	other := mounted(t, s.Addrs()[1])
	if res := other.read(file, 0, 1<<20); res.Count != 1<<20 {
		t.Errorf("read: %+v", res.Status)
	}
}
