package rpc

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// chunked gives the bytes in pieces of the sizes in cuts, again and again, as a
// network does.
type chunked struct {
	in   []byte
	cuts []byte
	at   int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.cuts) > 0 {
		n = int(c.cuts[c.at%len(c.cuts)]) + 1
		c.at++
	}
	n = copy(p, c.in[:min(n, len(c.in))])
	c.in = c.in[n:]
	return n, nil
}

// FuzzRecordReader reads hostile records through the reader that client and
// server share. However the bytes are cut, it gives the same records, no record
// is above the cap, and memory follows what arrives, not what a mark announces.
func FuzzRecordReader(f *testing.F) {
	f.Add(fragments(bytes.Repeat([]byte("abc"), 100), 7), []byte{0, 3, 90})
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 1, 2}, []byte{1})
	f.Add(make([]byte, 400), []byte{255})
	f.Add(append(AppendRecordMark(nil, 1<<20), 1, 2, 3), []byte{0})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		const limit = 8 << 20
		var whole, cut [][]byte
		memory.Bound(t, 8*len(in)+8*recordBufBytes, func() {
			whole = records(t, bytes.NewReader(in), limit)
			cut = records(t, &chunked{in: in, cuts: cuts}, limit)
		})
		if len(whole) != len(cut) {
			t.Fatalf("%d records at once, %d in pieces", len(whole), len(cut))
		}
		for i := range whole {
			if !bytes.Equal(whole[i], cut[i]) {
				t.Fatalf("record %d differs when it comes in pieces", i)
			}
		}
	})
}

func records(t *testing.T, src io.Reader, limit int) [][]byte {
	t.Helper()
	r := NewRecordReader(src, limit)
	var all [][]byte
	for r.Next() == nil {
		rec, err := r.AppendRest(nil)
		if len(rec) > limit {
			t.Fatalf("a record has %d bytes", len(rec))
		}
		if err != nil {
			break
		}
		all = append(all, rec)
	}
	return all
}

// FuzzReplies feeds a connection with hostile bytes while calls wait. Every call
// must end, with results or with an error.
func FuzzReplies(f *testing.F) {
	f.Add(reply(1, []byte{0, 0, 0, 4, 1, 2, 3, 4}))
	f.Add(append(reply(2, nil), reply(1, []byte{0, 0, 0, 0})...))
	f.Add(fragments(reply(1, []byte{0, 0, 0, 2, 1, 2, 0, 0})[RecordMarkBytes:], 5))
	f.Add(denied(1, uint32(RejectAuth)))
	f.Add(endlessVerifier(2))
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 8*len(in)+8*recordBufBytes, func() { feedConn(t, in) })
	})
}

func feedConn(t *testing.T, in []byte) {
	t.Helper()
	here, there := net.Pipe()
	c := NewConn(here, Options{MaxRecordBytes: 1 << 30})
	go func() { _, _ = io.Copy(io.Discard, there) }()
	var calls []*Call
	for i := range uint32(2) {
		call := newCall(i)
		call.xid, call.hasXID = i+1, true
		if err := c.start(call); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
	_, _ = there.Write(in)
	_ = there.Close()
	for _, call := range calls {
		if err := c.wait(t.Context(), call); err == nil && len(call.Results) > len(in) {
			t.Fatalf("%d bytes of results in a reply of %d", len(call.Results), len(in))
		}
	}
	<-c.Done()
	_ = c.Close()
}
