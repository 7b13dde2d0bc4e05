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

func (w *worker) read() v3.Status {
	var a v3.ReadArgs
	if a.Decode(&w.args); w.garbage() {
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

// readFrom appends the whole successful reply, or nothing. The data are read behind the
// place of the head, so that the head can say what really came and both leave in one write.
func (w *worker) readFrom(n *filetree.Node, offset uint64, count int) v3.Status {
	if offset > math.MaxInt64-uint64(count) {
		return v3.ErrInval
	}
	f, err := w.conn.srv.tree.OpenFile(n)
	if err != nil {
		return statusOf(err)
	}
	defer f.Release()
	if replyHeadBytes+count+3 > cap(w.out) {
		w.enlarge()
	}
	data := w.out[replyHeadBytes : replyHeadBytes+count]
	got, err := f.ReadAt(data, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return statusOf(err)
	}
	a, err := f.Attr()
	if err != nil {
		return statusOf(err)
	}
	res := v3.ReadRes{Status: v3.OK, Attr: w.present(a), Count: uint32(got), EOF: offset+uint64(got) >= a.Size}
	w.out = res.AppendHead(w.out, got)
	w.out = xdr.AppendPadding(w.out[:replyHeadBytes+got], got)
	w.conn.on.counts.ReadBytes.Add(uint64(got))
	return v3.OK
}

func (w *worker) write() v3.Status {
	var a v3.WriteArgs
	if a.Decode(&w.args); w.garbage() {
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
		done, after, err := srv.tree.Write(n, a.Data, a.Offset, a.Stable)
		if status = statusOf(err); err == nil {
			res.Count, res.Wcc.After = uint32(done), w.present(after)
			w.conn.on.counts.WrittenBytes.Add(uint64(done))
		}
		srv.suspect(status)
	}
	if res.Status = status; status != v3.OK {
		res.Wcc = w.after(n)
	}
	w.out = res.Append(w.out)
	return status
}

func (w *worker) commit(a *v3.CommitArgs) v3.Status {
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
	return w.result(status, &res)
}

// suspect changes the write verifier when the disk lost something: the kernel reports a
// failed write-back once, and other clients must resend too.
func (s *Server) suspect(status v3.Status) {
	if status == v3.ErrIO {
		s.verifier.Add(1)
	}
}
