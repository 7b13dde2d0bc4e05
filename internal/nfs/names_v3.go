package nfs

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// readDirBytes is how much of a directory is asked for at once.
const readDirBytes = 64 << 10

func (p *protoV3) info(ctx context.Context, root FileHandle) (FSInfo, error) {
	args := v3.HandleArgs{Handle: []byte(root)}
	var res v3.FsinfoRes
	_, err := p.invoke(ctx, v3.ProcFsinfo, args.Append, func(d *xdr.Decoder) v3.Status {
		res.Decode(d)
		return res.Status
	})
	return FSInfo{
		Version: "nfsv3", ReadMaxBytes: res.ReadMax, WriteMaxBytes: res.WriteMax, MaxFileBytes: res.MaxFileBytes,
	}, err
}

func (p *protoV3) statFS(ctx context.Context, root FileHandle) (FSStat, error) {
	args := v3.HandleArgs{Handle: []byte(root)}
	var res v3.FsstatRes
	_, err := p.invoke(ctx, v3.ProcFsstat, args.Append, func(d *xdr.Decoder) v3.Status {
		res.Decode(d)
		return res.Status
	})
	return FSStat{
		TotalBytes: res.TotalBytes, FreeBytes: res.FreeBytes, AvailableBytes: res.AvailBytes,
		TotalFiles: res.TotalFiles, FreeFiles: res.FreeFiles,
	}, err
}

func (p *protoV3) getAttr(ctx context.Context, file FileHandle) (Attr, error) {
	args := v3.HandleArgs{Handle: []byte(file)}
	var res v3.GetattrRes
	_, err := p.invoke(ctx, v3.ProcGetattr, args.Append, func(d *xdr.Decoder) v3.Status {
		res.Decode(d)
		return res.Status
	})
	return attrV3(&res.Attr), err
}

func (p *protoV3) setAttr(ctx context.Context, file FileHandle, set SetAttr) error {
	args := v3.SetattrArgs{Handle: []byte(file), Attr: newAttrV3(set)}
	_, err := p.invoke(ctx, v3.ProcSetattr, args.Append, decodeWcc)
	return err
}

func (p *protoV3) access(ctx context.Context, file FileHandle, want Access) (Access, error) {
	args := v3.AccessArgs{Handle: []byte(file), Access: uint32(want)}
	var res v3.AccessRes
	_, err := p.invoke(ctx, v3.ProcAccess, args.Append, func(d *xdr.Decoder) v3.Status {
		res.Decode(d)
		return res.Status
	})
	return Access(res.Access), err
}

func (p *protoV3) lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error) {
	args := v3.NameArgs{Dir: []byte(dir), Name: name}
	var fh FileHandle
	_, err := p.invoke(ctx, v3.ProcLookup, args.Append, func(d *xdr.Decoder) v3.Status {
		var res v3.LookupRes
		res.Decode(d)
		fh = FileHandle(res.Handle)
		return res.Status
	})
	return fh, err
}

func (p *protoV3) create(ctx context.Context, dir FileHandle, name string, how Create) (FileHandle, error) {
	where := v3.NameArgs{Dir: []byte(dir), Name: name}
	attr := newAttrV3(SetAttr{Mode: &how.Mode})
	procedure := uint32(v3.ProcCreate)
	args := (&v3.CreateArgs{Where: where, How: createHow(how), Attr: attr}).Append
	if how.Kind == TypeDirectory {
		procedure = v3.ProcMkdir
		args = (&v3.MkdirArgs{Where: where, Attr: attr}).Append
	}
	var fh FileHandle
	attempts, err := p.invoke(ctx, procedure, args, func(d *xdr.Decoder) v3.Status {
		var res v3.CreateRes
		res.Decode(d)
		fh = FileHandle(res.Handle)
		return res.Status
	})
	// The server may have executed an attempt whose reply was lost.
	if attempts > 1 && v3.IsExist(err) {
		err = nil
	}
	if err == nil && fh == "" {
		return p.lookup(ctx, dir, name)
	}
	return fh, err
}

func createHow(how Create) v3.CreateHow {
	if how.Exclusive {
		return v3.CreateGuarded
	}
	return v3.CreateUnchecked
}

