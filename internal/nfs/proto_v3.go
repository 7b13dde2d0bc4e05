package nfs

import (
	"context"
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// protoV3 is NFS version 3 over a transport.
type protoV3 struct {
	t *transport
	// head is the head of every request; the procedure is filled in.
	head    []byte
	unmount func(ctx context.Context) error
}

func newProtoV3(t *transport, cred rpc.Auth, unmount func(context.Context) error) *protoV3 {
	return &protoV3{t: t, head: rpc.AppendCall(nil, v3.Program, v3.Version, 0, cred), unmount: unmount}
}

func (p *protoV3) data() stream.Protocol { return &dataV3{head: p.head} }

func (p *protoV3) prepare(
	_ context.Context, cfg *stream.Config, threads []*channel, _ int,
) ([]*channel, func(), error) {
	cfg.Protocol = p.data()
	return threads, func() {}, nil
}

func (p *protoV3) close(ctx context.Context) error {
	p.t.close()
	ctx, cancel := context.WithTimeout(ctx, closeSilence)
	defer cancel()
	return p.unmount(ctx)
}

func (p *protoV3) commit(ctx context.Context, f *File, _ int) (stream.Verifier, error) {
	var res v3.CommitRes
	_, err := p.invoke(ctx, v3.ProcCommit, &v3.CommitArgs{Handle: f.raw}, &res)
	return stream.Verifier{Value: res.Verifier}, err
}

// invoke makes a call without bulk data and decodes its results into res, which aliases them. It returns the number
// of attempts, because the server may have executed a call that changes names although its reply was lost.
func (p *protoV3) invoke(ctx context.Context, procedure uint32, args, res xdr.Coded) (attempts int, err error) {
	o := &op{encode: func(o *op) error {
		o.call.Request = append(o.call.Request, p.head...)
		rpc.PutProcedure(o.call.Request, procedure)
		o.call.Request = xdr.Append(o.call.Request, args)
		return nil
	}, decode: func(o *op) stream.Results {
		head, d := xdr.NewDecoder(o.call.Results), xdr.NewDecoder(o.call.Results)
		xdr.Decode(&d, res)
		status := v3.Status(head.Uint32()) // all results begin with it
		if status == v3.ErrJukebox {
			return stream.Results{Next: stream.Delay, Err: status}
		}
		return stream.Results{Err: decoded(&d, status)}
	}}
	err = p.t.do(ctx, o)
	return o.attempts, err
}

// decoded combines the errors of a decoder and a status. A failure reply may be
// shorter than the whole structure; the status then takes precedence.
func decoded(d *xdr.Decoder, status v3.Status) error {
	if status != v3.OK {
		return status
	}
	if err := d.Err(); err != nil {
		return &rpc.ProtocolError{Err: err}
	}
	return nil
}

func violation(format string, args ...any) error {
	return &rpc.ProtocolError{Err: fmt.Errorf(format, args...)}
}

const (
	// readDirBytes is the size of one directory request.
	readDirBytes = 64 << 10
	// maxDirBytes bounds the names of a directory, because a server could send them without end. It allows several
	// hundred thousand, more than any benchmark creates.
	maxDirBytes = 16 << 20
)

func (p *protoV3) info(ctx context.Context, root FileHandle) (FSInfo, error) {
	var res v3.FsinfoRes
	_, err := p.invoke(ctx, v3.ProcFsinfo, &v3.HandleArgs{Handle: []byte(root)}, &res)
	return FSInfo{
		ReadMaxBytes: res.ReadMax, WriteMaxBytes: res.WriteMax,
		TransferReadBytes: res.ReadMax, TransferWriteBytes: res.WriteMax,
	}, err
}

func (p *protoV3) statFS(ctx context.Context, root FileHandle) (FSStat, error) {
	var res v3.FsstatRes
	_, err := p.invoke(ctx, v3.ProcFsstat, &v3.HandleArgs{Handle: []byte(root)}, &res)
	return FSStat{TotalBytes: res.TotalBytes, AvailableBytes: res.AvailBytes}, err
}

func (p *protoV3) getAttr(ctx context.Context, file FileHandle) (Attr, error) {
	var res v3.GetattrRes
	_, err := p.invoke(ctx, v3.ProcGetattr, &v3.HandleArgs{Handle: []byte(file)}, &res)
	attr := Attr{SizeBytes: res.Attr.Size, Links: res.Attr.Nlink}
	switch res.Attr.Type {
	case v3.TypeRegular:
		attr.Type = TypeRegular
	case v3.TypeDirectory:
		attr.Type = TypeDirectory
	case v3.TypeBlock, v3.TypeCharacter, v3.TypeSymlink, v3.TypeSocket, v3.TypeFIFO:
	}
	return attr, err
}

func (p *protoV3) setSize(ctx context.Context, file FileHandle, sizeBytes uint64) error {
	args := v3.SetattrArgs{Handle: []byte(file), Attr: v3.NewAttr{Size: v3.Opt64{Set: true, Value: sizeBytes}}}
	_, err := p.invoke(ctx, v3.ProcSetattr, &args, new(v3.WccRes))
	return err
}

func (p *protoV3) lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error) {
	var res v3.LookupRes
	_, err := p.invoke(ctx, v3.ProcLookup, &v3.NameArgs{Dir: []byte(dir), Name: name}, &res)
	return FileHandle(res.Handle), err
}

