package mount

import (
	"errors"
	"net"
	"slices"
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

// serve answers each call with a successful header and what results appends; nil says that
// the server has other versions.
func serve(t *testing.T, results func(h rpc.CallHeader, args *xdr.Decoder) []byte) *rpc.Conn {
	t.Helper()
	here, there := net.Pipe()
	return serveConn(t, here, there, results)
}

func serveConn(t *testing.T, here, there net.Conn, results func(h rpc.CallHeader, args *xdr.Decoder) []byte) *rpc.Conn {
	t.Helper()
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
			body := results(h, &d)
			if body == nil && h.Program == PortmapProgram {
				reply.Accept, reply.Low, reply.High = rpc.AcceptProgramMismatch, 2, 2
			}
			out := append(reply.Append(make([]byte, 4)), body...)
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

// serveOver is serve over a real connection to address.
func serveOver(t *testing.T, address string, results func(h rpc.CallHeader, args *xdr.Decoder) []byte) *rpc.Conn {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Skipf("this machine has no %s: %v", address, err)
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
	return serveConn(t, here, there, results)
}

func TestGetportAsksInTheVersionThatKnowsTheAddressFamily(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, address string
		highest         uint32            // version of the server
		answers         map[uint32]string // universal addresses, by version
		asked           []uint32
		want            int
		err             string
	}{
		"IPv4": {"version 2 is all that old servers know", "127.0.0.1", 4, nil, []uint32{2}, 20048, ""},
		"IPv6": {
			"version 2 has the port of IPv4 only", "::1", 4, map[uint32]string{4: "fd00::1.78.80"}, []uint32{4}, 20048, "",
		},
		"any host": {"some servers leave their own address open", "::1", 4, map[uint32]string{4: "::.8.1"}, []uint32{4}, 2049, ""},
		"version 3": {
			"no server must know version 4", "::1", 3, map[uint32]string{3: "fd00::1.8.1"}, []uint32{4, 3}, 2049, "",
		},
		"version 2 only": {"its port may serve IPv6 too", "::1", 2, nil, []uint32{4, 3, 2}, 20048, ""},
		"not registered": {"an empty address means that", "::1", 4, nil, []uint32{4}, 0, ""},
		"no port":        {"", "::1", 4, map[uint32]string{4: "fd00::1"}, []uint32{4}, 0, "fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []uint32
			c := serveOver(t, tc.address, func(h rpc.CallHeader, args *xdr.Decoder) []byte {
				asked = append(asked, h.Version)
				if h.Version > tc.highest {
					return nil
				}
				if h.Version == PortmapVersion {
					return xdr.AppendUint32(nil, 20048)
				}
				var b Binding
				xdr.Decode(args, &b)
				if h.Procedure != RPCBindProcGetaddr || b.Program != Program || b.Version != Version || b.NetID != "tcp6" {
					t.Errorf("asked %+v with %+v", h, b)
				}
				return xdr.AppendString(nil, tc.answers[h.Version])
			})
			got, err := Getport(t.Context(), c, Program, Version)
			if got != tc.want || (err == nil) != (tc.err == "") || !slices.Equal(asked, tc.asked) {
				t.Errorf("Getport = %d, %v, asked versions %v; want %d, %v: %s", got, err, asked, tc.want, tc.asked, tc.reason)
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
	f.Add(xdr.Append(nil, &Binding{Program: 100003, Version: 3, NetID: "tcp6", Address: "::1.8.1", Owner: "x"}))
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
	var b Binding
	d = xdr.NewDecoder(in)
	xdr.Decode(&d, &b)
}
