package main

import (
	"encoding/binary"
	"strconv"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Numbers of RFC 5531 (RPC), 1813 (NFSv3, MOUNT), 7530 and 8881 (NFSv4).
const (
	lastFragment = 1 << 31
	msgCall      = 0
	msgReply     = 1

	progNFS   = 100003
	progMount = 100005

	mountMNT  = 1
	mountUMNT = 3

	nfs3Read  = 6
	nfs3Write = 7

	opLookup    = 15
	opPutFH     = 22
	opPutPubFH  = 23
	opPutRootFH = 24
	opRead      = 25
	opWrite     = 38
	opSequence  = 53
)

// headBytes is how much of a record is looked at: its mark, the header of a call
// with the longest credentials and verifiers (400 bytes each), and the arguments
// in front of the data.
const headBytes = 1024

type kind uint8

const (
	kindNone kind = iota // MOUNT and NULL: no work on a volume
	kindOther
	kindRead
	kindWrite
)

type header struct {
	xid      uint32
	reply    bool // it is no call but a reply: the back channel of NFSv4.1
	v4       bool // it is for the server of NFSv4, whatever else can be read
	kind     kind
	protocol string // empty = not NFS
	version  uint32
	export   uint16 // of the file handle
	hasFH    bool
	path     string // of a MOUNT, or of the LOOKUPs from the root of NFSv4
	bytes    uint32 // that a WRITE brings
}

// readCall understands the head of a call, without its mark. What it can not
// read it leaves out, for a decoder gives zeros after its first error; only the xid is certain.
func readCall(b []byte) header {
	d := xdr.NewDecoder(b)
	h := header{xid: d.Uint32()}
	if kind := d.Uint32(); kind != msgCall {
		h.reply = kind == msgReply
		return h
	}
	d.Uint32() // version of RPC
	prog, version, proc := d.Uint32(), d.Uint32(), d.Uint32()
	h.v4 = prog == progNFS && version == 4
	d.Uint32()
	d.Opaque(headBytes) // credential
	d.Uint32()
	d.Opaque(headBytes) // verifier
	if d.Err() != nil {
		return h
	}
	h.version = version
	switch {
	case prog == progMount && (proc == mountMNT || proc == mountUMNT):
		h.path = string(d.Opaque(headBytes))
	case prog == progNFS && version == 3 && proc != 0:
		h.readV3(&d, proc)
	case prog == progNFS && version == 4 && proc != 0:
		h.readV4(&d)
	}
	return h
}

// readV3: the arguments of every procedure of NFSv3 begin with a file handle.
func (h *header) readV3(d *xdr.Decoder, proc uint32) {
	h.kind, h.protocol = kindOther, "nfs3"
	h.handle(d.Opaque(headBytes))
	switch proc {
	case nfs3Read:
		h.kind = kindRead
	case nfs3Write:
		h.kind = kindWrite
		d.Skip(8)
		h.bytes = d.Uint32()
	}
}

// readV4 finds a READ or WRITE that follows nothing but SEQUENCE and PUTFH, as our
// client and that of Linux send them; every other COMPOUND is other work. Where a
// COMPOUND begins at the root it notes the path that its LOOKUPs take.
func (h *header) readV4(d *xdr.Decoder) {
	h.kind, h.protocol = kindOther, "nfs4"
	d.Opaque(headBytes) // tag
	if minor := d.Uint32(); minor > 0 {
		h.protocol += "." + strconv.Itoa(int(minor))
	}
	var room [headBytes]byte // longer than any path in the head
	path := room[:0]
	defer func() { h.path = string(path) }()
	for ops := d.Uint32(); ops > 0 && d.Err() == nil; ops-- {
		switch op := d.Uint32(); {
		case op == opSequence:
			d.Skip(16 + 4*4)
		case op == opPutRootFH || op == opPutPubFH:
			path = path[:0]
		case op == opLookup && !h.hasFH:
			if name := d.Opaque(headBytes); d.Err() == nil {
				path = append(append(path, '/'), name...)
			}
		case op == opPutFH:
			h.handle(d.Opaque(headBytes))
		default:
			h.readV4Data(d, op)
			return
		}
	}
}

func (h *header) readV4Data(d *xdr.Decoder, op uint32) {
	switch op {
	case opRead:
		h.kind = kindRead
	case opWrite:
		d.Skip(16 + 8 + 4)
		h.kind, h.bytes = kindWrite, d.Uint32()
	}
}

// handle takes the export from a handle of NFS-Ganesha: a byte of version, a
// byte of flags, two bytes of Export_Id, then what the file system says.
func (h *header) handle(fh []byte) {
	if len(fh) >= 4 {
		h.export, h.hasFH = binary.BigEndian.Uint16(fh[2:]), true
	}
}

// callback reports whether a record from a server is a call of its own, on the back
// channel of NFSv4.1, and not a reply; and its xid, which is the server's and may be that of
// a call of the client as well.
func callback(b []byte) (xid uint32, is bool) {
	d := xdr.NewDecoder(b)
	xid = d.Uint32()
	is = d.Uint32() == msgCall && d.Err() == nil
	return xid, is
}

// readReply returns the xid of a reply, whether the operation succeeded, and how many
// bytes a READ brought, or a WRITE of NFSv4 took; call is what it answers.
func readReply(b []byte, call func(xid uint32) (kind, uint32)) (xid uint32, ok bool, bytes uint32) {
	d := xdr.NewDecoder(b)
	xid = d.Uint32()
	k, version := call(xid)
	if d.Uint32() != msgReply || d.Uint32() != 0 {
		return xid, false, 0
	}
	d.Uint32()
	d.Opaque(headBytes) // verifier
	if d.Uint32() != 0 || k == kindNone {
		return xid, false, 0
	}
	if version == 4 && k != kindOther {
		bytes, ok = readV4Data(&d, k)
		return xid, ok, bytes
	}
	status := d.Uint32()
	if d.Err() != nil || status != 0 {
		return xid, false, 0
	}
	if k != kindRead {
		return xid, true, 0
	}
	if d.Uint32() != 0 {
		d.Skip(84) // attributes
	}
	return xid, true, d.Uint32()
}

// readV4Data finds the result of the READ or WRITE in those of a COMPOUND. What fails
// behind it, such as a GETATTR, changes nothing: the data went over.
func readV4Data(d *xdr.Decoder, k kind) (bytes uint32, ok bool) {
	d.Uint32()          // status of the last result
	d.Opaque(headBytes) // tag
	for results := d.Uint32(); results > 0 && d.Err() == nil; results-- {
		op, status := d.Uint32(), d.Uint32()
		switch {
		case status != 0:
			return 0, false
		case op == opSequence:
			d.Skip(16 + 4*5)
		case op == opLookup || op == opPutFH || op == opPutPubFH || op == opPutRootFH: // no results
		case op == opRead && k == kindRead:
			d.Uint32() // eof
			bytes = d.Uint32()
			return bytes, d.Err() == nil
		case op == opWrite && k == kindWrite:
			bytes = d.Uint32()
			return bytes, d.Err() == nil
		default:
			return 0, false
		}
	}
	return 0, false
}
