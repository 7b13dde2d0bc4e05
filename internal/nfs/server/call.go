package server

import (
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// worker executes one request after the other and keeps the memory for its replies.
type worker struct {
	conn *conn
	args xdr.Decoder
	// out is the reply: record mark, header, results.
	out []byte
	// small is out's own memory while a budgeted buffer takes its place.
	small []byte
}

// acceptedBytes is the size of record mark and header of a reply to an executed call.
const acceptedBytes = rpc.RecordMarkBytes + 24

// execute answers one record. The error says that the connection is of no use any more.
func (w *worker) execute(record []byte) error {
	if w.out == nil {
		w.out = make([]byte, 0, smallBytes)
	}
	w.args = xdr.NewDecoder(record)
	var h rpc.CallHeader
	h.Decode(&w.args)
	if err := w.args.Err(); err != nil {
		w.conn.on.counts.RPCError()
		return err
	}
	w.reply(rpc.ReplyHeader{XID: h.XID})
	if refusal := w.dispatch(&h); refusal != nil {
		w.drop()
		w.conn.on.counts.RPCError()
		refusal.XID = h.XID
		w.reply(*refusal)
	}
	rpc.PutRecordMark(w.out, len(w.out)-rpc.RecordMarkBytes)
	err := w.conn.send(w.out)
	w.drop()
	return err
}

// reply begins the reply with a record mark, to be filled in, and the header.
func (w *worker) reply(h rpc.ReplyHeader) {
	w.out = rpc.AppendRecordMark(w.out[:0], 0)
	w.out = h.Append(w.out)
}

// drop gives back the budgeted buffer, if the reply needed one.
func (w *worker) drop() {
	if w.small != nil {
		w.conn.srv.replies.give(w.out)
		w.out, w.small = w.small, nil
	}
}

// enlarge exchanges out for a buffer that holds a whole READ; drop gives it back.
func (w *worker) enlarge() {
	big := w.conn.srv.replies.wait()
	w.small, w.out = w.out, append(big, w.out...)
}

// dispatch executes the call, or says why not.
func (w *worker) dispatch(h *rpc.CallHeader) *rpc.ReplyHeader {
	if h.RPCVersion != 2 {
		return &rpc.ReplyHeader{Denied: true, Reject: rpc.RejectVersion, Low: 2, High: 2}
	}
	if !credentialOK(h.Credential) {
		return &rpc.ReplyHeader{Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthBadCred}
	}
	run, version, known := w.program(h.Program)
	switch {
	case !known:
		return &rpc.ReplyHeader{Accept: rpc.AcceptProgramUnavail}
	case h.Version != version:
		return &rpc.ReplyHeader{Accept: rpc.AcceptProgramMismatch, Low: version, High: version}
	}
	status := run(h.Procedure)
	if status == rpc.AcceptSuccess {
		return nil
	}
	return &rpc.ReplyHeader{Accept: status}
}

// program chooses what executes the procedures of a program, and the version it speaks.
func (w *worker) program(number uint32) (run func(uint32) rpc.AcceptStatus, version uint32, known bool) {
	switch {
	case number == mount.PortmapProgram:
		return w.portmap, mount.PortmapVersion, true
	case w.conn.on.portmapOnly:
		return nil, 0, false
	case number == v3.Program:
		return w.nfs, v3.Version, true
	case number == mount.Program:
		return w.mount, mount.Version, true
	}
	return nil, 0, false
}

// credentialOK accepts AUTH_NONE and a well-formed AUTH_SYS. Who it names does not matter,
// see the package comment, so nothing is kept.
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

// garbage says whether the arguments could not be decoded.
func (w *worker) garbage() bool { return w.args.Err() != nil }
