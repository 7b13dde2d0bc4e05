package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// worker executes requests one by one and keeps the memory for its replies.
type worker struct {
	conn *conn
	args xdr.Coder // decodes the call
	// out is the reply: record mark, header, results.
	out []byte
	// small is out's own memory while out is a budgeted buffer.
	small []byte
}

// acceptedBytes is the size of record mark and header of a reply to an executed call.
const acceptedBytes = rpc.RecordMarkBytes + 24

// execute answers one record. After an error the connection is unusable.
func (w *worker) execute(record []byte) error {
	if w.out == nil {
		w.out = make([]byte, 0, smallBytes)
	}
	d := xdr.NewDecoder(record)
	w.args = d.Coder()
	var h rpc.CallHeader
	h.Code(&w.args)
	if d = w.args.Decoder(); d.Err() != nil {
		w.conn.on.counts.RPCErrors.Add(1)
		return d.Err()
	}
	var reply []byte
	var err error
	if w.conn.srv.opt.Intercept == nil {
		reply = w.answer(&h)
	} else {
		reply, err = w.intercepted(h, record[d.Offset():])
	}
	if len(reply) > 0 {
		err = errors.Join(err, w.conn.send(reply))
	}
	w.drop()
	return err
}

// answer executes a call and returns its reply, which is valid until drop.
func (w *worker) answer(h *rpc.CallHeader) []byte {
	w.reply(rpc.ReplyHeader{XID: h.XID})
	if refusal := w.dispatch(h); refusal != nil {
		w.drop()
		w.conn.on.counts.RPCErrors.Add(1)
		refusal.XID = h.XID
		w.reply(*refusal)
	}
	rpc.PutRecordMark(w.out, len(w.out)-rpc.RecordMarkBytes)
	return w.out
}

// Call is the view of a call for Options.Intercept.
type Call struct {
	XID, Program, Procedure uint32
	// Arguments may be changed in place before the call is executed.
	Arguments []byte
	// Conn is the connection of the call, as the listener accepted it.
	Conn net.Conn
}

func (w *worker) intercepted(h rpc.CallHeader, arguments []byte) ([]byte, error) {
	c := Call{XID: h.XID, Program: h.Program, Procedure: h.Procedure, Arguments: arguments, Conn: w.conn.tcp}
	return w.conn.srv.opt.Intercept(c, func() []byte { return w.answer(&h) })
}

// reply begins the reply with room for a record mark, and the header.
func (w *worker) reply(h rpc.ReplyHeader) {
	w.out = rpc.AppendRecordMark(w.out[:0], 0)
	w.out = h.Append(w.out)
}

// drop returns the budgeted buffer, if the reply needed one.
func (w *worker) drop() {
	if w.small != nil {
		w.conn.srv.replies.give(w.out)
		w.out, w.small = w.small, nil
	}
}

// enlarge replaces out with a buffer that holds a whole READ; drop returns the buffer. It may wait for buffers of
// other workers, which is safe because sockets have a deadline.
func (w *worker) enlarge() {
	big, _ := w.conn.srv.replies.take(context.Background()) // a context that does not end
	w.small, w.out = w.out, append(big, w.out...)
}

// dispatch executes the call, or returns the reason for refusing it.
func (w *worker) dispatch(h *rpc.CallHeader) *rpc.ReplyHeader {
	if h.RPCVersion != 2 {
		return &rpc.ReplyHeader{Denied: true, Reject: rpc.RejectVersion, Low: 2, High: 2}
	}
	if !credentialOK(h.Credential) {
		return &rpc.ReplyHeader{Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthBadCred}
	}
	var run func(procedure uint32) rpc.AcceptStatus
	low, high := uint32(0), uint32(0)
	switch all := !w.conn.on.portmapOnly; {
	case h.Program == mount.PortmapProgram:
		run = func(procedure uint32) rpc.AcceptStatus { return w.portmap(h.Version, procedure) }
		low, high = mount.PortmapVersion, mount.RPCBindVersion
	case h.Program == v3.Program && all:
		run, low, high = w.nfs, v3.Version, v3.Version
	case h.Program == mount.Program && all:
		run, low, high = w.mount, mount.Version, mount.Version
	default:
		return &rpc.ReplyHeader{Accept: rpc.AcceptProgramUnavail}
	}
	if h.Version < low || h.Version > high {
		return &rpc.ReplyHeader{Accept: rpc.AcceptProgramMismatch, Low: low, High: high}
	}
	if status := run(h.Procedure); status != rpc.AcceptSuccess {
		return &rpc.ReplyHeader{Accept: status}
	}
	return nil
}

// credentialOK accepts AUTH_NONE and a well-formed AUTH_SYS. The user does not matter, see the package comment.
func credentialOK(a rpc.Auth) bool {
	if a.Flavor != rpc.FlavorSys {
		return a.Flavor == rpc.FlavorNone
	}
	const maxMachine, maxGroups = 255, 16
	d := xdr.NewDecoder(a.Body)
	d.Uint32()           // stamp
	d.Opaque(maxMachine) // host name
	d.Skip(8)            // uid, gid
	groups := d.Uint32()
	d.Skip(int(min(groups, maxGroups)) * 4)
	return groups <= maxGroups && d.Err() == nil
}

// garbage reports whether the arguments could not be decoded.
func (w *worker) garbage() bool { return w.args.Failed() }

// procUmntAll forgets all mounts of the client.
const procUmntAll = 4

