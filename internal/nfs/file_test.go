package nfs

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzReadResults gives hostile READ results to a File: what it takes is in the buffer.
func FuzzReadResults(f *testing.F) {
	for _, r := range []v3.ReadRes{
		{Data: []byte{1, 2, 3}, Count: 3},
		{Attr: v3.OptAttr{Present: true}, Data: []byte{1}, Count: 1, EOF: true},
		{Data: make([]byte, 17), Count: 17},
		{Status: v3.ErrStale},
	} {
		f.Add(r.Append(nil))
	}
	c := &Client{data: &dataV3{}}
	f.Fuzz(func(t *testing.T, in []byte) {
		x := stream.IO{Buf: make([]byte, 16)}
		o := &op{part: stream.Part{IO: &x, To: len(x.Buf)}}
		o.call.Results = in
		var r stream.Results
		memory.Bound(t, 16*len(in), func() { r = c.decodePart(o) })
		if r.Err == nil && r.Next == stream.Finish && (r.Count < 0 || r.Count > len(x.Buf) || r.Count > len(in)) {
			t.Fatalf("%d bytes of %d read into %d", r.Count, len(in), len(x.Buf))
		}
	})
}
