package nfs

import (
	"context"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// Stability says when the server must have written data on stable storage.
type Stability = stream.Stability

// Degrees of stability.
const (
	Unstable = stream.Unstable // may be lost by a restart of the server until Commit
	DataSync = stream.DataSync
	FileSync = stream.FileSync
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
	// Links is how many names the file has; 0 where the server does not say.
	Links uint32
}

// FSInfo are the limits of the server for this export.
type FSInfo struct {
	// ReadMaxBytes and WriteMaxBytes are rtmax and wtmax of the file system (maxread and maxwrite in NFSv4), whatever
	// a session carries.
	ReadMaxBytes  uint32
	WriteMaxBytes uint32
	// TransferReadBytes and TransferWriteBytes are what this client uses.
	TransferReadBytes  uint32
	TransferWriteBytes uint32
}

// FSStat is the space of the file system behind the export.
type FSStat struct {
	TotalBytes, AvailableBytes uint64
}

// protocol is one version of NFS over a transport: everything but READ and WRITE, which its
// stream.Protocol encodes. Implementations are safe for many goroutines.
type protocol interface {
	fileProtocol
	nameProtocol
	// data encodes READ and WRITE over the transport.
	data() stream.Protocol
	// prepare completes the configuration of a stream. lanes has the channel of each lane, and
	// connections is how many each channel gets. It returns all lanes, with those to data
	// servers, and what gives back what the stream took.
	prepare(ctx context.Context, cfg *stream.Config, lanes []*channel, connections int) ([]*channel, func(), error)
	// close gives back what the server keeps for this client, within ctx.
	close(ctx context.Context) error
}

// fileProtocol works on files and on the file system.
type fileProtocol interface {
	// info returns the limits of the server, with the transfers that its calls can carry.
	info(ctx context.Context, root FileHandle) (FSInfo, error)
	statFS(ctx context.Context, root FileHandle) (FSStat, error)
	getAttr(ctx context.Context, file FileHandle) (Attr, error)
	setSize(ctx context.Context, file FileHandle, sizeBytes uint64) error
	// commit makes stable what one of several servers holds, as stream.Verifier names it.
	commit(ctx context.Context, f *File, server int) (stream.Verifier, error)
	// open makes a File usable for I/O, and creates it if how is not nil. It fills in the
	// handle and the state of f.
	open(ctx context.Context, f *File, dir FileHandle, name string, how *creation) error
	// release ends what open began.
	release(ctx context.Context, f *File) error
}

// nameProtocol works on directories.
type nameProtocol interface {
	lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error)
	mkdir(ctx context.Context, dir FileHandle, name string, mode uint32) (FileHandle, error)
	remove(ctx context.Context, dir FileHandle, name string, kind FileType) error
	rename(ctx context.Context, dir FileHandle, from, to string) error
	readDir(ctx context.Context, dir FileHandle) (names []string, err error)
}

// creation says how to create a regular file.
type creation struct {
	Mode uint32
	// Exclusive fails when the name is taken.
	Exclusive bool
}
