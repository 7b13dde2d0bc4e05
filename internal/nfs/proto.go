package nfs

import "context"

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

// Attr are the attributes of a file that a benchmark looks at.
type Attr struct {
	Type      FileType
	SizeBytes uint64
}

// FSInfo are the limits of the server for this export.
type FSInfo struct {
	ReadMaxBytes  uint32 // what the server offers
	WriteMaxBytes uint32
	// TransferReadBytes and TransferWriteBytes are what this client uses.
	TransferReadBytes  uint32
	TransferWriteBytes uint32
}

// FSStat is the space of the file system behind the export.
type FSStat struct {
	TotalBytes, AvailableBytes uint64
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
	setSize(ctx context.Context, file FileHandle, sizeBytes uint64) error
}

// nameProtocol works on directories.
type nameProtocol interface {
	lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error)
	create(ctx context.Context, dir FileHandle, name string, how creation) (FileHandle, error)
	remove(ctx context.Context, dir FileHandle, name string, kind FileType) error
	readDir(ctx context.Context, dir FileHandle) (names []string, err error)
}

// creation says what to create.
type creation struct {
	Kind FileType // TypeRegular or TypeDirectory
	Mode uint32
	// Exclusive fails when the name is taken; directories are always exclusive.
	Exclusive bool
}
