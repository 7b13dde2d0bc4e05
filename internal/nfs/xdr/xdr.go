// Package xdr encodes and decodes the External Data Representation of RFC 4506.
//
// Encoding appends to a byte slice, so that the caller owns and reuses the
// memory. Decoding reads a byte slice, checks every length against the
// available bytes, and keeps its first error: callers decode a whole structure
// and check Decoder.Err once. Neither direction allocates, and no input causes
// a panic.
package xdr

import (
	"encoding/binary"
	"errors"
)

// AppendUint32 appends v to b.
func AppendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// AppendUint64 appends v to b.
func AppendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// AppendBool appends v to b as 0 or 1.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return AppendUint32(b, 1)
	}
	return AppendUint32(b, 0)
}

// AppendOpaque appends p as variable-length opaque data: length, bytes, padding.
func AppendOpaque(b, p []byte) []byte {
	b = AppendUint32(b, uint32(len(p)))
	return AppendFixed(b, p)
}

// AppendString appends s as a variable-length string: length, bytes, padding.
func AppendString(b []byte, s string) []byte {
	b = AppendUint32(b, uint32(len(s)))
	b = append(b, s...)
	return AppendPadding(b, len(s))
}

// AppendFixed appends p as fixed-length opaque data: bytes and padding.
func AppendFixed(b, p []byte) []byte {
	b = append(b, p...)
	return AppendPadding(b, len(p))
}

// AppendPadding appends the zero bytes that follow opaque data of n bytes.
func AppendPadding(b []byte, n int) []byte {
	var zero [3]byte
	return append(b, zero[:Padding(n)]...)
}

// Padding returns the number of zero bytes after opaque data of n bytes: 0 to 3.
func Padding(n int) int { return -n & 3 }

// Reasons why bytes are not the expected XDR.
var (
	// ErrShort says that the data ended in the middle of an item.
	ErrShort = errors.New("xdr: data ends too early")
	// ErrTooLong says that an item announced more than its maximum length.
	ErrTooLong = errors.New("xdr: item longer than allowed")
	// ErrBadBool says that a boolean was neither 0 nor 1.
	ErrBadBool = errors.New("xdr: boolean is neither 0 nor 1")
	// ErrBadValue says that a value is outside its enumeration or union.
	ErrBadValue = errors.New("xdr: value outside its enumeration")
)

// Decoder reads items from a byte slice. After the first error every further
// read returns a zero value and Err keeps that first error. The zero Decoder
// has no input. A Decoder is not safe for concurrent use.
type Decoder struct {
	buf []byte
	off int
	err error
}

// NewDecoder returns a Decoder over b. Opaque data that it returns alias b.
func NewDecoder(b []byte) Decoder { return Decoder{buf: b} }

// Err returns the first error, or nil.
func (d *Decoder) Err() error { return d.err }

// Fail sets the Decoder's error to err, unless it has one already.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Len returns the number of unread bytes; 0 after an error.
func (d *Decoder) Len() int {
	if d.err != nil {
		return 0
	}
	return len(d.buf) - d.off
}

// Offset returns the number of bytes read.
func (d *Decoder) Offset() int { return d.off }

// take returns the next n bytes, or nil after an error.
func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.buf)-d.off {
		d.err = ErrShort
		return nil
	}
	p := d.buf[d.off : d.off+n : d.off+n]
	d.off += n
	return p
}

// Uint32 reads an unsigned integer of 32 bits.
func (d *Decoder) Uint32() uint32 {
	p := d.take(4)
	if p == nil {
		return 0
	}
	return binary.BigEndian.Uint32(p)
}

// Uint64 reads an unsigned integer of 64 bits.
func (d *Decoder) Uint64() uint64 {
	p := d.take(8)
	if p == nil {
		return 0
	}
	return binary.BigEndian.Uint64(p)
}

// Bool reads a boolean and refuses values other than 0 and 1.
func (d *Decoder) Bool() bool {
	v := d.Uint32()
	if v > 1 {
		d.Fail(ErrBadBool)
		return false
	}
	return v == 1
}

// Opaque reads variable-length opaque data of at most limit bytes. The result
// aliases the Decoder's input.
func (d *Decoder) Opaque(limit int) []byte {
	n := d.Uint32()
	if d.err != nil {
		return nil
	}
	if uint64(n) > uint64(max(limit, 0)) {
		d.err = ErrTooLong
		return nil
	}
	return d.Fixed(int(n))
}

// Fixed reads fixed-length opaque data of n bytes and its padding. The result
// aliases the Decoder's input.
func (d *Decoder) Fixed(n int) []byte {
	p := d.take(n)
	if p == nil {
		return nil
	}
	d.take(Padding(n))
	if d.err != nil {
		return nil
	}
	return p
}

// String reads a string of at most limit bytes. It allocates the string.
func (d *Decoder) String(limit int) string { return string(d.Opaque(limit)) }

// Skip skips n bytes.
func (d *Decoder) Skip(n int) { d.take(n) }
