package server

import (
	"math"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func (w *worker) fsstat() v3.Status {
	n, status, ok := w.handleArg()
	if !ok {
		return status
	}
	res := v3.FsstatRes{Attr: w.attrs(n)}
	if status == v3.OK {
		u, err := w.conn.srv.tree.Usage()
		status = statusOf(err)
		res.TotalBytes, res.FreeBytes, res.AvailBytes = u.TotalBytes, u.FreeBytes, u.AvailBytes
		res.TotalFiles, res.FreeFiles, res.AvailFiles = u.TotalFiles, u.FreeFiles, u.FreeFiles
	}
	res.Status = status
	w.out = res.Append(w.out)
	return status
}

func (w *worker) fsinfo() v3.Status {
	n, status, ok := w.handleArg()
	if !ok {
		return status
	}
	size := uint32(w.conn.srv.opt.MaxTransferBytes)
	res := v3.FsinfoRes{
		Status: status, Attr: w.attrs(n),
		ReadMax: size, ReadPref: size, ReadMult: minTransfer,
		WriteMax: size, WritePref: size, WriteMult: minTransfer,
		DirPref: maxListing, MaxFileBytes: math.MaxInt64, TimeDelta: v3.Time{Nanoseconds: 1},
		Properties: v3.PropertyHomogeneous | v3.PropertyCanSetTime,
	}
	w.out = res.Append(w.out)
	return status
}

func (w *worker) pathconf() v3.Status {
	n, status, ok := w.handleArg()
	if !ok {
		return status
	}
	res := v3.PathconfRes{
		Status: status, Attr: w.attrs(n), LinkMax: 1, NameMax: filetree.MaxName,
		NoTrunc: true, ChownRestricted: true, CasePreserving: true,
	}
	w.out = res.Append(w.out)
	return status
}

// handleArg decodes arguments that are one handle; ok is false when they are garbage.
func (w *worker) handleArg() (n *filetree.Node, status v3.Status, ok bool) {
	var a v3.HandleArgs
	a.Decode(&w.args)
	if w.garbage() {
		return nil, v3.OK, false
	}
	n, status = w.node(a.Handle)
	return n, status, true
}