func (p *protoV3) mkdir(ctx context.Context, dir FileHandle, name string, mode uint32) (FileHandle, error) {
	attr := v3.NewAttr{Mode: v3.Opt32{Set: true, Value: mode}}
	args := &v3.MkdirArgs{Where: v3.NameArgs{Dir: []byte(dir), Name: name}, Attr: attr}
	return p.create(ctx, v3.ProcMkdir, args, dir, name)
}

// open looks up or creates the name: NFSv3 has no open files.
func (p *protoV3) open(ctx context.Context, f *File, dir FileHandle, name string, how *creation) (err error) {
	if how == nil {
		f.handle, err = p.lookup(ctx, dir, name)
	} else {
		args := &v3.CreateArgs{
			Where: v3.NameArgs{Dir: []byte(dir), Name: name}, How: v3.CreateUnchecked,
			Attr: v3.NewAttr{Mode: v3.Opt32{Set: true, Value: how.Mode}},
		}
		if how.Exclusive {
			args.How = v3.CreateGuarded
		}
		f.handle, err = p.create(ctx, v3.ProcCreate, args, dir, name)
	}
	return err
}

func (p *protoV3) release(context.Context, *File) error { return nil }

// create sends a call that creates a name, and returns the new handle.
func (p *protoV3) create(
	ctx context.Context, procedure uint32, args xdr.Coded, dir FileHandle, name string,
) (FileHandle, error) {
	var res v3.CreateRes
	attempts, err := p.invoke(ctx, procedure, args, &res)
	// The server may have executed an attempt whose reply was lost.
	if attempts > 1 && IsExist(err) {
		err = nil
	}
	if err == nil && len(res.Handle) == 0 {
		return p.lookup(ctx, dir, name)
	}
	return FileHandle(res.Handle), err
}

func (p *protoV3) remove(ctx context.Context, dir FileHandle, name string, kind FileType) error {
	procedure := uint32(v3.ProcRemove)
	if kind == TypeDirectory {
		procedure = v3.ProcRmdir
	}
	attempts, err := p.invoke(ctx, procedure, &v3.NameArgs{Dir: []byte(dir), Name: name}, new(v3.WccRes))
	if IsStale(err) {
		// NFS-Ganesha answers this if another client removes the same name at the
		// same moment. If the name is gone, that is what happened.
		if _, missing := p.lookup(ctx, dir, name); IsNotExist(missing) {
			err = missing
		}
	}
	if attempts > 1 && IsNotExist(err) {
		return nil
	}
	return err
}

func (p *protoV3) rename(ctx context.Context, dir FileHandle, from, to string) error {
	args := &v3.RenameArgs{
		From: v3.NameArgs{Dir: []byte(dir), Name: from}, To: v3.NameArgs{Dir: []byte(dir), Name: to},
	}
	attempts, err := p.invoke(ctx, v3.ProcRename, args, new(v3.RenameRes))
	// The server may have executed an attempt whose reply was lost.
	if attempts > 1 && IsNotExist(err) {
		return nil
	}
	return err
}

// appendNames appends the names of entries, and subtracts their size from left.
func appendNames(to []string, entries []v3.DirEntry, left *int) []string {
	for _, e := range entries {
		if e.Name != "." && e.Name != ".." {
			to = append(to, e.Name)
		}
		*left -= len(e.Name) + 16 // and the string
	}
	return to
}

// readDir uses READDIRPLUS, or READDIR if the server lacks READDIRPLUS or has no room for attributes.
func (p *protoV3) readDir(ctx context.Context, dir FileHandle) ([]string, error) {
	missing := func(err error) bool {
		refused, ok := errors.AsType[*rpc.RefusedError](err)
		return isStatus(err, v3.ErrNotSupp) || ok && !refused.Denied && refused.Accept == rpc.AcceptProcUnavail
	}
	names, err := p.list(ctx, dir, v3.ProcReaddirplus)
	if missing(err) || isStatus(err, v3.ErrTooSmall) {
		names, err = p.list(ctx, dir, v3.ProcReaddir)
	}
	if missing(err) {
		err = &ExplainedError{Cause: CauseVersion, Err: err, Says: "the server lists no directory, neither by READDIRPLUS " +
			"nor by READDIR of NFSv3; use another version of NFS"}
	}
	return names, err
}

func (p *protoV3) list(ctx context.Context, dir FileHandle, procedure uint32) (names []string, err error) {
	plus := procedure == v3.ProcReaddirplus
	args := v3.ReaddirArgs{Plus: plus, Handle: []byte(dir), DirCount: readDirBytes / 4, MaxCount: readDirBytes}
	for left := maxDirBytes; ; {
		res := v3.ReaddirRes{Plus: plus}
		_, err := p.invoke(ctx, procedure, &args, &res)
		names = appendNames(names, res.Entries, &left)
		if err != nil || res.EOF {
			return names, err
		}
		if left < 0 {
			return nil, fmt.Errorf("the directory does not end after %d names; name another path", len(names))
		}
		before := args.Cookie
		if n := len(res.Entries); n > 0 {
			args.Cookie = res.Entries[n-1].Cookie
		}
		if args.Cookie == before {
			return nil, violation("the listing of a directory makes no progress after %d entries", len(names))
		}
		args.CookieVerifier = res.CookieVerifier
	}
}
