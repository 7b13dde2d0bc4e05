// Package v4 encodes and decodes NFS version 4.0 (RFC 7530, XDR in RFC 7531) and version
// 4.1 (RFC 8881, XDR in RFC 5662), as a client needs them.
//
// Every operation is a structure that holds its arguments and its results, and codes both in either direction. A
// Compound is a list of operations that the client sends, a CBCompound one that it receives on the callback channel.
// The server's half is in test/nfs4wire. READ and WRITE of the data path have functions of their own, which allocate
// nothing. Decoded byte slices and file handles alias the decoder's input: copy those that must live longer. The
// package does no I/O.
package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Program, Version and the procedures identify NFSv4 to ONC RPC.
const (
	Program = 100003
	Version = 4

	ProcNull     = 0
	ProcCompound = 1

	// CallbackProgram is the default program number of the callback channel: the first number of the transient range
	// (RFC 5531 section 8.4.2).
	CallbackProgram = 0x40000000
	// CallbackVersion is the version of the callback program in RFC 7531 and RFC 5662.
	CallbackVersion = 1

	CallbackProcNull     = 0
	CallbackProcCompound = 1
)

// Limits of the RFCs, or of this package if the protocol has none. Decoding refuses larger values.
const (
	// MaxHandleBytes is the longest file handle: NFS4_FHSIZE.
	MaxHandleBytes = 128
	// MaxNameBytes is the longest component of a path accepted here.
	MaxNameBytes = 1024
	// MaxDataBytes is the longest READ or WRITE accepted here.
	MaxDataBytes = 16 << 20
	// MaxOwnerBytes is NFS4_OPAQUE_LIMIT: the longest client, server and open owner and
	// server scope. It bounds the strings of owner attributes too.
	MaxOwnerBytes = 1024
	// MaxTagBytes is the longest tag of a compound accepted here.
	MaxTagBytes = 1024
	// MaxOperations bounds the operations of a decoded compound.
	MaxOperations = 64
	// MaxBitmapWords bounds the words of a decoded bitmap.
	MaxBitmapWords = 8
	// MaxAttrBytes is the longest encoded list of attribute values accepted here.
	MaxAttrBytes = 64 << 10
	// MaxAddressBytes is the longest network identifier or universal address.
	MaxAddressBytes = 128
	// MaxLayoutBytes is the longest body of a layout segment, a device address or a layout
	// update accepted here.
	MaxLayoutBytes = 1 << 20
	// MaxSegments bounds the segments of a layout.
	MaxSegments = 1024
	// MaxStateIDs bounds the state IDs of TEST_STATEID.
	MaxStateIDs = 1024
	// MaxListItems bounds the shorter lists: locations of a file system, layout types,
	// callback security parameters, referring calls, changed devices.
	MaxListItems = 64
)

// Stable is stable_how4: when written data must be on stable storage.
type Stable = uint32

// Degrees of stability.
const (
	Unstable Stable = 0
	DataSync Stable = 1
	FileSync Stable = 2
)

// Verifier is verifier4.
type Verifier [8]byte

// Code codes the bytes of v.
func (v *Verifier) Code(c *xdr.Coder) { c.Fixed(v[:]) }

// SessionID is sessionid4 (RFC 8881 section 18.36).
type SessionID [16]byte

// Code codes the bytes of s.
func (s *SessionID) Code(c *xdr.Coder) { c.Fixed(s[:]) }

// DeviceID is deviceid4 (RFC 8881 section 3.3.14).
type DeviceID [16]byte

// Code codes the bytes of i.
func (i *DeviceID) Code(c *xdr.Coder) { c.Fixed(i[:]) }

// StateID is stateid4 (RFC 7530 section 9.1.4, RFC 8881 section 8.2). The zero StateID is
// the anonymous one.
type StateID struct {
	Seq   uint32
	Other [12]byte
}

// Code codes the sequence number and the rest of s.
func (s *StateID) Code(c *xdr.Coder) {
	c.Uint32(&s.Seq)
	c.Fixed(s.Other[:])
}

// Time is nfstime4: seconds, which may be negative, and nanoseconds since 1970.
type Time struct {
	Seconds     int64
	Nanoseconds uint32
}

// Code codes the seconds and nanoseconds of t.
func (t *Time) Code(c *xdr.Coder) {
	s := uint64(t.Seconds)
	c.Uint64(&s)
	t.Seconds = int64(s)
	c.Uint32(&t.Nanoseconds)
}

// FSID is fsid4: the identity of a file system on its server.
type FSID struct{ Major, Minor uint64 }

// Code codes both parts of f.
func (f *FSID) Code(c *xdr.Coder) { c.Uint64(&f.Major, &f.Minor) }

// ChangeInfo is change_info4: the change attribute of a directory around an operation.
type ChangeInfo struct {
	Atomic        bool
	Before, After uint64
}

// Code codes the fields of i.
func (i *ChangeInfo) Code(c *xdr.Coder) {
	c.Bool(&i.Atomic)
	c.Uint64(&i.Before, &i.After)
}

// Address is netaddr4, in NFSv4.0 clientaddr4: a network identifier ("tcp", "tcp6") and a
// universal address (RFC 5665).
type Address struct{ NetID, Universal string }

// Code codes both strings of a.
func (a *Address) Code(c *xdr.Coder) {
	c.String(&a.NetID, MaxAddressBytes)
	c.String(&a.Universal, MaxAddressBytes)
}

// Bitmap is bitmap4: bit n is bit n%32 of word n/32.
type Bitmap []uint32

// Bits returns a Bitmap with these bits set.
func Bits(bits ...uint32) Bitmap {
	var b Bitmap
	for _, bit := range bits {
		b.Set(bit)
	}
	return b
}

// Set sets bit, which must be below 32*MaxBitmapWords; it ignores other bits.
func (b *Bitmap) Set(bit uint32) {
	if bit >= 32*MaxBitmapWords {
		return
	}
	for int(bit/32) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[bit/32] |= 1 << (bit % 32)
}

// Has reports whether bit is set.
func (b Bitmap) Has(bit uint32) bool {
	return int(bit/32) < len(b) && b[bit/32]&(1<<(bit%32)) != 0
}

// Code codes the words of b.
func (b *Bitmap) Code(c *xdr.Coder) {
	xdr.Bounded(c, (*[]uint32)(b), MaxBitmapWords, 4, func(w *uint32) { c.Uint32(w) })
}

// enum codes a number. Decoding refuses numbers outside low to high.
func enum(c *xdr.Coder, v *uint32, low, high uint32) {
	if c.Uint32(v); *v < low || *v > high {
		c.Refuse(xdr.ErrBadValue)
	}
}
