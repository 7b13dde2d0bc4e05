package server

import (
	"errors"
	"io"
	"math"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// procedure is one NFSv3 procedure. Its function run decodes the arguments, appends the results and returns their
// status. If the arguments are garbage, run appends nothing.
type procedure struct {
	name string
	run  func(*worker) v3.Status
}

// procedures returns the table of RFC 1813 section 3. Procedures without a
// function are not supported: an Oracle file system and a benchmark do not need
// them.
func procedures() [v3.ProcCommit + 1]procedure {
	return [...]procedure{
		v3.ProcNull:        {"NULL", func(*worker) v3.Status { return v3.OK }},
		v3.ProcGetattr:     {"GETATTR", with((*worker).getattr)},
		v3.ProcSetattr:     {"SETATTR", with((*worker).setattr)},
		v3.ProcLookup:      {"LOOKUP", with((*worker).lookup)},
		v3.ProcAccess:      {"ACCESS", with((*worker).access)},
		v3.ProcReadlink:    {"READLINK", nil},
		v3.ProcRead:        {"READ", (*worker).read},
		v3.ProcWrite:       {"WRITE", (*worker).write},
		v3.ProcCreate:      {"CREATE", with((*worker).create)},
		v3.ProcMkdir:       {"MKDIR", with((*worker).mkdir)},
		v3.ProcSymlink:     {"SYMLINK", nil},
		v3.ProcMknod:       {"MKNOD", nil},
		v3.ProcRemove:      {"REMOVE", with((*worker).remove)},
		v3.ProcRmdir:       {"RMDIR", with((*worker).rmdir)},
		v3.ProcRename:      {"RENAME", with((*worker).rename)},
		v3.ProcLink:        {"LINK", nil},
		v3.ProcReaddir:     {"READDIR", func(w *worker) v3.Status { return w.list(false) }},
		v3.ProcReaddirplus: {"READDIRPLUS", func(w *worker) v3.Status { return w.list(true) }},
		v3.ProcFsstat:      {"FSSTAT", with((*worker).fsstat)},
		v3.ProcFsinfo:      {"FSINFO", with((*worker).fsinfo)},
		v3.ProcPathconf:    {"PATHCONF", with((*worker).pathconf)},
		v3.ProcCommit:      {"COMMIT", with((*worker).commit)},
	}
}

// nfs executes NFSv3.
func (w *worker) nfs(number uint32) rpc.AcceptStatus {
	table := &w.conn.srv.procedures
	if int64(number) >= int64(len(table)) {
		return rpc.AcceptProcUnavail
	}
	p := table[number]
	counts := w.conn.on.counts
	if p.run == nil {
		counts.Operation(number)
		counts.NFSErrors.Add(1)
		w.out = xdr.AppendUint32(w.out, uint32(v3.ErrNotSupp))
		// Absent attributes follow a failure: one for READLINK, wcc_data for SYMLINK
		// and MKNOD, both for LINK.
		absent := map[uint32]int{v3.ProcReadlink: 1, v3.ProcSymlink: 2, v3.ProcMknod: 2, v3.ProcLink: 3}[number]
		for range absent {
			w.out = xdr.AppendBool(w.out, false)
		}
		return rpc.AcceptSuccess
	}
	status := p.run(w)
	if w.garbage() {
		return rpc.AcceptGarbageArgs
	}
	counts.Operation(number)
	if status != v3.OK {
		counts.NFSErrors.Add(1)
	}
	return rpc.AcceptSuccess
}

// with makes a procedure from a function of its decoded arguments.
func with[A any, P interface {
	*A
	xdr.Coded
}](run func(*worker, P) v3.Status) func(*worker) v3.Status {
	return func(w *worker) v3.Status {
		args := P(new(A))
		if args.Code(&w.args); w.garbage() {
			return v3.OK
		}
		return run(w, args)
	}
}

// result appends results and returns their status.
func (w *worker) result(status v3.Status, res xdr.Coded) v3.Status {
	w.out = xdr.Append(w.out, res)
	return status
}

// node finds the file of a handle.
func (w *worker) node(handle []byte) (*filetree.Node, v3.Status) {
	n, err := w.conn.srv.tree.ByHandle(handle)
	return n, statusOf(err)
}

// attrs returns the attributes after an operation; absent if they cannot be read.
func (w *worker) attrs(n *filetree.Node) v3.OptAttr {
	if n == nil {
		return v3.OptAttr{}
	}
	a, err := w.conn.srv.tree.Stat(n)
	if err != nil {
		return v3.OptAttr{}
	}
	return w.present(a)
}

func (w *worker) present(a v3.Attr) v3.OptAttr {
	a.FSID = w.conn.srv.fsid
	return v3.OptAttr{Present: true, Attr: a}
}

func (w *worker) after(n *filetree.Node) v3.Wcc { return v3.Wcc{After: w.attrs(n)} }

func (w *worker) getattr(a *v3.HandleArgs) v3.Status {
	var res v3.GetattrRes
	n, status := w.node(a.Handle)
	if status == v3.OK {
		got, err := w.conn.srv.tree.Stat(n)
		status = statusOf(err)
		res.Attr = w.present(got).Attr
	}
	res.Status = status
	return w.result(status, &res)
}

func (w *worker) setattr(a *v3.SetattrArgs) v3.Status {
	res := v3.WccRes{}
	n, status := w.node(a.Handle)
	if status == v3.OK && a.GuardSet {
		now := w.attrs(n)
		if !now.Present || now.Attr.Ctime != a.GuardCtime {
			status = v3.ErrNotSync
		}
	}
	if status == v3.OK {
		status = statusOf(w.conn.srv.tree.SetAttr(n, a.Attr))
	}
	res.Status, res.Wcc = status, w.after(n)
	return w.result(status, &res)
}

func (w *worker) lookup(a *v3.NameArgs) v3.Status {
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
	return w.result(status, &res)
}

func (w *worker) access(a *v3.AccessArgs) v3.Status {
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
	return w.result(status, &res)
}

// granted returns the ACCESS bits of the server's user, which all clients share: the owner's bits, because the server
// creates the files itself. Files of other users are rare here; if the bits promise too much for them, the operation
// refuses the access.
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

func (w *worker) fsstat(a *v3.HandleArgs) v3.Status {
	n, status := w.node(a.Handle)
	res := v3.FsstatRes{Attr: w.attrs(n)}
	if status == v3.OK {
		u, err := w.conn.srv.tree.Usage()
		status = statusOf(err)
		res.TotalBytes, res.FreeBytes, res.AvailBytes = u.TotalBytes, u.FreeBytes, u.AvailBytes
		res.TotalFiles, res.FreeFiles, res.AvailFiles = u.TotalFiles, u.FreeFiles, u.FreeFiles
	}
	res.Status = status
	return w.result(status, &res)
}

func (w *worker) fsinfo(a *v3.HandleArgs) v3.Status {
	n, status := w.node(a.Handle)
	size := uint32(w.conn.srv.opt.MaxTransferBytes)
	res := v3.FsinfoRes{
		Status: status, Attr: w.attrs(n),
		ReadMax: size, ReadPref: size, ReadMult: minTransfer,
		WriteMax: size, WritePref: size, WriteMult: minTransfer,
		DirPref: maxListing, MaxFileBytes: math.MaxInt64, TimeDelta: v3.Time{Nanoseconds: 1},
		Properties: v3.PropertyHomogeneous | v3.PropertyCanSetTime,
	}
	return w.result(status, &res)
}

func (w *worker) pathconf(a *v3.HandleArgs) v3.Status {
	n, status := w.node(a.Handle)
	res := v3.PathconfRes{
		Status: status, Attr: w.attrs(n), LinkMax: 1, NameMax: filetree.MaxName,
		NoTrunc: true, ChownRestricted: true, CasePreserving: true,
	}
	return w.result(status, &res)
}

// statusOf translates an error of the file tree. An error without NFS name becomes an I/O error; a temporary error
// asks the client to retry.
func statusOf(err error) v3.Status {
	if err == nil {
		return v3.OK
	}
	var e unix.Errno
	if !errors.As(err, &e) {
		return v3.ErrIO
	}
	switch e { //nolint:exhaustive // what has no name in the protocol follows below
	case unix.EBADF:
		return v3.ErrBadHandle
	case unix.ENOTEMPTY:
		return v3.ErrNotEmpty
	case unix.ENAMETOOLONG:
		return v3.ErrNameTooLong
	case unix.ESTALE:
		return v3.ErrStale
	case unix.EDQUOT:
		return v3.ErrDQuot
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN:
		return v3.ErrJukebox
	case unix.EPERM, unix.ENOENT, unix.ENXIO, unix.EACCES, unix.EEXIST, unix.EXDEV, unix.ENODEV,
		unix.ENOTDIR, unix.EISDIR, unix.EINVAL, unix.EFBIG, unix.ENOSPC, unix.EROFS, unix.EMLINK:
		return v3.Status(e) // the protocol uses the numbers of Unix
	}
	return v3.ErrIO
}

// replyHeadBytes is the size of a READ reply before its data: record mark and header, status, attributes with their
// flag, count, end of file, length.
const replyHeadBytes = acceptedBytes + 4 + 4 + 84 + 4 + 4 + 4

func (w *worker) read() v3.Status {
	var a v3.ReadArgs
	if a.Code(&w.args); w.garbage() {
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

// readFrom appends the whole successful reply, or nothing. It reads the data behind the place of the head, so that
// the head has the real count and one write sends both.
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
	if a.Code(&w.args); w.garbage() {
		return v3.OK
	}
	srv := w.conn.srv
	// Read the verifier first: data written before its change must not seem newer.
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

// suspect changes the write verifier if the disk lost data: the kernel reports a failed write-back only once, and
// other clients must resend their data, too.
func (s *Server) suspect(status v3.Status) {
	if status == v3.ErrIO {
		s.verifier.Add(1)
	}
}

func (w *worker) create(a *v3.CreateArgs) v3.Status {
	return w.make(a.Where.Dir, func(dir *filetree.Node) (*filetree.Node, error) { return w.createFile(dir, a) })
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
	// A new file has the server's owner and mode. For an existing file only the length changes, as with O_TRUNC of
	// open(2).
	set := v3.NewAttr{Size: a.Attr.Size}
	if made {
		set.Atime, set.Mtime = a.Attr.Atime, a.Attr.Mtime
	}
	return n, tree.SetAttr(n, set)
}

func (w *worker) mkdir(a *v3.MkdirArgs) v3.Status {
	return w.make(a.Where.Dir, func(dir *filetree.Node) (*filetree.Node, error) {
		n, _, err := w.conn.srv.tree.Mkdir(dir, a.Where.Name, a.Attr.Mode.Or(0o755))
		return n, err
	})
}

// make is the common part of CREATE and MKDIR.
func (w *worker) make(handle []byte, entry func(dir *filetree.Node) (*filetree.Node, error)) v3.Status {
	dir, status := w.node(handle)
	var res v3.CreateRes
	if status == v3.OK {
		n, err := entry(dir)
		if status = statusOf(err); err == nil {
			h := n.Handle()
			res.HandlePresent, res.Handle, res.Attr = true, h[:], w.attrs(n)
		}
	}
	res.Status, res.Dir = status, w.after(dir)
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

// maxListing bounds one READDIR or READDIRPLUS reply, even if the client allows more.
const maxListing = 32 << 10

// list executes READDIR and, with plus, READDIRPLUS.
func (w *worker) list(plus bool) v3.Status {
	a := v3.ReaddirArgs{Plus: plus}
	if a.Code(&w.args); w.garbage() {
		return v3.OK
	}
	began := len(w.out)
	dir, status := w.node(a.Handle)
	// Cookies stay valid forever, so the verifier is always zero.
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

// appendListing appends entries as long as they fit.
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
