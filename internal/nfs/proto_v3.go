package nfs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// protoV3 is NFS version 3 over a transport.
type protoV3 struct {
	t *transport
	// head is what every request begins with; the procedure is filled in.
	head []byte
}

const (
	jukeboxFirst = 100 * time.Millisecond
	jukeboxMax   = 5 * time.Second
)

func newProtoV3(t *transport, cred rpc.Auth) *protoV3 {
	return &protoV3{t: t, head: rpc.AppendCall(nil, v3.Program, v3.Version, 0, cred)}
}

// prepare starts the request of o.
func (p *protoV3) prepare(o *op, procedure uint32) {
	o.call.Reset()
	o.call.Request = append(o.call.Request, p.head...)
	rpc.PutProcedure(o.call.Request, procedure)
}

func (p *protoV3) beginRead(ctx context.Context, o *op, file []byte, dst []byte, off uint64) {
	p.prepare(o, v3.ProcRead)
	args := v3.ReadArgs{Handle: file, Offset: off, Count: uint32(len(dst))}
	o.call.Request = args.Append(o.call.Request)
	o.call.Dst, o.call.Layout = dst, readLayout
	p.t.begin(ctx, o)
}

// readLayout is the rpc.Layout of READ results.
func readLayout(start []byte) (at, data int, err error) {
	var res v3.ReadRes
	d := xdr.NewDecoder(start)
	if data = res.DecodeHead(&d); res.Status == v3.OK {
		err = d.Err() // a failure may end early
	}
	return d.Offset(), data, err
}

func (p *protoV3) endRead(ctx context.Context, o *op) (n int, eof bool, err error) {
	if err := p.await(ctx, o); err != nil {
		return 0, false, err
	}
	var res v3.ReadRes
	d := xdr.NewDecoder(o.call.Results)
	data := res.DecodeHead(&d)
	if err := decoded(&d, res.Status); err != nil {
		return 0, false, err
	}
	if data != o.call.Received || int(res.Count) != data {
		return 0, false, violation("READ answers with %d bytes of data but counts %d", o.call.Received, res.Count)
	}
	return data, res.EOF, nil
}

func (p *protoV3) beginWrite(ctx context.Context, o *op, file []byte, src []byte, off uint64, s Stability) {
	p.prepare(o, v3.ProcWrite)
	args := v3.WriteArgs{Handle: file, Offset: off, Count: uint32(len(src)), Stable: v3.Stable(s)}
	o.call.Request = args.AppendHead(o.call.Request, len(src))
	o.call.Data = src
	p.t.begin(ctx, o)
}

func (p *protoV3) endWrite(ctx context.Context, o *op) (n int, got Stability, v verifier, err error) {
	if err := p.await(ctx, o); err != nil {
		return 0, 0, v, err
	}
	var res v3.WriteRes
	d := xdr.NewDecoder(o.call.Results)
	res.DecodeBrief(&d)
	if err := decoded(&d, res.Status); err != nil {
		return 0, 0, v, err
	}
	if res.Count == 0 || int64(res.Count) > int64(len(o.call.Data)) {
		return 0, 0, v, violation("WRITE of %d bytes is answered with %d written", len(o.call.Data), res.Count)
	}
	return int(res.Count), Stability(res.Committed), res.Verifier, nil
}

func (p *protoV3) commit(ctx context.Context, file []byte) (verifier, error) {
	var res v3.CommitRes
	_, err := p.invoke(ctx, v3.ProcCommit, &v3.CommitArgs{Handle: file}, &res)
	return res.Verifier, err
}

// await waits for the results of o. It makes the call again as long as the server asks to
// try later and there is time.
func (p *protoV3) await(ctx context.Context, o *op) error {
	for wait := jukeboxFirst; ; wait = min(2*wait, jukeboxMax) {
		if err := p.t.finish(ctx, o); err != nil {
			return err
		}
		d := xdr.NewDecoder(o.call.Results)
		status := d.Uint32() // all results begin with it
		if status != uint32(v3.ErrJukebox) || p.t.clock.Load()-o.started+int64(wait) > int64(p.t.timeout) {
			return nil
		}
		// A tenth of disorder keeps many waiting calls from coming back together.
		timer := time.NewTimer(wait + rand.N(wait/10))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		// The server remembers its reply to the old xid, so ask under a new one.
		o.call.NewXID()
		p.t.send(ctx, o)
	}
}

