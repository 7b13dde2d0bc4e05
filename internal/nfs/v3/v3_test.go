package v3

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// codec is one structure with its two directions.
type codec struct {
	value  any
	encode func([]byte) []byte
	fresh  func() (any, func(*xdr.Decoder))
}

func both[T any, P interface {
	*T
	xdr.Coded
}](v T, prepare ...func(P)) codec {
	return codec{
		value: v, encode: func(b []byte) []byte { return xdr.Append(b, P(&v)) },
		fresh: func() (any, func(*xdr.Decoder)) {
			p := P(new(T))
			for _, f := range prepare {
				f(p)
			}
			return p, func(d *xdr.Decoder) { xdr.Decode(d, p) }
		},
	}
}

func plusArgs(v ReaddirArgs) codec { return both(v, func(a *ReaddirArgs) { a.Plus = true }) }

func plusRes(v ReaddirRes) codec { return both(v, func(r *ReaddirRes) { r.Plus = true }) }

// codecs returns one example of each structure with every optional part present,
// and one of each result that failed.
func codecs() map[string]codec {
	fh := []byte("handle-of-odd-len")
	attr := Attr{
		Type: TypeRegular, Mode: 0o640, Nlink: 2, UID: 3, GID: 4, Size: 5 << 32, Used: 6 << 32, RdevMajor: 7, RdevMinor: 8,
		FSID: 9, FileID: 10, Atime: Time{11, 12}, Mtime: Time{13, 14}, Ctime: Time{15, 16},
	}
	opt := OptAttr{Present: true, Attr: attr}
	wcc := Wcc{BeforePresent: true, BeforeSize: 1, BeforeMtime: Time{2, 3}, BeforeCtime: Time{4, 5}, After: opt}
	set := NewAttr{
		Mode: Opt32{true, 1}, UID: Opt32{true, 2}, GID: Opt32{true, 3}, Size: Opt64{true, 4},
		Atime: NewTime{How: TimeServer}, Mtime: NewTime{TimeClient, Time{5, 6}},
	}
	where := NameArgs{Dir: fh, Name: "name"}
	entry := DirEntry{FileID: 1, Name: "n", Cookie: 2}
	entryPlus := DirEntry{FileID: 1, Name: "n", Cookie: 2, Attr: opt, HandlePresent: true, Handle: fh}
	v := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	return map[string]codec{
		"HandleArgs":       both(HandleArgs{fh}),
		"NameArgs":         both(where),
		"GetattrRes":       both(GetattrRes{OK, attr}),
		"GetattrRes fails": both(GetattrRes{Status: ErrStale}),
		"SetattrArgs":      both(SetattrArgs{fh, set, true, Time{1, 2}}),
		"WccRes":           both(WccRes{ErrNoSpc, wcc}),
		"LookupRes":        both(LookupRes{OK, fh, opt, opt}),
		"LookupRes fails":  both(LookupRes{Status: ErrNoEnt, DirAttr: opt}),
		"AccessArgs":       both(AccessArgs{fh, 0x3F}),
		"AccessRes":        both(AccessRes{OK, opt, 7}),
		"CreateArgs":       both(CreateArgs{Where: where, How: CreateGuarded, Attr: set}),
		"CreateArgs excl":  both(CreateArgs{Where: where, How: CreateExclusive, Verifier: v}),
		"MkdirArgs":        both(MkdirArgs{where, set}),
		"CreateRes":        both(CreateRes{OK, true, fh, opt, wcc}),
		"CreateRes fails":  both(CreateRes{Status: ErrExist, Dir: wcc}),
		"RenameArgs":       both(RenameArgs{where, where}),
		"RenameRes":        both(RenameRes{18, wcc, wcc}),
		"ReadArgs":         both(ReadArgs{fh, 1 << 40, 8192}),
		"ReadRes":          both(ReadRes{OK, opt, 3, true, []byte{1, 2, 3}}),
		"ReadRes fails":    both(ReadRes{Status: ErrIO, Attr: opt}),
		"WriteArgs":        both(WriteArgs{fh, 1 << 40, 5, FileSync, []byte("hello")}),
		"WriteRes":         both(WriteRes{OK, wcc, 5, DataSync, v}),
		"WriteRes fails":   both(WriteRes{Status: ErrDQuot, Wcc: wcc}),
		"CommitArgs":       both(CommitArgs{fh, 1, 2}),
		"CommitRes":        both(CommitRes{OK, wcc, v}),
		"ReaddirArgs":      both(ReaddirArgs{Handle: fh, Cookie: 1, CookieVerifier: v, MaxCount: 2}),
		"ReaddirArgs plus": plusArgs(ReaddirArgs{true, fh, 1, v, 2, 3}),
		"ReaddirRes":       both(ReaddirRes{false, OK, opt, v, []DirEntry{entry, entry}, true}),
		"ReaddirRes plus":  plusRes(ReaddirRes{true, OK, opt, v, []DirEntry{entryPlus, entryPlus}, true}),
		"FsstatRes":        both(FsstatRes{OK, opt, 1, 2, 3, 4, 5, 6, 7}),
		"FsinfoRes":        both(FsinfoRes{OK, opt, 1, 2, 3, 4, 5, 6, 7, 8, Time{9, 10}, 11}),
		"PathconfRes":      both(PathconfRes{OK, opt, 1, 2, true, false, true, false}),
	}
}

