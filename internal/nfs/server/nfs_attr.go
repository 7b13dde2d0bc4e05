package server

import (
	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func (w *worker) getattr() v3.Status {
	var a v3.HandleArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	var res v3.GetattrRes
	n, status := w.node(a.Handle)
	if status == v3.OK {
		got, err := w.conn.srv.tree.Stat(n)
		status = statusOf(err)
		res.Attr = wireAttr(got, w.conn.srv.fsid)
	}
	res.Status = status
	w.out = res.Append(w.out)
	return status
}

func (w *worker) setattr() v3.Status {
	var a v3.SetattrArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	res := v3.WccRes{}
	n, status := w.node(a.Handle)
	if status == v3.OK && a.GuardSet {
		now := w.attrs(n)
		if !now.Present || now.Attr.Ctime != a.GuardCtime {
			status = v3.ErrNotSync
		}
	}
	if status == v3.OK {
		status = statusOf(w.conn.srv.tree.SetAttr(n, wanted(a.Attr, w.conn.srv.opt.Now())))
	}
	res.Status, res.Wcc = status, w.after(n)
	w.out = res.Append(w.out)
	return status
}

func (w *worker) lookup() v3.Status {
	var a v3.NameArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	var res v3.LookupRes
	dir, status := w.node(a.Dir)
	if status == v3.OK {
		n, got, err := w.conn.srv.tree.Lookup(dir, a.Name)
		if status = statusOf(err); err == nil {
			h := n.Handle()
			res.Handle, res.Attr = h[:], w.present(got)
		}
	}
	res.Status, res.DirAttr = status, w.attrs(dir)
	w.out = res.Append(w.out)
	return status
}

func (w *worker) access() v3.Status {
	var a v3.AccessArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	var res v3.AccessRes
	n, status := w.node(a.Handle)
	if status == v3.OK {
		res.Attr = w.attrs(n)
		if !res.Attr.Present {
			status = v3.ErrStale
		}
		res.Access = a.Access & granted(&res.Attr.Attr)
	}
	res.Status = status
	w.out = res.Append(w.out)
	return status
}

// granted are the ACCESS bits of the one user that everybody is: the owner's bits of what
// the server made itself. Files of others are rare here; what access promises too much for
// them is refused by the operation.
func granted(a *v3.Attr) uint32 {
	var bits uint32
	if a.Mode&unix.S_IRUSR != 0 {
		bits |= v3.AccessRead
	}
	if a.Mode&unix.S_IWUSR != 0 {
		bits |= v3.AccessModify | v3.AccessExtend
		if a.Type == v3.TypeDirectory {
			bits |= v3.AccessDelete
		}
	}
	if a.Mode&unix.S_IXUSR != 0 {
		if a.Type == v3.TypeDirectory {
			bits |= v3.AccessLookup
		} else {
			bits |= v3.AccessExecute
		}
	}
	return bits
}