func (p *protoV3) remove(ctx context.Context, dir FileHandle, name string, kind FileType) error {
	args := v3.NameArgs{Dir: []byte(dir), Name: name}
	procedure := uint32(v3.ProcRemove)
	if kind == TypeDirectory {
		procedure = v3.ProcRmdir
	}
	attempts, err := p.invoke(ctx, procedure, args.Append, decodeWcc)
	if v3.IsStale(err) {
		// NFS-Ganesha answers this where another client removes the same name at
		// the same moment. Where the name is gone, that is what happened.
		if _, missing := p.lookup(ctx, dir, name); v3.IsNotExist(missing) {
			err = missing
		}
	}
	if attempts > 1 && v3.IsNotExist(err) {
		return nil
	}
	return err
}

func (p *protoV3) rename(ctx context.Context, from FileHandle, name string, to FileHandle, newName string) error {
	args := v3.RenameArgs{
		From: v3.NameArgs{Dir: []byte(from), Name: name},
		To:   v3.NameArgs{Dir: []byte(to), Name: newName},
	}
	attempts, err := p.invoke(ctx, v3.ProcRename, args.Append, func(d *xdr.Decoder) v3.Status {
		var res v3.RenameRes
		res.Decode(d)
		return res.Status
	})
	if attempts > 1 && v3.IsNotExist(err) {
		return nil
	}
	return err
}

func (p *protoV3) readDir(ctx context.Context, dir FileHandle) ([]DirEntry, error) {
	var all []DirEntry
	args := v3.ReaddirArgs{Handle: []byte(dir), DirCount: readDirBytes / 4, MaxCount: readDirBytes}
	for {
		var eof bool
		before := args.Cookie
		_, err := p.invoke(ctx, v3.ProcReaddirplus, args.AppendPlus, func(d *xdr.Decoder) v3.Status {
			var res v3.ReaddirRes
			res.DecodePlus(d)
			all = appendEntries(all, res.Entries)
			if n := len(res.Entries); n > 0 {
				args.Cookie = res.Entries[n-1].Cookie
			}
			args.CookieVerifier, eof = res.CookieVerifier, res.EOF
			return res.Status
		})
		if err != nil || eof {
			return all, err
		}
		if args.Cookie == before {
			return nil, violation("READDIRPLUS makes no progress after %d entries", len(all))
		}
	}
}

func appendEntries(all []DirEntry, entries []v3.DirEntry) []DirEntry {
	for i := range entries {
		e := &entries[i]
		if e.Name == "." || e.Name == ".." {
			continue
		}
		out := DirEntry{Name: e.Name, FileID: e.FileID, Handle: FileHandle(e.Handle)}
		if e.Attr.Present {
			a := attrV3(&e.Attr.Attr)
			out.Attr = &a
		}
		all = append(all, out)
	}
	return all
}

func decodeWcc(d *xdr.Decoder) v3.Status {
	var res v3.WccRes
	res.Decode(d)
	return res.Status
}

func attrV3(a *v3.Attr) Attr {
	kind := TypeOther
	switch a.Type {
	case v3.TypeRegular:
		kind = TypeRegular
	case v3.TypeDirectory:
		kind = TypeDirectory
	case v3.TypeBlock, v3.TypeCharacter, v3.TypeSymlink, v3.TypeSocket, v3.TypeFIFO:
	}
	return Attr{
		Type: kind, Mode: a.Mode, UID: a.UID, GID: a.GID, SizeBytes: a.Size, UsedBytes: a.Used, FileID: a.FileID,
		Modified: time.Unix(int64(a.Mtime.Seconds), int64(a.Mtime.Nanoseconds)).UTC(),
	}
}

func newAttrV3(set SetAttr) v3.NewAttr {
	var a v3.NewAttr
	a.Mode = opt32(set.Mode)
	a.UID, a.GID = opt32(set.UID), opt32(set.GID)
	if set.SizeBytes != nil {
		a.Size = v3.Opt64{Set: true, Value: *set.SizeBytes}
	}
	return a
}

func opt32(v *uint32) v3.Opt32 {
	if v == nil {
		return v3.Opt32{}
	}
	return v3.Opt32{Set: true, Value: *v}
}
