package nfs

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzReadLayout gives hostile READ results to the layout as a connection does: the
// place of the data is within them, and where the decoder of the results ends as well.
func FuzzReadLayout(f *testing.F) {
	for _, r := range []v3.ReadRes{
		{Data: []byte{1, 2, 3}, Count: 3},
		{Attr: v3.OptAttr{Present: true}, Data: []byte{1}, Count: 1, EOF: true},
		{Status: v3.ErrStale},
	} {
		f.Add(r.Append(nil))
	}
	o := new(op)
	o.part.IO = &o.io
	f.Fuzz(func(t *testing.T, in []byte) {
		var at, data int
		var err error
		memory.Bound(t, 16*len(in), func() { at, data, err = o.layout(&dataV3{}, in) })
		if err != nil {
			return // the connection ends
		}
		if at > len(in) || data < 0 || data > v3.MaxDataBytes {
			t.Fatalf("%d bytes of data at %d of %d", data, at, len(in))
		}
		var res v3.ReadRes
		d := xdr.NewDecoder(in[:at])
		want := res.DecodeHead(&d)
		if d.Err() == nil && res.Status == v3.OK && (want != data || d.Offset() != at) {
			t.Fatalf("layout finds %d bytes at %d, the decoder %d at %d", data, at, want, d.Offset())
		}
	})
}