// mount executes MOUNT. The server keeps no list of mounts: DUMP returns an empty list and UMNT does nothing. A list
// would be wrong after a client crashes.
func (w *worker) mount(procedure uint32) rpc.AcceptStatus {
	switch procedure {
	case mount.ProcNull, procUmntAll:
	case mount.ProcMnt, mount.ProcUmnt:
		var a mount.PathArgs
		if a.Code(&w.args); w.garbage() {
			return rpc.AcceptGarbageArgs
		}
		if procedure == mount.ProcMnt {
			res := w.mnt(a.Path)
			w.out = xdr.Append(w.out, &res)
		}
	case mount.ProcDump:
		w.out = xdr.AppendBool(w.out, false)
	case mount.ProcExport:
		w.out = xdr.Append(w.out, &mount.ExportRes{Exports: []mount.Export{{Path: w.conn.srv.opt.Export}}})
	default:
		return rpc.AcceptProcUnavail
	}
	return rpc.AcceptSuccess
}

// mnt finds the export or a directory below it.
func (w *worker) mnt(wanted string) mount.MntRes {
	srv := w.conn.srv
	wanted = path.Clean("/" + wanted)
	below, ok := strings.CutPrefix(wanted, strings.TrimSuffix(srv.opt.Export, "/"))
	if !ok || below != "" && below[0] != '/' {
		return mount.MntRes{Status: mount.ErrNoEnt}
	}
	n, err := srv.tree.Root(), error(nil)
	for name := range strings.SplitSeq(below, "/") {
		if name != "" && err == nil {
			n, _, err = srv.tree.Lookup(n, name)
		}
	}
	if err == nil && !n.IsDir() {
		err = unix.ENOTDIR
	}
	switch {
	case err == nil:
		h := n.Handle()
		return mount.MntRes{Handle: h[:], Flavors: []uint32{uint32(rpc.FlavorSys), uint32(rpc.FlavorNone)}}
	case errors.Is(err, unix.ESTALE):
		return mount.MntRes{Status: mount.ErrNoEnt}
	}
	// MOUNT and NFS use the same number for a common status.
	switch status := mount.Status(statusOf(err)); status { //nolint:exhaustive // MNT has no other answers here
	case mount.ErrNoEnt, mount.ErrAcces, mount.ErrNotDir, mount.ErrNameTooLong:
		return mount.MntRes{Status: status}
	}
	return mount.MntRes{Status: mount.ErrIO}
}

// procPortmapDump lists all mappings.
const procPortmapDump = 4

// mappings returns our three programs. All versions use the same port.
func (w *worker) mappings() []mount.Mapping {
	srv, here := w.conn.srv, uint32(w.conn.on.port)
	port := here
	switch {
	case srv.opt.AdvertisePort != 0:
		port = uint32(srv.opt.AdvertisePort)
	case w.conn.on.portmapOnly:
		port = uint32(srv.listeners[0].port)
	}
	return []mount.Mapping{
		{Program: mount.PortmapProgram, Version: mount.PortmapVersion, Protocol: mount.ProtocolTCP, Port: here},
		{Program: mount.Program, Version: mount.Version, Protocol: mount.ProtocolTCP, Port: port},
		{Program: v3.Program, Version: v3.Version, Protocol: mount.ProtocolTCP, Port: port},
	}
}

// portmap executes the procedures of the portmapper, which have the same numbers in all versions. Versions 3 and 4,
// which clients need over IPv6, return addresses of the connection's IP version only.
func (w *worker) portmap(version, procedure uint32) rpc.AcceptStatus {
	switch procedure {
	case mount.PortmapProcNull:
	case mount.PortmapProcGetport: // GETADDR in versions 3 and 4
		if version == mount.PortmapVersion {
			return w.getport()
		}
		return w.getaddr()
	case procPortmapDump:
		for _, m := range w.mappings() {
			w.out = xdr.AppendBool(w.out, true)
			if version == mount.PortmapVersion {
				w.out = xdr.Append(w.out, &m)
			} else {
				w.out = xdr.Append(w.out, w.binding(m))
			}
		}
		w.out = xdr.AppendBool(w.out, false)
	default:
		return rpc.AcceptProcUnavail
	}
	return rpc.AcceptSuccess
}

func (w *worker) getport() rpc.AcceptStatus {
	var wanted mount.Mapping
	if wanted.Code(&w.args); w.garbage() {
		return rpc.AcceptGarbageArgs
	}
	found := uint32(0) // no such program
	if m, ok := w.registered(wanted.Program, wanted.Version); ok && m.Protocol == wanted.Protocol {
		found = m.Port
	}
	w.out = xdr.AppendUint32(w.out, found)
	return rpc.AcceptSuccess
}

func (w *worker) getaddr() rpc.AcceptStatus {
	var wanted mount.Binding
	if wanted.Code(&w.args); w.garbage() {
		return rpc.AcceptGarbageArgs
	}
	found := "" // no such program
	if m, ok := w.registered(wanted.Program, wanted.Version); ok {
		if b := w.binding(m); b.NetID == wanted.NetID {
			found = b.Address
		}
	}
	w.out = xdr.AppendString(w.out, found)
	return rpc.AcceptSuccess
}

// registered returns the mapping of one of our programs.
func (w *worker) registered(program, version uint32) (m mount.Mapping, ok bool) {
	all := w.mappings()
	i := slices.IndexFunc(all, func(m mount.Mapping) bool { return m.Program == program && m.Version == version })
	if i < 0 {
		return m, false
	}
	return all[i], true
}

// binding converts a mapping to the form of versions 3 and 4.
func (w *worker) binding(m mount.Mapping) *mount.Binding {
	here := w.conn.tcp.LocalAddr().(*net.TCPAddr).AddrPort().Addr()
	a := layout.NetAddrOf(netip.AddrPortFrom(here, uint16(m.Port))) //nolint:gosec // a port
	return &mount.Binding{
		Program: m.Program, Version: m.Version, NetID: a.NetID, Address: a.Address, Owner: "nfsbench",
	}
}
