package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// random returns n bytes that are the same in every run.
func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b) // never fails
	return b
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	s := start(t)
	c, other := mounted(t, s.Addrs()[0]), mounted(t, s.Addrs()[1])
	file := c.create(c.mkdir(c.root, "sub"), "data")
	want := random(3<<20 + 1)
	for off := 0; off < len(want); off += 1 << 20 {
		part := want[off:min(off+1<<20, len(want))]
		if res := c.write(file, uint64(off), part, v3.Unstable); res.Status != v3.OK || int(res.Count) != len(part) || res.Committed != v3.Unstable {
			t.Fatalf("write: %+v", res)
		}
	}
	for _, block := range []uint32{1 << 20, 100_000, 16<<10 - 1, 8192, 777_777} {
		var got []byte
		for eof := false; !eof; {
			res := other.read(file, uint64(len(got)), block)
			if res.Status != v3.OK || int(res.Count) != len(res.Data) || len(res.Data) == 0 {
				t.Fatalf("read %d at %d: %v, count %d, %d bytes", block, len(got), res.Status, res.Count, len(res.Data))
			}
			if !res.Attr.Present || res.Attr.Attr.Size != uint64(len(want)) {
				t.Fatalf("attributes of a read: %+v", res.Attr)
			}
			got, eof = append(got, res.Data...), res.EOF
		}
		if !bytes.Equal(got, want) {
			t.Errorf("blocks of %d bytes: what was read differs", block)
		}
	}
	if res := c.read(file, uint64(len(want)), 10); res.Status != v3.OK || !res.EOF || res.Count != 0 {
		t.Errorf("read behind the end: %+v", res)
	}
	if res := c.read(file, 0, 4<<20); res.Count != 1<<20 || res.EOF {
		t.Errorf("a read beyond rtmax must be shortened, got %d bytes", res.Count)
	}
}

func TestNames(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	a, b := c.mkdir(c.root, "a"), c.mkdir(c.root, "b")
	file := c.create(a, "file")
	var renamed v3.RenameRes
	c.nfs(v3.ProcRename, &v3.RenameArgs{From: v3.NameArgs{Dir: a, Name: "file"}, To: v3.NameArgs{Dir: b, Name: "moved"}}, &renamed)
	if renamed.Status != v3.OK || !renamed.From.After.Present {
		t.Errorf("rename: %+v", renamed)
	}
	if res := c.lookup(b, "moved"); res.Status != v3.OK || !bytes.Equal(res.Handle, file) {
		t.Errorf("the handle must survive the rename: %+v", res)
	}
	if res := c.lookup(a, "file"); res.Status != v3.ErrNoEnt || !res.DirAttr.Present {
		t.Errorf("the old name: %+v", res)
	}
	unlink := func(procedure uint32, dir []byte, name string) v3.Status {
		var res v3.WccRes
		c.nfs(procedure, &v3.NameArgs{Dir: dir, Name: name}, &res)
		return res.Status
	}
	for _, step := range []struct {
		procedure uint32
		dir       []byte
		name      string
		want      v3.Status
	}{
		{v3.ProcRmdir, c.root, "b", v3.ErrNotEmpty},
		{v3.ProcRemove, c.root, "b", v3.Status(21)},
		{v3.ProcRmdir, b, "moved", v3.Status(20)},
		{v3.ProcRemove, b, "moved", v3.OK},
		{v3.ProcRemove, b, "moved", v3.ErrNoEnt},
		{v3.ProcRmdir, c.root, "b", v3.OK},
		{v3.ProcRemove, b, "moved", v3.ErrStale},
		{v3.ProcRemove, file, "x", v3.ErrStale},
		{v3.ProcRemove, []byte("not a handle"), "x", v3.ErrBadHandle},
	} {
		if got := unlink(step.procedure, step.dir, step.name); got != step.want {
			t.Errorf("procedure %d, %q: %v, want %v", step.procedure, step.name, got, step.want)
		}
	}
	if res := c.getattr(file); res.Status != v3.ErrStale {
		t.Errorf("the handle of a removed file: %v", res.Status)
	}
}

