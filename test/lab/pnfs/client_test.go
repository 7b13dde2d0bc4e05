package pnfs

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// session is an NFSv4.1 session with one slot, written out: it must not repeat errors of
// the client that is tested with this array.
type session struct {
	conn  *rpc.Conn
	id    v4.SessionID
	owner v4.ExchangeID // what the server says it is
	seq   uint32
	opens uint32 // open owners so far
}

func dial(tb testing.TB, address string) *rpc.Conn {
	tb.Helper()
	nc, err := net.DialTimeout("tcp", net.JoinHostPort(address, "2049"), 2*time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	conn := rpc.NewConn(nc, rpc.Options{})
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

func call(tb testing.TB, conn *rpc.Conn, version, procedure uint32, arguments []byte) *rpc.Call {
	tb.Helper()
	cred := rpc.AuthSys{Machine: "pnfstest"}.Auth()
	c := new(rpc.Call)
	c.Reset()
	c.Request = append(rpc.AppendCall(nil, v4.Program, version, procedure, cred), arguments...)
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	if err := conn.Do(ctx, c); err != nil {
		tb.Fatalf("procedure %d of NFSv%d: %v", procedure, version, err)
	}
	return c
}

// compound sends operations; their results are in them.
func compound(tb testing.TB, conn *rpc.Conn, minor uint32, ops ...v4.Operation) error {
	tb.Helper()
	p := v4.Compound{Minor: minor, Ops: ops}
	c := call(tb, conn, v4.Version, v4.ProcCompound, p.Append(nil))
	d := xdr.NewDecoder(c.Results)
	_, err := p.DecodeReply(&d)
	return err
}

// exchange introduces a client with its role: one of the bits of EXCHANGE_ID, or 0.
func exchange(tb testing.TB, conn *rpc.Conn, role uint32) v4.ExchangeID {
	tb.Helper()
	x := v4.ExchangeID{Owner: []byte(fmt.Sprintf("%s %d", tb.Name(), role)), Flags: role}
	if err := compound(tb, conn, 1, &x); err != nil {
		tb.Fatal(err)
	}
	return x
}

// connect opens a session and says that there is nothing to reclaim.
func connect(tb testing.TB, address string, role uint32) *session {
	tb.Helper()
	s := open(tb, dial(tb, address), role)
	if role != v4.ExchangeUsePNFSDS {
		s.do(tb, &v4.ReclaimComplete{})
	}
	return s
}

func open(tb testing.TB, conn *rpc.Conn, role uint32) *session {
	tb.Helper()
	s := &session{conn: conn}
	s.owner = exchange(tb, s.conn, role)
	channel := v4.ChannelAttrs{MaxRequest: 1<<20 + 4096, MaxResponse: 1<<20 + 4096, MaxResponseCached: 4096, MaxOperations: 16, MaxRequests: 1}
	create := v4.CreateSession{
		ClientID: s.owner.ClientID, Seq: s.owner.Seq, Fore: channel, Back: channel,
		CallbackProgram: v4.CallbackProgram, Security: []v4.CallbackSecurity{{}},
	}
	if err := compound(tb, s.conn, 1, &create); err != nil {
		tb.Fatal(err)
	}
	s.id = create.Session
	return s
}

// do sends operations on the session's slot.
func (s *session) do(tb testing.TB, ops ...v4.Operation) {
	tb.Helper()
	s.seq++
	ops = append([]v4.Operation{&v4.Sequence{Session: s.id, Seq: s.seq}}, ops...)
	if err := compound(tb, s.conn, 1, ops...); err != nil {
		tb.Fatal(err)
	}
}

// root goes to the directory that the array exports.
func root(more ...v4.Operation) []v4.Operation {
	return append([]v4.Operation{&v4.PutRootFH{}, &v4.Lookup{Name: "pv"}}, more...)
}

// file is an open file.
type file struct {
	name   string
	handle []byte
	state  v4.StateID
}

func (s *session) create(tb testing.TB, name string) file {
	tb.Helper()
	s.opens++
	open := v4.Open{
		Access: v4.ShareBoth | v4.WantNoDeleg, ClientID: s.owner.ClientID, Owner: []byte(fmt.Sprint(s.opens)),
		How: v4.CreateUnchecked, Attrs: v4.Attrs{Mask: v4.Bits(v4.AttrMode), Mode: 0o644}, Claim: v4.ClaimNull, Name: name,
	}
	var fh v4.GetFH
	s.do(tb, root(&open, &fh)...)
	return file{name, fh.Handle, open.StateID}
}

// layout is what LAYOUTGET and GETDEVICEINFO tell of a file: its data server.
type layout struct {
	state   v4.StateID
	handle  []byte // of the file at the data server
	dense   bool
	unit    uint32 // bytes of a stripe
	address v4.Address
}

// layout asks for the layout of a whole file and fails unless it has one data server.
func (s *session) layout(tb testing.TB, f file) layout {
	tb.Helper()
	get := v4.LayoutGet{
		Type: v4.LayoutFiles, IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, MinLength: 4096, StateID: f.state, MaxCount: 4096,
	}
	s.do(tb, &v4.PutFH{Handle: f.handle}, &get)
	if len(get.Segments) != 1 || get.Segments[0].Offset != 0 || get.Segments[0].Length != v4.ToEnd {
		tb.Fatalf("segments %+v, want one for the whole file", get.Segments)
	}
	// nfsv4_1_file_layout4, RFC 8881 section 13.3.
	d := xdr.NewDecoder(get.Segments[0].Body)
	device := v4.GetDeviceInfo{Type: v4.LayoutFiles, MaxCount: 4096}
	copy(device.Device[:], d.Fixed(len(device.Device)))
	util, _, _ := d.Uint32(), d.Uint32(), d.Uint64()
	handles := d.Uint32()
	l := layout{state: get.Granted, handle: d.Opaque(v4.MaxHandleBytes), dense: util&1 != 0, unit: util &^ 63}
	if err := d.Err(); err != nil || handles != 1 || d.Len() != 0 {
		tb.Fatalf("layout %x: %d handles, %v", get.Segments[0].Body, handles, err)
	}
	s.do(tb, &device)
	// nfsv4_1_file_layout_ds_addr4: one stripe index, one data server, one address.
	d = xdr.NewDecoder(device.Address)
	indices, _, servers, paths := d.Uint32(), d.Uint32(), d.Uint32(), d.Uint32()
	l.address = v4.Address{NetID: d.String(v4.MaxAddressBytes), Universal: d.String(v4.MaxAddressBytes)}
	if err := d.Err(); err != nil || indices != 1 || servers != 1 || paths != 1 || d.Len() != 0 {
		tb.Fatalf("device %x: %d indices, %d servers, %d paths, %v", device.Address, indices, servers, paths, err)
	}
	return l
}

// layoutTypes asks for the layout types of the array's file system.
func (s *session) layoutTypes(tb testing.TB) []uint32 {
	tb.Helper()
	get := v4.GetAttr{Request: v4.Bits(v4.AttrFSLayoutTypes)}
	s.do(tb, root(&get)...)
	return get.Attrs.FSLayoutTypes
}
