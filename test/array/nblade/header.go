package main

import (
	"encoding/binary"
	"strconv"
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

	opPutFH     = 22
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
	kind     kind
	protocol string // empty = not NFS
	version  uint32
	export   uint16 // of the file handle
	hasFH    bool
	path     string // of a MOUNT
	bytes    uint32 // that a WRITE brings
}

// cursor reads XDR. After the first byte that is missing everything is zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) skip(n int) []byte {
	n = (n + 3) &^ 3
	if n < 0 || n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	head := c.b[:n]
	c.b = c.b[n:]
	return head
}

func (c *cursor) u32() uint32 {
	if b := c.skip(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) opaque() []byte {
	n := c.u32()
	if n > headBytes {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.skip(int(n))
	if c.bad {
		return nil
	}
	return b[:n]
}

// readCall understands the head of a call, without its mark. What it can not
// read it leaves out; only the xid is certain.
func readCall(b []byte) header {
	c := cursor{b: b}
	h := header{xid: c.u32()}
	if c.u32() != msgCall {
		return h
	}
	c.u32() // version of RPC
	prog, version, proc := c.u32(), c.u32(), c.u32()
	c.u32()
	c.opaque() // credential
	c.u32()
	c.opaque() // verifier
	if c.bad {
		return h
	}
	h.version = version
	switch {
	case prog == progMount && (proc == mountMNT || proc == mountUMNT):
		h.path = string(c.opaque())
	case prog == progNFS && version == 3 && proc != 0:
		h.readV3(&c, proc)
	case prog == progNFS && version == 4 && proc != 0:
		h.readV4(&c)
	}
	return h
}

// readV3: the arguments of every procedure of NFSv3 begin with a file handle.
func (h *header) readV3(c *cursor, proc uint32) {
	h.kind, h.protocol = kindOther, "nfs3"
	h.handle(c.opaque())
	switch proc {
	case nfs3Read:
		h.kind = kindRead
	case nfs3Write:
		h.kind = kindWrite
		c.skip(8)
		h.bytes = c.u32()
	}
}

// readV4 finds a READ or WRITE that follows nothing but SEQUENCE and PUTFH, as
// the clients of Linux and Oracle send them; every other COMPOUND is other work.
func (h *header) readV4(c *cursor) {
	h.kind, h.protocol = kindOther, "nfs4"
	c.opaque() // tag
	if minor := c.u32(); minor > 0 {
		h.protocol += "." + strconv.Itoa(int(minor))
	}
	for ops := c.u32(); ops > 0 && !c.bad; ops-- {
		switch c.u32() {
		case opSequence:
			c.skip(16 + 4*4)
		case opPutRootFH:
		case opPutFH:
			h.handle(c.opaque())
		case opRead:
			h.kind = kindRead
			return
		case opWrite:
			c.skip(16 + 8 + 4)
			h.kind, h.bytes = kindWrite, c.u32()
			return
		default:
			return
		}
	}
}

// handle takes the export from a handle of NFS-Ganesha: a byte of version, a
// byte of flags, two bytes of Export_Id, then what the file system says.
func (h *header) handle(fh []byte) {
	if len(fh) >= 4 {
		h.export, h.hasFH = binary.BigEndian.Uint16(fh[2:]), true
	}
}

// readReply returns the xid of a reply, whether the operation succeeded, and how
// many bytes a READ brought; call is what it answers.
func readReply(b []byte, call func(xid uint32) (kind, uint32)) (xid uint32, ok bool, read uint32) {
	c := cursor{b: b}
	xid = c.u32()
	k, version := call(xid)
	if c.u32() != msgReply || c.u32() != 0 {
		return xid, false, 0
	}
	c.u32()
	c.opaque() // verifier
	if c.u32() != 0 || k == kindNone {
		return xid, false, 0
	}
	status := c.u32()
	if c.bad || status != 0 {
		return xid, false, 0
	}
	if k != kindRead {
		return xid, true, 0
	}
	if version == 3 {
		if c.u32() != 0 {
			c.skip(84) // attributes
		}
		return xid, true, c.u32()
	}
	return xid, true, readV4Read(&c)
}

func readV4Read(c *cursor) uint32 {
	c.opaque() // tag
	for results := c.u32(); results > 0 && !c.bad; results-- {
		op, status := c.u32(), c.u32()
		switch {
		case status != 0:
			return 0
		case op == opSequence:
			c.skip(16 + 4*5)
		case op == opRead:
			c.u32() // eof
			return c.u32()
		}
	}
	return 0
}