func TestCreateModes(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	create := func(a v3.CreateArgs) v3.CreateRes {
		a.Where = v3.NameArgs{Dir: c.root, Name: "file"}
		var res v3.CreateRes
		c.nfs(v3.ProcCreate, &a, &res)
		return res
	}
	first := create(v3.CreateArgs{How: v3.CreateGuarded, Attr: v3.NewAttr{Mode: v3.Opt32{Set: true, Value: 0o640}, UID: v3.Opt32{Set: true, Value: 12345}}})
	if first.Status != v3.OK || first.Attr.Attr.Mode != 0o640 || first.Attr.Attr.UID != uint32(os.Geteuid()) {
		t.Fatalf("create: %+v", first)
	}
	c.write(first.Handle, 0, []byte("content"), v3.FileSync)
	if res := create(v3.CreateArgs{How: v3.CreateGuarded}); res.Status != v3.ErrExist {
		t.Errorf("guarded: %v", res.Status)
	}
	if res := create(v3.CreateArgs{How: v3.CreateExclusive, Verifier: [8]byte{1}}); res.Status != v3.ErrExist {
		t.Errorf("exclusive: %v", res.Status)
	}
	if res := create(v3.CreateArgs{}); res.Status != v3.OK || res.Attr.Attr.Size != 7 {
		t.Errorf("unchecked must keep the content: %+v", res)
	}
	if res := create(v3.CreateArgs{Attr: v3.NewAttr{Size: v3.Opt64{Set: true}}}); res.Status != v3.OK || res.Attr.Attr.Size != 0 {
		t.Errorf("unchecked with size 0 must truncate: %+v", res)
	}
}

func TestSetattr(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	set := func(a v3.SetattrArgs) v3.Status {
		a.Handle = file
		var res v3.WccRes
		c.nfs(v3.ProcSetattr, &a, &res)
		return res.Status
	}
	when := v3.Time{Seconds: 1_000_000_000, Nanoseconds: 5}
	status := set(v3.SetattrArgs{Attr: v3.NewAttr{
		Mode: v3.Opt32{Set: true, Value: 0o600}, Size: v3.Opt64{Set: true, Value: 77},
		Mtime: v3.NewTime{How: v3.TimeClient, Time: when}, Atime: v3.NewTime{How: v3.TimeServer},
	}})
	got := c.getattr(file).Attr
	if status != v3.OK || got.Mode != 0o600 || got.Size != 77 || got.Mtime != when || got.Atime.Seconds < 1_700_000_000 {
		t.Errorf("%v: %+v", status, got)
	}
	if st := set(v3.SetattrArgs{GuardSet: true, GuardCtime: v3.Time{Seconds: 1}, Attr: v3.NewAttr{Size: v3.Opt64{Set: true}}}); st != v3.ErrNotSync {
		t.Errorf("a guard that does not hold: %v", st)
	}
	if st := set(v3.SetattrArgs{GuardSet: true, GuardCtime: c.getattr(file).Attr.Ctime, Attr: v3.NewAttr{Size: v3.Opt64{Set: true}}}); st != v3.OK {
		t.Errorf("a guard that holds: %v", st)
	}
	if st := set(v3.SetattrArgs{Attr: v3.NewAttr{Mtime: v3.NewTime{How: v3.TimeClient, Time: v3.Time{Nanoseconds: 1 << 31}}}}); st != v3.OK {
		t.Errorf("nanoseconds out of range: %v", st)
	}
}

func TestTheSizeIsEnforcedAndReported(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Files = filetree.Options{QuotaBytes: 1 << 20} })
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	if res := c.write(file, 0, make([]byte, 600<<10), v3.Unstable); res.Status != v3.OK {
		t.Fatal(res.Status)
	}
	if res := c.fsstat(); res.TotalBytes != 1<<20 || res.AvailBytes != 424<<10 || res.FreeBytes != 424<<10 {
		t.Errorf("FSSTAT: %+v", res)
	}
	if res := c.write(file, 600<<10, make([]byte, 600<<10), v3.Unstable); res.Status != v3.ErrNoSpc || !res.Wcc.After.Present {
		t.Errorf("write beyond the size: %+v", res)
	}
	if size := c.getattr(file).Attr.Size; size != 600<<10 {
		t.Errorf("the refused write left %d bytes", size)
	}
}

