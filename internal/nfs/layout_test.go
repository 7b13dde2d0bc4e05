package nfs

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// FuzzReadLayout walks over hostile READ results as a connection does. The layout
// must come to an end, within its limit, at the place where the decoder of the
// results finds the data as well.
func FuzzReadLayout(f *testing.F) {
	for _, r := range []v3.ReadRes{
		{Data: []byte{1, 2, 3}, Count: 3},
		{Attr: v3.OptAttr{Present: true}, Data: []byte{1}, Count: 1, EOF: true},
		{Status: v3.ErrStale},
	} {
		f.Add(r.Append(nil))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		at, data := 0, 0
		for {
			more, n := readLayout(in[:at])
			if more <= 0 {
				data = n
				break
			}
			if at += more; at > len(in) {
				return // the connection says that the record is too short
			}
			if at > 1024 {
				t.Fatalf("the layout asks for %d bytes", at)
			}
		}
		var res v3.ReadRes
		d := xdr.NewDecoder(in[:at])
		want := res.DecodeHead(&d)
		if d.Err() == nil && res.Status == v3.OK && (want != data || d.Offset() != at) {
			t.Fatalf("layout finds %d bytes at %d, the decoder %d at %d", data, at, want, d.Offset())
		}
	})
}
