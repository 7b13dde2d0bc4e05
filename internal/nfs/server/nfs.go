package server

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// procedure is one NFSv3 procedure. run decodes the arguments, appends the results and
// returns their status; it appends nothing when the arguments are garbage.
type procedure struct {
	name string
	run  func(*worker) v3.Status
}

// procedures is the table of RFC 1813 section 3. Those without a function are not
// supported: an Oracle file system and a benchmark have no use for them.
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
		// What follows a failure are absent attributes: one for READLINK, wcc_data for
		// SYMLINK and MKNOD, both for LINK.
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

// with makes a procedure of a function that is given the arguments.
func with[A any, P interface {
	*A
	xdr.Coded
}](run func(*worker, P) v3.Status) func(*worker) v3.Status {
	return func(w *worker) v3.Status {
		args := P(new(A))
		if w.decode(args); w.garbage() {
			return v3.OK
		}
		return run(w, args)
	}
}

// decode reads the arguments of the call; garbage says whether that worked.
func (w *worker) decode(args xdr.Coded) { xdr.Decode(&w.args, args) }

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

// attrs are the attributes after an operation; absent when they can not be read.
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

// statusOf translates an error of the file tree. What has no NFS name is an I/O error;
// what passes by itself asks the client to come again.
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
		return v3.Status(e) // the protocol took these numbers from Unix
	}
	return v3.ErrIO
}