func TestFsinfoAndPathconf(t *testing.T) {
	s := start(t, func(o *server.Options) { o.MaxTransferBytes = 256 << 10 })
	c := mounted(t, s.Addrs()[0])
	var info v3.FsinfoRes
	c.nfs(v3.ProcFsinfo, &v3.HandleArgs{Handle: c.root}, &info)
	if info.Status != v3.OK || info.ReadMax != 256<<10 || info.WriteMax != 256<<10 {
		t.Errorf("FSINFO: %+v", info)
	}
	var conf v3.PathconfRes
	c.nfs(v3.ProcPathconf, &v3.HandleArgs{Handle: c.root}, &conf)
	if conf.Status != v3.OK || conf.NameMax != 255 {
		t.Errorf("PATHCONF: %+v", conf)
	}
	var access v3.AccessRes
	c.nfs(v3.ProcAccess, &v3.AccessArgs{Handle: c.root, Access: 0x3f}, &access)
	if want := uint32(v3.AccessRead | v3.AccessLookup | v3.AccessModify | v3.AccessExtend | v3.AccessDelete); access.Access != want {
		t.Errorf("ACCESS of a directory: %#x, want %#x", access.Access, want)
	}
}

func TestARestartChangesTheWriteVerifierAndKeepsHandles(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	commit := func(c *client) [8]byte {
		var res v3.CommitRes
		c.nfs(v3.ProcCommit, &v3.CommitArgs{Handle: file}, &res)
		if res.Status != v3.OK {
			t.Fatalf("commit: %v", res.Status)
		}
		return res.Verifier
	}
	first := c.write(file, 0, []byte("x"), v3.Unstable).Verifier
	if commit(c) != first {
		t.Error("COMMIT and WRITE must answer the same verifier")
	}
	s.ChangeWriteVerifier()
	second := commit(c)
	if second == first {
		t.Error("the verifier did not change on demand")
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, func(o *server.Options) { o.Dir = s.dir })
	c = mounted(t, again.Addrs()[0])
	if third := commit(c); third == first || third == second {
		t.Error("the verifier did not change with the restart")
	}
	if res := c.read(file, 0, 10); res.Status != v3.OK || string(res.Data) != "x" {
		t.Errorf("the handle must survive the restart: %+v", res)
	}
}

func TestRequestsOfOneConnectionRunTogether(t *testing.T) {
	s := start(t, func(o *server.Options) { o.MaxInFlight, o.MaxBuffers = 4, 2 })
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "data")
	const block, blocks = 64 << 10, 200
	want := random(block * blocks)
	for i := range blocks {
		if res := c.write(file, uint64(i*block), want[i*block:][:block], v3.Unstable); res.Status != v3.OK {
			t.Fatal(res.Status)
		}
	}
	sent := map[uint32]int{}
	var out []byte
	for i := range blocks {
		h := c.header(v3.Program, v3.Version, v3.ProcRead)
		sent[h.XID] = i
		a := v3.ReadArgs{Handle: file, Offset: uint64(i * block), Count: block}
		body := xdr.Append(xdr.Append(nil, &h), &a)
		out = append(rpc.AppendRecordMark(out, len(body)), body...)
	}
	if _, err := c.conn.Write(out); err != nil {
		t.Fatal(err)
	}
	for range blocks {
		h, d := c.reply()
		i, ok := sent[h.XID]
		if !ok {
			t.Fatalf("a second reply to %d", h.XID)
		}
		delete(sent, h.XID)
		var res v3.ReadRes
		xdr.Decode(&d, &res)
		if !bytes.Equal(res.Data, want[i*block:][:block]) {
			t.Fatalf("block %d differs", i)
		}
	}
}

func TestShutdownClosesIdleConnectionsAtOnce(t *testing.T) {
	s := start(t, func(o *server.Options) { o.DrainTimeout = time.Hour })
	c := mounted(t, s.Addrs()[0])
	idle := mounted(t, s.Addrs()[1])
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{c, idle} {
		if err := c.in.Next(); err == nil {
			t.Error("the connection is still open")
		}
	}
	if _, err := server.New(server.Options{Dir: s.dir, Listen: s.Addrs(), Now: nil}); err == nil {
		t.Error("options without a clock must be refused")
	}
}

