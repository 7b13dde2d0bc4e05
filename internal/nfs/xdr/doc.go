// Package xdr encodes and decodes the External Data Representation of RFC 4506.
//
// Encoding appends to a byte slice, so that the caller owns and reuses the
// memory. Decoding walks over a byte slice, checks every length against what is
// really there, and remembers its first error: callers decode a whole structure
// and look at Decoder.Err once. Neither direction allocates, and no input makes
// it panic.
package xdr
