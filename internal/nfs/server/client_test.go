package server_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// running is a server that serves until stop, or the end of the test.
type running struct {
	*server.Server

	dir  string
	stop func() error
}

// start serves a new directory on two loopback addresses. change may alter the options.
func start(tb testing.TB, change ...func(*server.Options)) *running {
	tb.Helper()
	o := server.Options{
		Dir: filepath.Join(tb.TempDir(), "data"), Listen: []string{"127.0.0.1:0", "127.0.0.1:0"},
		Portmap: []string{"127.0.0.1:0"}, Now: time.Now, Name: "test",
	}
	for _, c := range change {
		c(&o)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	s, err := server.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stopped := false
	r := &running{Server: s, dir: o.Dir}
	r.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	tb.Cleanup(func() {
		if err := r.stop(); err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
	return r
}

// client speaks RPC one call at a time, with no help from the client under test elsewhere.
type client struct {
	tb   testing.TB
	conn net.Conn
	in   *rpc.RecordReader
	xid  uint32
	root []byte
}

func dial(tb testing.TB, addr string) *client {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		tb.Fatal(err)
	}
	return &client{tb: tb, conn: conn, in: rpc.NewRecordReader(conn, 8<<20)}
}

// mounted dials and mounts /export.
func mounted(tb testing.TB, addr string) *client {
	tb.Helper()
	c := dial(tb, addr)
	res := c.mnt("/export")
	if res.Status != mount.OK {
		tb.Fatalf("mount: %v", res.Status)
	}
	c.root = append([]byte{}, res.Handle...)
	return c
}

func (c *client) mnt(path string) mount.MntRes {
	c.tb.Helper()
	var res mount.MntRes
	a := mount.PathArgs{Path: path}
	c.ok(mount.Program, mount.ProcMnt, &a, &res)
	return res
}

// nothing is the arguments and the results of NULL.
type nothing struct{}

func (nothing) Code(*xdr.Coder) {}

func (c *client) header(program, version, procedure uint32) rpc.CallHeader {
	c.xid++
	sys := rpc.AuthSys{Machine: "test", UID: 54321, GIDs: []uint32{1, 2}}
	return rpc.CallHeader{XID: c.xid, Program: program, Version: version, Procedure: procedure, Credential: sys.Auth()}
}

// call makes one call and returns the reply's header and a decoder of its results.
func (c *client) call(h rpc.CallHeader, args xdr.Coded) (rpc.ReplyHeader, xdr.Decoder) {
	c.tb.Helper()
	b := xdr.Append(xdr.Append(make([]byte, rpc.RecordMarkBytes), &h), args)
	rpc.PutRecordMark(b, len(b)-rpc.RecordMarkBytes)
	if _, err := c.conn.Write(b); err != nil {
		c.tb.Fatalf("send: %v", err)
	}
	return c.reply()
}

func (c *client) reply() (rpc.ReplyHeader, xdr.Decoder) {
	c.tb.Helper()
	if err := c.in.Next(); err != nil {
		c.tb.Fatalf("receive: %v", err)
	}
	reply, err := c.in.AppendRest(nil)
	if err != nil {
		c.tb.Fatalf("receive: %v", err)
	}
	d := xdr.NewDecoder(reply)
	var h rpc.ReplyHeader
	h.Decode(&d)
	if d.Err() != nil {
		c.tb.Fatalf("decode reply: %v", d.Err())
	}
	return h, d
}

// ok makes a call that must be executed and decodes all of its results.
func (c *client) ok(program, procedure uint32, args, res xdr.Coded) {
	c.tb.Helper()
	h := c.header(program, v3.Version, procedure) // MOUNT and NFS share it
	reply, d := c.call(h, args)
	if reply.XID != h.XID || reply.Err() != nil {
		c.tb.Fatalf("program %d procedure %d: xid %d for %d, %v", program, procedure, reply.XID, h.XID, reply.Err())
	}
	xdr.Decode(&d, res)
	if d.Err() != nil || d.Len() != 0 {
		c.tb.Fatalf("program %d procedure %d: results: %v, %d bytes left over", program, procedure, d.Err(), d.Len())
	}
}

func (c *client) nfs(procedure uint32, args, res xdr.Coded) {
	c.tb.Helper()
	c.ok(v3.Program, procedure, args, res)
}

func (c *client) lookup(dir []byte, name string) v3.LookupRes {
	c.tb.Helper()
	var res v3.LookupRes
	c.nfs(v3.ProcLookup, &v3.NameArgs{Dir: dir, Name: name}, &res)
	return res
}

func (c *client) create(dir []byte, name string) []byte {
	c.tb.Helper()
	var res v3.CreateRes
	c.nfs(v3.ProcCreate, &v3.CreateArgs{Where: v3.NameArgs{Dir: dir, Name: name}}, &res)
	if res.Status != v3.OK {
		c.tb.Fatalf("create %q: %v", name, res.Status)
	}
	return res.Handle
}

func (c *client) mkdir(dir []byte, name string) []byte {
	c.tb.Helper()
	var res v3.CreateRes
	c.nfs(v3.ProcMkdir, &v3.MkdirArgs{Where: v3.NameArgs{Dir: dir, Name: name}}, &res)
	if res.Status != v3.OK {
		c.tb.Fatalf("mkdir %q: %v", name, res.Status)
	}
	return res.Handle
}

func (c *client) write(file []byte, offset uint64, data []byte, stable v3.Stable) v3.WriteRes {
	c.tb.Helper()
	var res v3.WriteRes
	c.nfs(v3.ProcWrite, &v3.WriteArgs{Handle: file, Offset: offset, Count: uint32(len(data)), Stable: stable, Data: data}, &res)
	return res
}

func (c *client) read(file []byte, offset uint64, count uint32) v3.ReadRes {
	c.tb.Helper()
	var res v3.ReadRes
	c.nfs(v3.ProcRead, &v3.ReadArgs{Handle: file, Offset: offset, Count: count}, &res)
	return res
}

func (c *client) getattr(file []byte) v3.GetattrRes {
	c.tb.Helper()
	var res v3.GetattrRes
	c.nfs(v3.ProcGetattr, &v3.HandleArgs{Handle: file}, &res)
	return res
}

func (c *client) fsstat() v3.FsstatRes {
	c.tb.Helper()
	var res v3.FsstatRes
	c.nfs(v3.ProcFsstat, &v3.HandleArgs{Handle: c.root}, &res)
	return res
}