func TestCountersByAddress(t *testing.T) {
	s := start(t)
	first, second := mounted(t, s.Addrs()[0]), mounted(t, s.Addrs()[1])
	file := first.create(first.root, "file")
	first.write(file, 0, make([]byte, 1000), v3.Unstable)
	second.read(file, 0, 600)
	second.lookup(second.root, "nothing")

	rec := httptest.NewRecorder()
	s.Counters().Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/counters", nil))
	var doc counters.Document
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Listeners) != 2 || doc.Listeners[0].Address != s.Addrs()[0] {
		t.Fatalf("listeners: %+v", doc.Listeners)
	}
	a, b := doc.Listeners[0], doc.Listeners[1]
	if a.WrittenBytes != 1000 || a.WriteOps != 1 || a.ReadOps != 0 || a.Operations["CREATE"] != 1 || a.ConnectionsActive != 1 {
		t.Errorf("first address: %+v", a)
	}
	if b.ReadBytes != 600 || b.ReadOps != 1 || b.NFSErrors != 1 || b.OtherOps != 1 {
		t.Errorf("second address: %+v", b)
	}
	if doc.Total.ReadBytes != 600 || doc.Total.WrittenBytes != 1000 || doc.Total.Operations["READ"] != 1 {
		t.Errorf("total: %+v", doc.Total)
	}
	rec = httptest.NewRecorder()
	s.Counters().Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if want := fmt.Sprintf("nfsbench_server_bytes_total{direction=\"read\",listener=%q} 600", s.Addrs()[1]); !strings.Contains(rec.Body.String(), want) {
		t.Errorf("metrics lack %s", want)
	}
}

func TestReadinessFollowsServing(t *testing.T) {
	s := start(t)
	mounted(t, s.Addrs()[0])
	status := func(path string) int {
		rec := httptest.NewRecorder()
		s.Counters().Handler().ServeHTTP(rec, httptest.NewRequestWithContext(context.Background(), "GET", path, nil)) //nolint:usetesting // asked after the end, too
		return rec.Code
	}
	if status("/readyz") != 200 || status("/healthz") != 200 {
		t.Error("a server that serves must be ready")
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if status("/readyz") != 503 {
		t.Error("a server that stopped must not be ready")
	}
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	s := start(t, func(o *server.Options) { o.MaxConnections = 1 })
	c := mounted(t, s.Addrs()[0])
	if err := dial(t, s.Addrs()[0]).in.Next(); err == nil {
		t.Error("the second connection must be closed")
	}
	mounted(t, s.Addrs()[1])
	c.getattr(c.root)
	if d := s.Counters().Document(); d.Total.ConnectionsRefused != 1 || d.Total.ConnectionsActive != 2 {
		t.Errorf("counters: %+v", d.Total)
	}
}

func TestAWriteWhoseLengthsDisagreeIsRefused(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	var res v3.WriteRes
	c.nfs(v3.ProcWrite, &v3.WriteArgs{Handle: file, Count: 5, Data: []byte("abc")}, &res)
	if res.Status != v3.ErrInval || res.Wcc.After.Attr.Size != 0 {
		t.Errorf("write: %+v", res)
	}
}

func TestReadRepliesAreCompleteForEveryLength(t *testing.T) {
	// READ replies are laid out by hand; the padding is where that could go wrong.
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	file := c.create(c.root, "file")
	c.write(file, 0, random(100_000), v3.Unstable)
	for _, count := range []uint32{0, 1, 2, 3, 4, 5, 16383, 16384, 99_999, 100_000} {
		reply, d := c.call(c.header(v3.Program, v3.Version, v3.ProcRead), &v3.ReadArgs{Handle: file, Count: count})
		var res v3.ReadRes
		xdr.Decode(&d, &res)
		if reply.Err() != nil || d.Err() != nil || d.Len() != 0 || len(res.Data) != int(count) {
			t.Errorf("count %d: %v, %v, %d bytes left over, %d of data", count, reply.Err(), d.Err(), d.Len(), len(res.Data))
		}
	}
}
