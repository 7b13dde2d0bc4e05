package v4_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// perByte is how many bytes of memory a byte of input may take. The items of lists are
// several times as long as on the wire, and a list that grows is copied.
const perByte = 64

// FuzzDecodeReply gives hostile bytes to the results of the operation with the number which.
func FuzzDecodeReply(f *testing.F) {
	all := examples()
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		e := all[name]
		f.Add(e.reply(compound(e.minor, e.op)), uint(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, which uint) {
		name := names[which%uint(len(names))]
		m := compound(all[name].minor, all[name].op)
		var done int
		var err error
		memory.Bound(t, perByte*len(in), func() {
			d := xdr.NewDecoder(in)
			done, err = m.DecodeReply(&d)
		})
		var failed *v4.OpError
		if err != nil && !isProtocolError(err) && !errors.As(err, &failed) || done < 0 || done > 1 {
			t.Fatalf("%s: %d operations done, err = %v", name, done, err)
		}
	})
}

// FuzzDecodeCall gives hostile bytes to both channels. A call that was decoded and encoded
// again does not change any more.
func FuzzDecodeCall(f *testing.F) {
	for _, e := range examples() {
		f.Add(compound(e.minor, e.op).Append(nil))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, m := range []message{&fore{}, &back{}} {
			var err error
			memory.Bound(t, perByte*len(in), func() {
				d := xdr.NewDecoder(in)
				err = m.DecodeCall(&d)
			})
			if n := len(opsOf(m)); n > v4.MaxOperations {
				t.Fatalf("%d operations", n)
			}
			if err != nil {
				continue
			}
			once, again := m.Append(nil), empty(m)
			d := xdr.NewDecoder(once)
			if err := again.DecodeCall(&d); err != nil {
				t.Fatalf("what was encoded does not decode: %v", err)
			}
			if !bytes.Equal(once, again.Append(nil)) {
				t.Fatalf("%+v changes to %+v", opsOf(m), opsOf(again))
			}
		}
	})
}

// FuzzAttributes gives hostile bytes to the attributes.
func FuzzAttributes(f *testing.F) {
	all := exampleAttrs()
	f.Add(xdr.Append(nil, &all))
	f.Add(xdr.Append(nil, &v4.Attrs{}))
	f.Fuzz(func(t *testing.T, in []byte) {
		var a, again v4.Attrs
		d := xdr.NewDecoder(in)
		memory.Bound(t, perByte*len(in), func() { xdr.Decode(&d, &a) })
		if d.Err() != nil {
			return
		}
		d = xdr.NewDecoder(xdr.Append(nil, &a))
		if xdr.Decode(&d, &again); d.Err() != nil {
			t.Fatal(d.Err())
		}
		if diff := cmp.Diff(xdr.Append(nil, &a), xdr.Append(nil, &again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzDecodeReadHead holds the hot path against DecodeReply: both find the same.
func FuzzDecodeReadHead(f *testing.F) {
	for done := range 3 {
		f.Add(hotReply(1, &nfs4wire.Read{}, v4.ErrStale, done), true)
	}
	f.Add(hotReply(1, &nfs4wire.Read{EOF: true, Data: []byte("abc")}, v4.OK, 3), true)
	f.Add(hotReply(0, &nfs4wire.Read{Data: []byte("abc")}, v4.OK, 2), false)
	f.Fuzz(func(t *testing.T, in []byte, sequenced bool) {
		var h v4.ReadHead
		d := xdr.NewDecoder(in)
		memory.Bound(t, 0, func() { v4.DecodeReadHead(&d, sequenced, &h) })
		if h.Data < 0 || h.Data > v4.MaxDataBytes {
			t.Fatalf("%d bytes of data", h.Data)
		}
		r, q := &nfs4wire.Read{}, &v4.Sequence{}
		err := decodeWhole(in, sequenced, q, r)
		same := h.Sequence == q.Reply && h.EOF == r.EOF && h.Data == len(r.Data)
		compareHead(t, d.Err(), err, h.Op, h.Status, same)
	})
}

// FuzzDecodeWriteHead is FuzzDecodeReadHead for WRITE.
func FuzzDecodeWriteHead(f *testing.F) {
	for done := range 3 {
		f.Add(hotReply(1, &nfs4wire.Write{}, v4.ErrStale, done), true)
	}
	f.Add(hotReply(1, &nfs4wire.Write{Count: 5, Committed: v4.FileSync, Verifier: v4.Verifier{1}}, v4.OK, 3), true)
	f.Add(hotReply(0, &nfs4wire.Write{Count: 5}, v4.OK, 2), false)
	f.Fuzz(func(t *testing.T, in []byte, sequenced bool) {
		var h v4.WriteHead
		d := xdr.NewDecoder(in)
		memory.Bound(t, 0, func() { v4.DecodeWriteHead(&d, sequenced, &h) })
		w, q := &nfs4wire.Write{}, &v4.Sequence{}
		err := decodeWhole(in, sequenced, q, w)
		if d.Err() == nil && isProtocolError(err) {
			t.Fatalf("the hot path takes what DecodeReply refuses: %v", err)
		}
		same := h.Sequence == q.Reply && h.Count == w.Count && h.Committed == w.Committed && h.Verifier == w.Verifier
		compareHead(t, d.Err(), err, h.Op, h.Status, same)
	})
}

func decodeWhole(in []byte, sequenced bool, q *v4.Sequence, last v4.Operation) error {
	p := v4.Compound{Ops: []v4.Operation{q, &v4.PutFH{}, last}}
	if !sequenced {
		p.Ops = p.Ops[1:]
	}
	d := xdr.NewDecoder(in)
	_, err := p.DecodeReply(&d)
	return err
}

// compareHead compares what the hot path found with the error of DecodeReply.
func compareHead(t *testing.T, hot, whole error, op v4.Op, s v4.Status, same bool) {
	t.Helper()
	var failed *v4.OpError
	switch {
	case errors.As(whole, &failed):
		if hot != nil || *failed != (v4.OpError{op, s}) || !same {
			t.Fatalf("the hot path finds %s: %s, err = %v; DecodeReply %v", op, s, hot, whole)
		}
	case whole == nil:
		if hot != nil || s != v4.OK || !same {
			t.Fatalf("the hot path finds %s: %s, err = %v; DecodeReply takes the reply", op, s, hot)
		}
	}
}

func TestAListTakesNoMemoryForItemsThatAreNotThere(t *testing.T) {
	memory.Bound(t, 0, func() {
		d := xdr.NewDecoder(words(1<<20, 1))
		c := d.Coder()
		var all []uint64
		if xdr.Bounded(&c, &all, 1<<20, 8, func(v *uint64) { c.Uint64(v) }); !c.Failed() || all != nil {
			t.Errorf("%d items were made", len(all))
		}
	})
}
