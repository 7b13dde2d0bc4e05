package nfs

import (
	"context"
	"time"
)

// Stability says when the server must have written data on stable storage.
type Stability uint8

// Degrees of stability.
const (
	// Unstable data may be lost by a restart of the server until Commit.
	Unstable Stability = iota
	// DataSync data are stable with what is needed to read them again.
	DataSync
	// FileSync data and all attributes are stable.
	FileSync
)

// FileHandle names a file to the server; opaque and comparable.
type FileHandle string

// FileType is the kind of a file.
type FileType uint8

// Kinds of files.
const (
	TypeOther FileType = iota
	TypeRegular
	TypeDirectory
)

// Attr are the attributes of a file.
type Attr struct {
	Type      FileType
	Mode      uint32
	UID, GID  uint32
	SizeBytes uint64
	UsedBytes uint64
	FileID    uint64
	Modified  time.Time
}

// SetAttr says which attributes to set; nil fields stay as they are.
type SetAttr struct {
	Mode      *uint32
	UID, GID  *uint32
	SizeBytes *uint64
}

// DirEntry is one name in a directory.
type DirEntry struct {
	Name   string
	FileID uint64
	// Handle and Attr are what the server chose to send along: Handle may be
	// empty and Attr nil.
	Handle FileHandle
	Attr   *Attr
}

// FSInfo are the limits of the server for this export.
type FSInfo struct {
	Version       string // as an oranfstab has it: "nfsv3"
	ReadMaxBytes  uint32 // what the server offers
	WriteMaxBytes uint32
	// TransferReadBytes and TransferWriteBytes are what this client uses.
	TransferReadBytes  uint32
	TransferWriteBytes uint32
	MaxFileBytes       uint64
}

// FSStat is the space of the file system behind the export.
type FSStat struct {
	TotalBytes, FreeBytes, AvailableBytes uint64
	TotalFiles, FreeFiles                 uint64
}

// verifier changes when the server may have lost unstable data.
type verifier [8]byte

// protocol is one version of NFS over a transport. Implementations are safe for
// many goroutines; an op belongs to one goroutine from begin to end.
type protocol interface {
	dataProtocol
	fileProtocol
	nameProtocol
}

// dataProtocol moves the contents of files. What begin starts, end must finish:
// until then the buffer belongs to the protocol. end makes lost calls again.
// Lengths of buffers are at most the transfer sizes of info.
type dataProtocol interface {
	beginRead(ctx context.Context, o *op, file []byte, p []byte, off uint64)
	endRead(ctx context.Context, o *op) (n int, eof bool, err error)
	beginWrite(ctx context.Context, o *op, file []byte, p []byte, off uint64, s Stability)
	endWrite(ctx context.Context, o *op) (n int, got Stability, v verifier, err error)
	commit(ctx context.Context, file []byte) (verifier, error)
}

// fileProtocol works on attributes of files and of the file system.
type fileProtocol interface {
	info(ctx context.Context, root FileHandle) (FSInfo, error)
	statFS(ctx context.Context, root FileHandle) (FSStat, error)
	getAttr(ctx context.Context, file FileHandle) (Attr, error)
	setAttr(ctx context.Context, file FileHandle, set SetAttr) error
	access(ctx context.Context, file FileHandle, want Access) (Access, error)
}

// nameProtocol works on directories.
type nameProtocol interface {
	lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error)
	create(ctx context.Context, dir FileHandle, name string, how Create) (FileHandle, error)
	remove(ctx context.Context, dir FileHandle, name string, kind FileType) error
	rename(ctx context.Context, from FileHandle, name string, to FileHandle, newName string) error
	readDir(ctx context.Context, dir FileHandle) ([]DirEntry, error)
}

// Access is a set of permissions.
type Access uint32

// Permissions, as bits of Access.
const (
	AccessRead Access = 1 << iota
	AccessLookup
	AccessModify
	AccessExtend
	AccessDelete
	AccessExecute
)

// Create says what to create.
type Create struct {
	Kind FileType // TypeRegular or TypeDirectory
	Mode uint32
	// Exclusive fails when the name is taken; directories are always exclusive.
	Exclusive bool
}
