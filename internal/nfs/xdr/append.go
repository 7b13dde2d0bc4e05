package xdr

import "encoding/binary"

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

// Padding returns how many zero bytes follow opaque data of n bytes: 0 to 3.
func Padding(n int) int { return -n & 3 }
