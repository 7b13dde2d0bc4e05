package server

import (
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// procUmntAll forgets all mounts of the client.
const procUmntAll = 4

// mount executes MOUNT. No list of mounts is kept: DUMP is empty and UMNT has nothing to
// do, as with every server that does not want to lie after a client crashed.
func (w *worker) mount(procedure uint32) rpc.AcceptStatus {
	switch procedure {
	case mount.ProcNull, procUmntAll:
	case mount.ProcMnt:
		var a mount.PathArgs
		a.Decode(&w.args)
		if w.garbage() {
			return rpc.AcceptGarbageArgs
		}
		res := w.mnt(a.Path)
		w.out = res.Append(w.out)
	case mount.ProcUmnt:
		var a mount.PathArgs
		a.Decode(&w.args)
		if w.garbage() {
			return rpc.AcceptGarbageArgs
		}
	case mount.ProcDump:
		w.out = xdr.AppendBool(w.out, false)
	case mount.ProcExport:
		res := mount.ExportRes{Exports: []mount.Export{{Path: w.conn.srv.opt.Export}}}
		w.out = res.Append(w.out)
	default:
		return rpc.AcceptProcUnavail
	}
	return rpc.AcceptSuccess
}

// mnt finds the export or a directory below it.
func (w *worker) mnt(wanted string) mount.MntRes {
	srv := w.conn.srv
	below, ok := cutExport(path.Clean("/"+wanted), srv.opt.Export)
	if !ok {
		return mount.MntRes{Status: mount.ErrNoEnt}
	}
	n, err := descend(srv.tree, below)
	if err != nil {
		return mount.MntRes{Status: mountStatus(err)}
	}
	h := n.Handle()
	return mount.MntRes{
		Status: mount.OK, Handle: h[:],
		Flavors: []uint32{uint32(rpc.FlavorSys), uint32(rpc.FlavorNone)},
	}
}

func cutExport(wanted, export string) (below string, ok bool) {
	if export == "/" {
		return wanted[1:], true
	}
	below, ok = strings.CutPrefix(wanted, export)
	return strings.TrimPrefix(below, "/"), ok && (below == "" || below[0] == '/')
}

func descend(t *filetree.Tree, below string) (*filetree.Node, error) {
	n := t.Root()
	for name := range strings.SplitSeq(below, "/") {
		if name == "" {
			continue
		}
		var err error
		if n, _, err = t.Lookup(n, name); err != nil {
			return nil, err
		}
	}
	if !n.IsDir() {
		return nil, unix.ENOTDIR
	}
	return n, nil
}

func mountStatus(err error) mount.Status {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESTALE):
		return mount.ErrNoEnt
	case errors.Is(err, unix.EACCES):
		return mount.ErrAcces
	case errors.Is(err, unix.ENOTDIR):
		return mount.ErrNotDir
	case errors.Is(err, unix.ENAMETOOLONG):
		return mount.ErrNameTooLong
	}
	return mount.ErrIO
}
