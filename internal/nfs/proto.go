package nfs

import (
	"context"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// Stability says when the server must have written data on stable storage.
type Stability = stream.Stability

// Degrees of stability.
const (
	Unstable = stream.Unstable // a restart of the server before Commit may lose it
	DataSync = stream.DataSync
	FileSync = stream.FileSync
)

// FileHandle identifies a file to the server. It is opaque and comparable.
type FileHandle string

// FileType is the kind of a file.
type FileType uint8

// Kinds of files.
const (
	TypeOther FileType = iota
	TypeRegular
	TypeDirectory
)

// Attr holds the file attributes that a benchmark uses.
type Attr struct {
	Type      FileType
	SizeBytes uint64
	// Links is the number of names of the file; 0 if the server does not report it.
	Links uint32
}

// FSInfo holds the server's limits for this export.
type FSInfo struct {
	// ReadMaxBytes and WriteMaxBytes are rtmax and wtmax of the file system (maxread and maxwrite in NFSv4), regardless
	// of session limits.
	ReadMaxBytes  uint32
	WriteMaxBytes uint32
	// TransferReadBytes and TransferWriteBytes are the sizes that this client uses.
	TransferReadBytes  uint32
	TransferWriteBytes uint32
}

// FSStat is the space of the file system behind the export.
type FSStat struct {
	TotalBytes, AvailableBytes uint64
}

// protocol is one version of NFS over a transport, without READ and WRITE, which its stream.Protocol encodes.
// Implementations are safe for concurrent use.
type protocol interface {
	fileProtocol
	nameProtocol
	// data encodes READ and WRITE over the transport.
	data() stream.Protocol
	// prepare completes the configuration of a stream. The parameter threads has the channel of each thread, and
	// connections is the number of connections per channel. It returns all threads, including those to data servers, and
	// a function that releases the resources of the stream.
	prepare(ctx context.Context, cfg *stream.Config, threads []*channel, connections int) ([]*channel, func(), error)
	// close releases the server's state of this client, within ctx.
	close(ctx context.Context) error
}

// fileProtocol works on files and on the file system.
type fileProtocol interface {
	// info returns the limits of the server, and the transfer sizes that its calls can carry.
	info(ctx context.Context, root FileHandle) (FSInfo, error)
	statFS(ctx context.Context, root FileHandle) (FSStat, error)
	getAttr(ctx context.Context, file FileHandle) (Attr, error)
	setSize(ctx context.Context, file FileHandle, sizeBytes uint64) error
	// commit commits the data at one of several servers, as numbered in stream.Verifier.
	commit(ctx context.Context, f *File, server int) (stream.Verifier, error)
	// open opens a file for I/O, and creates it if how is not nil. It sets the handle and the state of f.
	open(ctx context.Context, f *File, dir FileHandle, name string, how *creation) error
	// release is the counterpart of open.
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

// creation configures the creation of a regular file.
type creation struct {
	Mode uint32
	// Exclusive fails if the name exists.
	Exclusive bool
}
