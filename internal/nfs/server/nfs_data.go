package server

import (
	"errors"
	"io"
	"math"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// replyHeadBytes is everything of a READ reply in front of its data: record mark and
// header, status, attributes with their flag, count, end of file, length.
const replyHeadBytes = acceptedBytes + 4 + 4 + 84 + 4 + 4 + 4

// sendfileBytes is the least that sendfile is worth its three extra system calls.
const sendfileBytes = 32 << 10

func (w *worker) read() v3.Status {
	var a v3.ReadArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	n, status := w.node(a.Handle)
	if status == v3.OK {
		status = w.readFrom(n, a.Offset, int(min(a.Count, uint32(w.conn.srv.opt.MaxTransferBytes))))
	}
	if status != v3.OK {
		res := v3.ReadRes{Status: status, Attr: w.attrs(n)}
		w.out = res.Append(w.out)
	}
	return status
}

// readFrom appends the whole successful reply, or nothing.
func (w *worker) readFrom(n *filetree.Node, offset uint64, count int) v3.Status {
	if offset > math.MaxInt64-uint64(count) {
		return v3.ErrInval
	}
	f, err := w.conn.srv.tree.OpenFile(n)
	if err != nil {
		return statusOf(err)
	}
	a, err := f.Attr()
	if err != nil {
		f.Release()
		return statusOf(err)
	}
	count = int(min(uint64(count), a.Size-min(a.Size, offset)))
	if count >= sendfileBytes && f.Cached(int64(offset), count) {
		w.span = span{file: f, offset: int64(offset), bytes: count} // drop releases f
		w.readHead(a, offset, count, count)
		w.conn.on.counts.ReadBytes(count)
		return v3.OK
	}
	defer f.Release()
	return w.readCopy(f, a, offset, count)
}

// readCopy reads the data into the reply, behind the place of the head.
func (w *worker) readCopy(f filetree.File, a filetree.Attr, offset uint64, count int) v3.Status {
	began := len(w.out)
	if replyHeadBytes+count+3 > smallBytes {
		w.enlarge()
	}
	data := w.out[replyHeadBytes : replyHeadBytes+count]
	got, err := f.ReadAt(data, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		w.out = w.out[:began]
		return statusOf(err)
	}
	w.readHead(a, offset, got, got)
	w.out = w.out[:replyHeadBytes+got]
	w.out = xdr.AppendPadding(w.out, got)
	w.conn.on.counts.ReadBytes(got)
	return v3.OK
}

func (w *worker) readHead(a filetree.Attr, offset uint64, count, dataBytes int) {
	res := v3.ReadRes{Status: v3.OK, Attr: w.present(a), Count: uint32(count), EOF: offset+uint64(count) >= a.Size}
	w.out = res.AppendHead(w.out, dataBytes)
}

func (w *worker) write() v3.Status {
	var a v3.WriteArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	srv := w.conn.srv
	// The verifier is read first: data written before it changes must not seem newer.
	res := v3.WriteRes{Committed: a.Stable, Verifier: srv.writeVerifier()}
	n, status := w.node(a.Handle)
	if status == v3.OK && int(a.Count) != len(a.Data) {
		status = v3.ErrInval
	}
	if status == v3.OK {
		done, after, err := srv.tree.Write(n, a.Data, a.Offset, filetree.Stability(a.Stable))
		if status = statusOf(err); err == nil {
			res.Count, res.Wcc.After = uint32(done), w.present(after)
			w.conn.on.counts.WrittenBytes(done)
		}
		srv.suspect(status)
	}
	if res.Status = status; status != v3.OK {
		res.Wcc = w.after(n)
	}
	w.out = res.Append(w.out)
	return status
}

func (w *worker) commit() v3.Status {
	var a v3.CommitArgs
	a.Decode(&w.args)
	if w.garbage() {
		return v3.OK
	}
	srv := w.conn.srv
	res := v3.CommitRes{Verifier: srv.writeVerifier()}
	n, status := w.node(a.Handle)
	if status == v3.OK {
		after, err := srv.tree.Sync(n)
		if status = statusOf(err); err == nil {
			res.Wcc.After = w.present(after)
		}
		srv.suspect(status)
	}
	res.Status = status
	w.out = res.Append(w.out)
	return status
}

// suspect changes the write verifier when the disk lost something: the kernel reports a
// failed write-back once, and other clients must resend too.
func (s *Server) suspect(status v3.Status) {
	if status == v3.ErrIO {
		s.ChangeWriteVerifier()
	}
}
