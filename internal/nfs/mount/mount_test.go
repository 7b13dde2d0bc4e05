package mount

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestResultsSurviveTheWire(t *testing.T) {
	mnt := MntRes{Handle: []byte{1, 2, 3}, Flavors: []uint32{1, 390003}}
	var gotMnt MntRes
	d := xdr.NewDecoder(xdr.Append(nil, &mnt))
	xdr.Decode(&d, &gotMnt)
	if diff := cmp.Diff(mnt, gotMnt); diff != "" || d.Err() != nil || d.Len() != 0 {
		t.Errorf("MntRes: %v, %s", d.Err(), diff)
	}
	list := ExportRes{Exports: []Export{{"/a", []string{"h1", "10.0.0.0/8"}}, {"/b", nil}}}
	var gotList ExportRes
	d = xdr.NewDecoder(xdr.Append(nil, &list))
	xdr.Decode(&d, &gotList)
	if diff := cmp.Diff(list, gotList); diff != "" || d.Err() != nil || d.Len() != 0 {
		t.Errorf("ExportRes: %v, %s", d.Err(), diff)
	}
	m := Mapping{Program, Version, ProtocolTCP, 7}
	var gotMap Mapping
	d = xdr.NewDecoder(xdr.Append(nil, &m))
	xdr.Decode(&d, &gotMap)
	if m != gotMap || d.Err() != nil {
		t.Errorf("Mapping = %+v, %v", gotMap, d.Err())
	}
}

// serve answers each call with a successful header and what results appends.
func serve(t *testing.T, results func(h rpc.CallHeader, args *xdr.Decoder) []byte) *rpc.Conn {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		rec := rpc.NewRecordReader(there, 1<<16)
		for rec.Next() == nil {
			in, err := rec.AppendRest(nil)
			if err != nil {
				return
			}
			d := xdr.NewDecoder(in)
			var h rpc.CallHeader
			xdr.Decode(&d, &h)
			reply := rpc.ReplyHeader{XID: h.XID}
			out := append(reply.Append(make([]byte, 4)), results(h, &d)...)
			rpc.PutRecordMark(out, len(out)-4)
			if _, err := there.Write(out); err != nil {
				return
			}
		}
	}()
	c := rpc.NewConn(here, rpc.Options{})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestGetport(t *testing.T) {
	for name, tc := range map[string]struct {
		answer uint32
		want   int
		err    string
	}{
		"registered":     {2049, 2049, ""},
		"not registered": {0, 0, ""},
		"no port at all": {70000, 0, "70000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(h rpc.CallHeader, args *xdr.Decoder) []byte {
				var m Mapping
				xdr.Decode(args, &m)
				if h.Program != PortmapProgram || m.Program != Program || m.Protocol != ProtocolTCP {
					t.Errorf("asked %+v with %+v", h, m)
				}
				return xdr.AppendUint32(nil, tc.answer)
			})
			got, err := Getport(t.Context(), c, Program, Version)
			if got != tc.want || (err == nil) != (tc.err == "") {
				t.Errorf("Getport = %d, %v", got, err)
			}
			if tc.err != "" && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %q does not name %s", err, tc.err)
			}
		})
	}
}

func TestMntReturnsTheStatusAsError(t *testing.T) {
	for _, want := range []Status{ErrAcces, ErrNoEnt, ErrNotDir, Status(4711)} {
		c := serve(t, func(rpc.CallHeader, *xdr.Decoder) []byte { return xdr.Append(nil, &MntRes{Status: want}) })
		_, err := Mnt(t.Context(), c, rpc.Auth{}, "/x")
		if !errors.Is(err, want) || len(err.Error()) < 10 {
			t.Errorf("Mnt = %v, want %v", err, want)
		}
	}
}

func TestATruncatedAnswerIsAProtocolError(t *testing.T) {
	c := serve(t, func(rpc.CallHeader, *xdr.Decoder) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, 9} })
	if _, err := Mnt(t.Context(), c, rpc.Auth{}, "/x"); !rpc.IsProtocolError(err) {
		t.Errorf("Mnt = %v, want a protocol error", err)
	}
}

func TestExportsAndUmnt(t *testing.T) {
	c := serve(t, func(h rpc.CallHeader, args *xdr.Decoder) []byte {
		if h.Procedure == ProcExport {
			return xdr.Append(nil, &ExportRes{Exports: []Export{{Path: "/a"}}})
		}
		if p := args.String(MaxPathBytes); h.Procedure != ProcUmnt || p != "/a" {
			t.Errorf("procedure %d of %q", h.Procedure, p)
		}
		return nil
	})
	list, err := Exports(t.Context(), c)
	if err != nil || len(list) != 1 || list[0].Path != "/a" {
		t.Errorf("Exports = %v, %v", list, err)
	}
	if err := Umnt(t.Context(), c, rpc.Auth{}, "/a"); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(xdr.Append(nil, &MntRes{Handle: []byte{1}, Flavors: []uint32{1}}))
	f.Add(xdr.Append(nil, &ExportRes{Exports: []Export{{"/a", []string{"h"}}}}))
	f.Add(xdr.Append(nil, &Mapping{Program: 100003, Version: 3, Protocol: ProtocolTCP, Port: 2049}))
	f.Add(xdr.Append(nil, &PathArgs{Path: "/export"}))
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 64*len(in), func() { decodeAll(t, in) })
	})
}

func decodeAll(t *testing.T, in []byte) {
	t.Helper()
	var m MntRes
	d := xdr.NewDecoder(in)
	xdr.Decode(&d, &m)
	if len(m.Flavors) > maxFlavors {
		t.Fatalf("%d flavors", len(m.Flavors))
	}
	var l ExportRes
	d = xdr.NewDecoder(in)
	xdr.Decode(&d, &l)
	if len(l.Exports) > len(in)/4 {
		t.Fatalf("%d exports of %d bytes", len(l.Exports), len(in))
	}
	groups := 0
	for _, e := range l.Exports {
		groups += len(e.Groups)
	}
	if groups > len(in)/4 {
		t.Fatalf("%d groups of %d bytes", groups, len(in))
	}
	var p PathArgs
	d = xdr.NewDecoder(in)
	xdr.Decode(&d, &p)
	if len(p.Path) > MaxPathBytes {
		t.Fatalf("a path of %d bytes", len(p.Path))
	}
	var port Mapping
	d = xdr.NewDecoder(in)
	xdr.Decode(&d, &port)
}
