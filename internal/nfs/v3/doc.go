// Package v3 encodes and decodes NFS version 3 (RFC 1813), both directions.
//
// Every procedure has an Args and a Res structure; each has Append (encode) and
// Decode. Decode reports through the xdr.Decoder. Byte slices and file handles
// that were decoded alias the decoder's input: copy what must live longer. The
// package does no I/O.
package v3
