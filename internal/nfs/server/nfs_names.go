package server

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

func (w *worker) create(a *v3.CreateArgs) v3.Status {
	dir, status := w.node(a.Where.Dir)
	var n *filetree.Node
	if status == v3.OK {
		var err error
		n, err = w.createFile(dir, a)
		status = statusOf(err)
	}
	return w.made(dir, n, status)
}

func (w *worker) createFile(dir *filetree.Node, a *v3.CreateArgs) (*filetree.Node, error) {
	tree := w.conn.srv.tree
	if a.How == v3.CreateExclusive {
		return tree.CreateExclusive(dir, a.Where.Name, a.Verifier)
	}
	n, made, err := tree.Create(dir, a.Where.Name, a.Attr.Mode.Or(0o644), a.How == v3.CreateGuarded)
	if err != nil {
		return nil, err
	}
	// Owner and mode of a new file are the server's and were given above. Of a file that
	// was there only the length is changed, as open(2) with O_TRUNC would.
	set := v3.NewAttr{Size: a.Attr.Size}
	if made {
		set.Atime, set.Mtime = a.Attr.Atime, a.Attr.Mtime
	}
	return n, tree.SetAttr(n, set)
}

func (w *worker) mkdir(a *v3.MkdirArgs) v3.Status {
	dir, status := w.node(a.Where.Dir)
	var n *filetree.Node
	if status == v3.OK {
		var err error
		n, _, err = w.conn.srv.tree.Mkdir(dir, a.Where.Name, a.Attr.Mode.Or(0o755))
		status = statusOf(err)
	}
	return w.made(dir, n, status)
}

// made appends the results of CREATE and MKDIR.
func (w *worker) made(dir, n *filetree.Node, status v3.Status) v3.Status {
	res := v3.CreateRes{Status: status, Dir: w.after(dir)}
	if status == v3.OK {
		h := n.Handle()
		res.HandlePresent, res.Handle, res.Attr = true, h[:], w.attrs(n)
	}
	return w.result(status, &res)
}

func (w *worker) remove(a *v3.NameArgs) v3.Status { return w.unlink(a, w.conn.srv.tree.Remove) }

func (w *worker) rmdir(a *v3.NameArgs) v3.Status { return w.unlink(a, w.conn.srv.tree.Rmdir) }

func (w *worker) unlink(a *v3.NameArgs, do func(*filetree.Node, string) error) v3.Status {
	dir, status := w.node(a.Dir)
	if status == v3.OK {
		status = statusOf(do(dir, a.Name))
	}
	res := v3.WccRes{Status: status, Wcc: w.after(dir)}
	return w.result(status, &res)
}

func (w *worker) rename(a *v3.RenameArgs) v3.Status {
	from, status := w.node(a.From.Dir)
	to, toStatus := w.node(a.To.Dir)
	if status == v3.OK {
		status = toStatus
	}
	if status == v3.OK {
		status = statusOf(w.conn.srv.tree.Rename(from, a.From.Name, to, a.To.Name))
	}
	res := v3.RenameRes{Status: status, From: w.after(from), To: w.after(to)}
	return w.result(status, &res)
}

// maxListing bounds one READDIR or READDIRPLUS reply, whatever the client allows.
const maxListing = 32 << 10

// list executes READDIR and, with plus, READDIRPLUS.
func (w *worker) list(plus bool) v3.Status {
	a := v3.ReaddirArgs{Plus: plus}
	if w.decode(&a); w.garbage() {
		return v3.OK
	}
	began := len(w.out)
	dir, status := w.node(a.Handle)
	// Cookies are good forever, so the verifier is always zero.
	if status == v3.OK && a.CookieVerifier != [8]byte{} {
		status = v3.ErrBadCookie
	}
	if status == v3.OK {
		status = w.appendListing(dir, &a)
	}
	if status != v3.OK {
		w.out = xdr.Append(w.out[:began], &v3.ReaddirRes{Status: status, DirAttr: w.attrs(dir)})
	}
	return status
}

// appendListing appends results as long as they fit, entry by entry.
func (w *worker) appendListing(dir *filetree.Node, a *v3.ReaddirArgs) v3.Status {
	const trailer = 8 // no more entries, end of file
	began := len(w.out)
	limit := began + int(min(a.MaxCount, maxListing)) - trailer
	attrs := w.attrs(dir)
	w.out = xdr.Append(xdr.AppendUint32(w.out, uint32(v3.OK)), &attrs)
	w.out = xdr.AppendFixed(w.out, a.CookieVerifier[:])
	listed := 0
	atEnd, err := w.conn.srv.tree.ReadDir(dir, a.Cookie, a.Plus, func(e *v3.DirEntry) bool {
		before := len(w.out)
		e.Attr.Attr.FSID = w.conn.srv.fsid
		w.out = e.Append(xdr.AppendBool(w.out, true), a.Plus)
		if len(w.out) > limit {
			w.out = w.out[:before]
			return false
		}
		listed++
		return true
	})
	switch {
	case errors.Is(err, unix.EINVAL):
		return v3.ErrBadCookie
	case err != nil:
		return statusOf(err)
	case listed == 0 && !atEnd, len(w.out) > limit:
		return v3.ErrTooSmall
	}
	w.out = xdr.AppendBool(w.out, false)
	w.out = xdr.AppendBool(w.out, atEnd)
	return v3.OK
}
