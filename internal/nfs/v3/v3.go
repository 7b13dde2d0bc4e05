// Package v3 encodes and decodes NFS version 3 (RFC 1813), both directions.
//
// Every procedure has an Args and a Res structure, which are xdr.Coded. All results begin with their Status. Decoded
// byte slices and file handles alias the decoder's input: copy those that must live longer. The package does no I/O.
package v3

// Program and Version identify NFSv3 to ONC RPC.
const (
	Program = 100003
	Version = 3
)

// Procedures of RFC 1813 section 3.
const (
	ProcNull        = 0
	ProcGetattr     = 1
	ProcSetattr     = 2
	ProcLookup      = 3
	ProcAccess      = 4
	ProcReadlink    = 5
	ProcRead        = 6
	ProcWrite       = 7
	ProcCreate      = 8
	ProcMkdir       = 9
	ProcSymlink     = 10
	ProcMknod       = 11
	ProcRemove      = 12
	ProcRmdir       = 13
	ProcRename      = 14
	ProcLink        = 15
	ProcReaddir     = 16
	ProcReaddirplus = 17
	ProcFsstat      = 18
	ProcFsinfo      = 19
	ProcPathconf    = 20
	ProcCommit      = 21
)

// Limits of RFC 1813 section 2.4.
const (
	// MaxHandleBytes is the longest file handle.
	MaxHandleBytes = 64
	// MaxNameBytes is the longest file name accepted here; the protocol itself
	// sets no limit.
	MaxNameBytes = 1024
	// MaxDataBytes is the longest READ or WRITE accepted here.
	MaxDataBytes = 16 << 20
)
