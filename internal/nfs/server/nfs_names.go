package server

import (
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func (w *worker) create() v3.Status {
	var a v3.CreateArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	dir, status := w.node(a.Where.Dir)
	var n *filetree.Node
	if status == v3.OK {
		var err error
		n, err = w.createFile(dir, &a)
		status = statusOf(err)
	}
	return w.made(dir, n, status)
}

func (w *worker) createFile(dir *filetree.Node, a *v3.CreateArgs) (*filetree.Node, error) {
	tree := w.conn.srv.tree
	if a.How == v3.CreateExclusive {
		return tree.CreateExclusive(dir, a.Where.Name, a.Verifier)
	}
	n, made, err := tree.Create(dir, a.Where.Name, modeOr(a.Attr.Mode, 0o644), a.How == v3.CreateGuarded)
	if err != nil {
		return nil, err
	}
	// Owner and mode of a new file are the server's and were given above. Of a file that
	// was there only the length is changed, as open(2) with O_TRUNC would.
	set := wanted(a.Attr, w.conn.srv.opt.Now())
	set.Mode, set.UID, set.GID = nil, nil, nil
	if !made {
		set.Accessed, set.Modified = nil, nil
	}
	return n, tree.SetAttr(n, set)
}

func modeOr(o v3.Opt32, fallback uint32) uint32 {
	if o.Set {
		return o.Value
	}
	return fallback
}

func (w *worker) mkdir() v3.Status {
	var a v3.MkdirArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	dir, status := w.node(a.Where.Dir)
	var n *filetree.Node
	if status == v3.OK {
		var err error
		n, _, err = w.conn.srv.tree.Mkdir(dir, a.Where.Name, modeOr(a.Attr.Mode, 0o755))
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
	w.out = res.Append(w.out)
	return status
}

func (w *worker) remove() v3.Status { return w.unlink((*filetree.Tree).Remove) }

func (w *worker) rmdir() v3.Status { return w.unlink((*filetree.Tree).Rmdir) }

func (w *worker) unlink(do func(*filetree.Tree, *filetree.Node, string) error) v3.Status {
	var a v3.NameArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	dir, status := w.node(a.Dir)
	if status == v3.OK {
		status = statusOf(do(w.conn.srv.tree, dir, a.Name))
	}
	res := v3.WccRes{Status: status, Wcc: w.after(dir)}
	w.out = res.Append(w.out)
	return status
}

func (w *worker) rename() v3.Status {
	var a v3.RenameArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	from, status := w.node(a.From.Dir)
	to, toStatus := w.node(a.To.Dir)
	if status == v3.OK {
		status = toStatus
	}
	if status == v3.OK {
		status = statusOf(w.conn.srv.tree.Rename(from, a.From.Name, to, a.To.Name))
	}
	res := v3.RenameRes{Status: status, From: w.after(from), To: w.after(to)}
	w.out = res.Append(w.out)
	return status
}