// invoke makes a call without bulk data and decodes its results into res, which aliases
// them. It reports how many connections were tried, because a call that changes names may
// have been executed by a server whose reply was lost.
func (p *protoV3) invoke(ctx context.Context, procedure uint32, args, res xdr.Coded) (attempts int, err error) {
	o := new(op)
	p.prepare(o, procedure)
	o.call.Request = xdr.Append(o.call.Request, args)
	p.t.begin(ctx, o)
	if err := p.await(ctx, o); err != nil {
		return o.attempts, err
	}
	head, d := xdr.NewDecoder(o.call.Results), xdr.NewDecoder(o.call.Results)
	xdr.Decode(&d, res)
	return o.attempts, decoded(&d, v3.Status(head.Uint32()))
}

// decoded turns what a decoder and a status say into an error. A failure may
// come with less than the whole structure: then the status is what matters.
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
	// readDirBytes is how much of a directory is asked for at once.
	readDirBytes = 64 << 10
	// maxDirBytes bounds the names of a directory, which a server need not end: some hundred
	// thousand, which no benchmark makes.
	maxDirBytes = 16 << 20
)

func (p *protoV3) info(ctx context.Context, root FileHandle) (FSInfo, error) {
	var res v3.FsinfoRes
	_, err := p.invoke(ctx, v3.ProcFsinfo, &v3.HandleArgs{Handle: []byte(root)}, &res)
	return FSInfo{ReadMaxBytes: res.ReadMax, WriteMaxBytes: res.WriteMax}, err
}

func (p *protoV3) statFS(ctx context.Context, root FileHandle) (FSStat, error) {
	var res v3.FsstatRes
	_, err := p.invoke(ctx, v3.ProcFsstat, &v3.HandleArgs{Handle: []byte(root)}, &res)
	return FSStat{TotalBytes: res.TotalBytes, AvailableBytes: res.AvailBytes}, err
}

func (p *protoV3) getAttr(ctx context.Context, file FileHandle) (Attr, error) {
	var res v3.GetattrRes
	_, err := p.invoke(ctx, v3.ProcGetattr, &v3.HandleArgs{Handle: []byte(file)}, &res)
	attr := Attr{SizeBytes: res.Attr.Size}
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

func (p *protoV3) create(ctx context.Context, dir FileHandle, name string, how creation) (FileHandle, error) {
	where := v3.NameArgs{Dir: []byte(dir), Name: name}
	attr := v3.NewAttr{Mode: v3.Opt32{Set: true, Value: how.Mode}}
	create := &v3.CreateArgs{Where: where, How: v3.CreateUnchecked, Attr: attr}
	if how.Exclusive {
		create.How = v3.CreateGuarded
	}
	procedure, args := uint32(v3.ProcCreate), xdr.Coded(create)
	if how.Kind == TypeDirectory {
		procedure, args = v3.ProcMkdir, &v3.MkdirArgs{Where: where, Attr: attr}
	}
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
		// NFS-Ganesha answers this where another client removes the same name at
		// the same moment. Where the name is gone, that is what happened.
		if _, missing := p.lookup(ctx, dir, name); IsNotExist(missing) {
			err = missing
		}
	}
	if attempts > 1 && IsNotExist(err) {
		return nil
	}
	return err
}

// appendNames subtracts what the names take from left.
func appendNames(to []string, entries []v3.DirEntry, left *int) []string {
	for _, e := range entries {
		if e.Name != "." && e.Name != ".." {
			to = append(to, e.Name)
		}
		*left -= len(e.Name) + 16 // and the string
	}
	return to
}

func (p *protoV3) readDir(ctx context.Context, dir FileHandle) (names []string, err error) {
	args := v3.ReaddirArgs{Plus: true, Handle: []byte(dir), DirCount: readDirBytes / 4, MaxCount: readDirBytes}
	for left := maxDirBytes; ; {
		res := v3.ReaddirRes{Plus: true}
		_, err := p.invoke(ctx, v3.ProcReaddirplus, &args, &res)
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
			return nil, violation("READDIRPLUS makes no progress after %d entries", len(names))
		}
		args.CookieVerifier = res.CookieVerifier
	}
}
