package server

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// maxListing bounds one READDIR or READDIRPLUS reply, whatever the client allows.
const maxListing = 32 << 10

func (w *worker) readdir() v3.Status { return w.list(false) }

func (w *worker) readdirplus() v3.Status { return w.list(true) }

func (w *worker) list(plus bool) v3.Status {
	var a v3.ReaddirArgs
	if plus {
		a.DecodePlus(&w.args)
	} else {
		a.Decode(&w.args)
	}
	if w.garbage() {
		return v3.OK
	}
	began := len(w.out)
	dir, status := w.node(a.Handle)
	// Cookies are good for ever, so the verifier is always zero.
	if status == v3.OK && a.CookieVerifier != [8]byte{} {
		status = v3.ErrBadCookie
	}
	if status == v3.OK {
		status = w.appendListing(dir, &a, plus)
	}
	if status != v3.OK {
		res := v3.ReaddirRes{Status: status, DirAttr: w.attrs(dir)}
		w.out = res.Append(w.out[:began])
	}
	return status
}

// appendListing appends results as long as they fit, entry by entry.
func (w *worker) appendListing(dir *filetree.Node, a *v3.ReaddirArgs, plus bool) v3.Status {
	const trailer = 8 // no more entries, end of file
	began := len(w.out)
	limit := began + int(min(a.MaxCount, maxListing)) - trailer
	attrs := w.attrs(dir)
	w.out = xdr.AppendUint32(w.out, uint32(v3.OK))
	w.out = attrs.Append(w.out)
	w.out = xdr.AppendFixed(w.out, a.CookieVerifier[:])
	listed := 0
	atEnd, err := w.conn.srv.tree.ReadDir(dir, a.Cookie, plus, func(e filetree.Entry) bool {
		before := len(w.out)
		w.appendEntry(e, plus)
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

func (w *worker) appendEntry(e filetree.Entry, plus bool) {
	entry := v3.DirEntry{FileID: e.Inode, Name: e.Name, Cookie: e.Cookie}
	w.out = xdr.AppendBool(w.out, true)
	if !plus {
		w.out = entry.Append(w.out)
		return
	}
	if e.Node != nil {
		h := e.Node.Handle()
		entry.HandlePresent, entry.Handle, entry.Attr = true, h[:], w.present(e.Attr)
	}
	w.out = entry.AppendPlus(w.out)
}