func TestEveryStructureSurvivesTheWire(t *testing.T) {
	for name, c := range codecs() {
		t.Run(name, func(t *testing.T) {
			b := c.encode(nil)
			d := xdr.NewDecoder(b)
			got, decode := c.fresh()
			decode(&d)
			if d.Err() != nil || d.Len() != 0 {
				t.Fatalf("err = %v, %d bytes left", d.Err(), d.Len())
			}
			// Printing follows the pointer and shows unequal values as unequal.
			if diff := cmp.Diff(fmt.Sprintf("&%+v", c.value), fmt.Sprintf("%+v", got)); diff != "" {
				t.Errorf("the value changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	for name, c := range codecs() {
		t.Run(name, func(t *testing.T) {
			b := c.encode(nil)
			for n := range len(b) {
				d := xdr.NewDecoder(b[:n])
				_, decode := c.fresh()
				decode(&d)
				if d.Err() == nil {
					t.Fatalf("the first %d of %d bytes decode without error", n, len(b))
				}
			}
		})
	}
}

func TestTheHotPathReadsTheSameAsTheFullDecoder(t *testing.T) {
	opt := OptAttr{Present: true}
	for name, r := range map[string]ReadRes{
		"with attributes": {OK, opt, 3, true, []byte{1, 2, 3}},
		"without":         {OK, OptAttr{}, 3, false, []byte{1, 2, 3}},
		"failed":          {Status: ErrIO, Attr: opt},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(r.Append(nil))
			var got ReadRes
			n := got.DecodeHead(&d)
			if got.Status != r.Status || got.Count != r.Count || got.EOF != r.EOF || n != len(r.Data) || d.Err() != nil {
				t.Errorf("DecodeHead = %+v, %d, %v; want %+v", got, n, d.Err(), r)
			}
		})
	}
	w := WriteRes{OK, Wcc{BeforePresent: true, After: opt}, 5, DataSync, [8]byte{1}}
	d := xdr.NewDecoder(w.Append(nil))
	var got WriteRes
	got.DecodeBrief(&d)
	if got.Count != w.Count || got.Committed != w.Committed || got.Verifier != w.Verifier || d.Err() != nil {
		t.Errorf("DecodeBrief = %+v, %v; want %+v", got, d.Err(), w)
	}
}

func TestReadAttributesBytesMatchTheWire(t *testing.T) {
	if n := len(xdr.Append(nil, &Attr{})); n != attrBytes {
		t.Errorf("an Attr takes %d bytes, attrBytes is %d", n, attrBytes)
	}
	plain, with := len(xdr.Append(nil, &Wcc{})), len(xdr.Append(nil, &Wcc{BeforePresent: true}))
	if with-plain != wccAttrBytes {
		t.Errorf("a wcc_attr takes %d bytes, wccAttrBytes is %d", with-plain, wccAttrBytes)
	}
}

// FuzzDecode feeds every decoder with hostile bytes. What decodes must encode to
// something that decodes to the same again.
func FuzzDecode(f *testing.F) {
	all := codecs()
	for _, c := range all {
		f.Add(c.encode(nil))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 64*len(in)*len(all), func() { decodeAll(t, all, in) })
	})
}

func decodeAll(t *testing.T, all map[string]codec, in []byte) {
	t.Helper()
	for name, c := range all {
		d := xdr.NewDecoder(in)
		v, decode := c.fresh()
		decode(&d)
		if d.Err() == nil && d.Offset() > len(in) {
			t.Fatalf("%s read %d of %d bytes", name, d.Offset(), len(in))
		}
		if r, ok := v.(*ReaddirRes); ok && len(r.Entries) > len(in)/24 {
			t.Fatalf("%s made %d entries of %d bytes", name, len(r.Entries), len(in))
		}
	}
	var r ReadRes
	d := xdr.NewDecoder(in)
	xdr.Decode(&d, &r)
	if d.Err() == nil && r.Status == OK {
		e := xdr.NewDecoder(r.Append(nil))
		var again ReadRes
		xdr.Decode(&e, &again)
		if e.Err() != nil || !bytes.Equal(again.Data, r.Data) {
			t.Fatalf("READ results change when encoded again: %v", e.Err())
		}
	}
}
