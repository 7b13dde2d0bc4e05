package server

import (
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

// procedureNames lists the procedures by number, for the counters.
func procedureNames() []string {
	table := procedures()
	names := make([]string, 0, len(table))
	for _, p := range table {
		names = append(names, p.name)
	}
	return names
}

// procedures is the table of RFC 1813 section 3. Those without a function are not
// supported: an Oracle file system and a benchmark have no use for them.
func procedures() [v3.ProcCommit + 1]procedure {
	return [...]procedure{
		v3.ProcNull:        {"NULL", func(*worker) v3.Status { return v3.OK }},
		v3.ProcGetattr:     {"GETATTR", (*worker).getattr},
		v3.ProcSetattr:     {"SETATTR", (*worker).setattr},
		v3.ProcLookup:      {"LOOKUP", (*worker).lookup},
		v3.ProcAccess:      {"ACCESS", (*worker).access},
		v3.ProcReadlink:    {"READLINK", nil},
		v3.ProcRead:        {"READ", (*worker).read},
		v3.ProcWrite:       {"WRITE", (*worker).write},
		v3.ProcCreate:      {"CREATE", (*worker).create},
		v3.ProcMkdir:       {"MKDIR", (*worker).mkdir},
		v3.ProcSymlink:     {"SYMLINK", nil},
		v3.ProcMknod:       {"MKNOD", nil},
		v3.ProcRemove:      {"REMOVE", (*worker).remove},
		v3.ProcRmdir:       {"RMDIR", (*worker).rmdir},
		v3.ProcRename:      {"RENAME", (*worker).rename},
		v3.ProcLink:        {"LINK", nil},
		v3.ProcReaddir:     {"READDIR", (*worker).readdir},
		v3.ProcReaddirplus: {"READDIRPLUS", (*worker).readdirplus},
		v3.ProcFsstat:      {"FSSTAT", (*worker).fsstat},
		v3.ProcFsinfo:      {"FSINFO", (*worker).fsinfo},
		v3.ProcPathconf:    {"PATHCONF", (*worker).pathconf},
		v3.ProcCommit:      {"COMMIT", (*worker).commit},
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
		counts.NFSError()
		w.unsupported(number)
		return rpc.AcceptSuccess
	}
	status := p.run(w)
	if w.garbage() {
		return rpc.AcceptGarbageArgs
	}
	counts.Operation(number)
	if status != v3.OK {
		counts.NFSError()
	}
	return rpc.AcceptSuccess
}

// unsupported answers NFS3ERR_NOTSUPP with as many absent attributes as the procedure's
// failure results have: one for READLINK, wcc_data for SYMLINK and MKNOD, both for LINK.
func (w *worker) unsupported(number uint32) {
	w.out = xdr.AppendUint32(w.out, uint32(v3.ErrNotSupp))
	absent := map[uint32]int{v3.ProcReadlink: 1, v3.ProcSymlink: 2, v3.ProcMknod: 2, v3.ProcLink: 3}[number]
	for range absent {
		w.out = xdr.AppendBool(w.out, false)
	}
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

func (w *worker) present(a filetree.Attr) v3.OptAttr {
	return v3.OptAttr{Present: true, Attr: wireAttr(a, w.conn.srv.fsid)}
}

func (w *worker) after(n *filetree.Node) v3.Wcc { return v3.Wcc{After: w.attrs(n)} }
