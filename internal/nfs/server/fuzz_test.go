package server_test

import (
	"io"
	"net"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// served is what one connection may cost a server, whatever it sends: the reader,
// a worker with a reply buffer for each request under way, and the lent buffers
// for large requests and replies of up to 64 KiB.
const served = 16 << 20

func fuzzed(f *testing.F) (*running, *client, []byte) {
	f.Helper()
	s := start(f, func(o *server.Options) {
		o.Files.QuotaBytes, o.Files.MaxEntries, o.MaxTransferBytes = 1<<20, 1000, 64<<10
	})
	c := mounted(f, s.Addrs()[0])
	file := c.create(c.root, "file")
	c.write(file, 0, make([]byte, 5000), v3.Unstable)
	return s, c, file
}

// requests are one good call of each kind.
func requests(c *client, file []byte) [][]byte {
	var all [][]byte
	add := func(program, version, procedure uint32, args xdr.Coded) {
		h := c.header(program, version, procedure)
		all = append(all, xdr.Append(xdr.Append(nil, &h), args))
	}
	where := v3.NameArgs{Dir: c.root, Name: "x"}
	add(v3.Program, 3, v3.ProcNull, nothing{})
	add(v3.Program, 3, v3.ProcRead, &v3.ReadArgs{Handle: file, Offset: 1, Count: 4096})
	add(v3.Program, 3, v3.ProcWrite, &v3.WriteArgs{Handle: file, Count: 3, Data: []byte("abc")})
	add(v3.Program, 3, v3.ProcCommit, &v3.CommitArgs{Handle: file})
	add(v3.Program, 3, v3.ProcLookup, &where)
	add(v3.Program, 3, v3.ProcAccess, &v3.AccessArgs{Handle: file, Access: 63})
	add(v3.Program, 3, v3.ProcFsstat, &v3.HandleArgs{Handle: c.root})
	add(v3.Program, 3, v3.ProcCreate, &v3.CreateArgs{Where: where})
	add(v3.Program, 3, v3.ProcCreate, &v3.CreateArgs{Where: where, How: v3.CreateExclusive})
	add(v3.Program, 3, v3.ProcMkdir, &v3.MkdirArgs{Where: where})
	add(v3.Program, 3, v3.ProcRemove, &where)
	add(v3.Program, 3, v3.ProcRename, &v3.RenameArgs{From: where, To: where})
	add(v3.Program, 3, v3.ProcSetattr, &v3.SetattrArgs{Handle: file, Attr: v3.NewAttr{Size: v3.Opt64{Set: true, Value: 9}}})
	add(v3.Program, 3, v3.ProcReaddirplus, &v3.ReaddirArgs{Plus: true, Handle: c.root, MaxCount: 4096})
	add(mount.Program, 3, mount.ProcMnt, &mount.PathArgs{Path: "/export/x"})
	add(mount.Program, 3, mount.ProcExport, nothing{})
	add(mount.PortmapProgram, 2, mount.PortmapProcGetport, &mount.Mapping{Program: v3.Program})
	return all
}

// FuzzServeRecord feeds one record to a server and expects it to live on.
func FuzzServeRecord(f *testing.F) {
	s, c, file := fuzzed(f)
	for _, r := range requests(c, file) {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		out := append(rpc.AppendRecordMark(nil, len(record)), record...)
		memory.Bound(t, served+8*len(record), func() { feed(t, s, out) })
	})
}

// FuzzServeStream feeds a whole stream to a server: marks, fragments and several
// requests, good and bad. Clients on other connections are served meanwhile.
func FuzzServeStream(f *testing.F) {
	s, c, file := fuzzed(f)
	var all []byte
	for _, r := range requests(c, file) {
		one := append(rpc.AppendRecordMark(nil, len(r)), r...)
		f.Add(one)
		all = append(all, one...)
		half := len(r) / 2
		f.Add(append(append([]byte{0, 0, 0, byte(half)}, r[:half]...), append(rpc.AppendRecordMark(nil, len(r)-half), r[half:]...)...))
	}
	f.Add(all)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add(make([]byte, 4096))
	f.Fuzz(func(t *testing.T, stream []byte) {
		memory.Bound(t, served+8*len(stream), func() { feed(t, s, stream) })
		c.tb = t
		if res := c.getattr(c.root); res.Status != v3.OK {
			t.Fatalf("another client gets %v", res.Status)
		}
	})
}

// feed sends a stream on a connection of its own and waits for its end.
func feed(t *testing.T, s *running, stream []byte) {
	t.Helper()
	d := dial(t, s.Addrs()[1])
	if _, err := d.conn.Write(stream); err != nil {
		return // closed before all was sent
	}
	if tcp, ok := d.conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // so that the server ends the connection after its reply
	}
	if _, err := io.Copy(io.Discard, d.conn); err != nil && !isReset(err) {
		t.Fatalf("no end after %d bytes: %v", len(stream), err)
	}
}
