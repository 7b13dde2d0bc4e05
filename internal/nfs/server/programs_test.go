package server_test

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func TestGetportAnswersTheAdvertisedPort(t *testing.T) {
	advertised := start(t, func(o *server.Options) { o.AdvertisePort = 2049 })
	plain := start(t)
	cases := map[string]struct {
		addr          string
		program, vers uint32
		protocol      uint32
		want          string
	}{
		"advertised":             {advertised.PortmapAddrs()[0], v3.Program, 3, mount.ProtocolTCP, "2049"},
		"mount, too":             {advertised.Addrs()[0], mount.Program, 3, mount.ProtocolTCP, "2049"},
		"the port that is asked": {plain.Addrs()[1], v3.Program, 3, mount.ProtocolTCP, port(plain.Addrs()[1])},
		"first port by portmap":  {plain.PortmapAddrs()[0], v3.Program, 3, mount.ProtocolTCP, port(plain.Addrs()[0])},
		"no NFSv4":               {plain.Addrs()[0], v3.Program, 4, mount.ProtocolTCP, "0"},
		"no UDP":                 {plain.Addrs()[0], v3.Program, 3, 17, "0"},
		"no lock manager":        {plain.Addrs()[0], 100021, 4, mount.ProtocolTCP, "0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := dial(t, tc.addr)
			m := mount.Mapping{Program: tc.program, Version: tc.vers, Protocol: tc.protocol}
			reply, d := c.call(c.header(mount.PortmapProgram, mount.PortmapVersion, mount.PortmapProcGetport), &m)
			if got := strconv.Itoa(int(d.Uint32())); reply.Err() != nil || got != tc.want {
				t.Errorf("got %s, want %s (%v)", got, tc.want, reply.Err())
			}
		})
	}
	c := dial(t, plain.PortmapAddrs()[0])
	reply, _ := c.call(c.header(v3.Program, v3.Version, v3.ProcNull), nothing{})
	if reply.Accept != rpc.AcceptProgramUnavail {
		t.Errorf("a portmap address must not serve NFS: %+v", reply)
	}
}

func TestGetaddrAnswersTheUniversalAddress(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.Listen, o.Portmap, o.AdvertisePort = []string{loopback6(t)}, []string{"127.0.0.1:0"}, 2049
	})
	for name, tc := range map[string]struct {
		addr, netid   string
		program, vers uint32
		asked         uint32
		want          string
	}{
		"NFS":             {s.Addrs()[0], "tcp6", v3.Program, 3, 4, "::1.8.1"},
		"MOUNT":           {s.Addrs()[0], "tcp6", mount.Program, 3, 3, "::1.8.1"},
		"no NFSv4":        {s.Addrs()[0], "tcp6", v3.Program, 4, 4, ""},
		"no UDP":          {s.Addrs()[0], "udp6", v3.Program, 3, 4, ""},
		"IPv4 over IPv6":  {s.Addrs()[0], "tcp", v3.Program, 3, 4, ""},
		"IPv4 over IPv4":  {s.PortmapAddrs()[0], "tcp", v3.Program, 3, 4, "127.0.0.1.8.1"},
		"no lock manager": {s.Addrs()[0], "tcp6", 100021, 4, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, tc.addr)
			b := mount.Binding{Program: tc.program, Version: tc.vers, NetID: tc.netid}
			reply, d := c.call(c.header(mount.PortmapProgram, tc.asked, mount.RPCBindProcGetaddr), &b)
			if got := d.String(64); reply.Err() != nil || got != tc.want {
				t.Errorf("got %q, want %q (%v)", got, tc.want, reply.Err())
			}
		})
	}
	c := dial(t, s.Addrs()[0])
	reply, _ := c.call(c.header(mount.PortmapProgram, 5, 0), nothing{})
	if reply.Accept != rpc.AcceptProgramMismatch || reply.Low != 2 || reply.High != 4 {
		t.Errorf("version 5 is answered with %+v, want versions 2 to 4", reply)
	}
}

// loopback6 is a free port of ::1, where the machine has IPv6.
func loopback6(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		tb.Skipf("this machine has no IPv6: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestTheClientOfThisProjectMountsOverIPv6(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Listen, o.Portmap = []string{loopback6(t)}, nil })
	at, err := netip.ParseAddrPort(s.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := nfs.Dial(t.Context(), nfs.Config{
		Channels: []nfs.Channel{{Path: "::1"}, {Path: "::1", Local: "::1"}},
		Export:   "/export", PortmapPort: int(at.Port()), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	f, err := c.Create(t.Context(), c.Root(), "data", 0o600, true)
	if err != nil {
		t.Fatal(err)
	}
	want, got := random(4<<20), make([]byte, 4<<20)
	if _, err := f.WriteAt(t.Context(), want, 0, nfs.FileSync); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %v, or other bytes than were written", err)
	}
	for _, ch := range c.Channels() {
		if ch.BytesRead == 0 || ch.BytesWritten == 0 {
			t.Errorf("channel to %s moved nothing: %+v", ch.Path, ch)
		}
	}
}

func TestMountAdmitsTheExportAndWhatIsBelow(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	sub := c.mkdir(c.mkdir(c.root, "a"), "b")
	c.create(c.root, "file")
	c.mkdir(c.root, "s") // "/exports" must not be read as "/export/s"
	if err := os.Symlink("/", filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if res := c.mnt("/export//a/b/"); res.Status != mount.OK || !bytes.Equal(res.Handle, sub) {
		t.Errorf("a directory below the export: %+v", res)
	}
	if res := c.mnt("/export"); !slices.Equal(res.Flavors, []uint32{1, 0}) {
		t.Errorf("flavors: %v", res.Flavors)
	}
	for path, want := range map[string]mount.Status{
		"/": mount.ErrNoEnt, "/exports": mount.ErrNoEnt, "/export/../etc": mount.ErrNoEnt, "/etc": mount.ErrNoEnt,
		"/export/nowhere": mount.ErrNoEnt, "/export/file": mount.ErrNotDir, "/export/link/etc": mount.ErrNotDir,
	} {
		if res := c.mnt(path); res.Status != want {
			t.Errorf("%s: %v, want %v", path, res.Status, want)
		}
	}
	var list mount.ExportRes
	c.ok(mount.Program, mount.ProcExport, nothing{}, &list)
	if len(list.Exports) != 1 || list.Exports[0].Path != "/export" {
		t.Errorf("exports: %+v", list)
	}
	c.ok(mount.Program, mount.ProcUmnt, &mount.PathArgs{Path: "/export"}, nothing{})
}

func TestCallsThatAreNotExecutedAreRefusedInWords(t *testing.T) {
	s := start(t)
	sys := func(body []byte) rpc.Auth { return rpc.Auth{Flavor: rpc.FlavorSys, Body: body} }
	cases := map[string]struct {
		change func(*rpc.CallHeader)
		want   rpc.RefusedError
	}{
		"other program":   {func(h *rpc.CallHeader) { h.Program = 100021 }, rpc.RefusedError{Accept: rpc.AcceptProgramUnavail}},
		"NFSv4":           {func(h *rpc.CallHeader) { h.Version = 4 }, rpc.RefusedError{Accept: rpc.AcceptProgramMismatch, Low: 3, High: 3}},
		"other procedure": {func(h *rpc.CallHeader) { h.Procedure = 22 }, rpc.RefusedError{Accept: rpc.AcceptProcUnavail}},
		"huge procedure":  {func(h *rpc.CallHeader) { h.Procedure = 1 << 31 }, rpc.RefusedError{Accept: rpc.AcceptProcUnavail}},
		"no arguments":    {func(h *rpc.CallHeader) { h.Procedure = v3.ProcRead }, rpc.RefusedError{Accept: rpc.AcceptGarbageArgs}},
		"Kerberos":        {func(h *rpc.CallHeader) { h.Credential.Flavor = 6 /* RPCSEC_GSS, RFC 2203 */ }, rpc.RefusedError{Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthBadCred}},
		"torn credential": {func(h *rpc.CallHeader) { h.Credential = sys([]byte{0, 0, 0, 1}) }, rpc.RefusedError{Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthBadCred}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s.Addrs()[0])
			h := c.header(v3.Program, v3.Version, v3.ProcNull)
			tc.change(&h)
			reply, _ := c.call(h, nothing{})
			if got, ok := reply.Err().(*rpc.RefusedError); !ok || *got != tc.want { //nolint:errorlint // made a line above, not wrapped
				t.Errorf("got %+v, want %+v", reply.Err(), tc.want)
			}
			// The connection is good for the next call.
			h = c.header(v3.Program, v3.Version, v3.ProcNull)
			h.Credential = rpc.Auth{}
			if reply, _ := c.call(h, nothing{}); reply.Err() != nil {
				t.Errorf("NULL with AUTH_NONE afterwards: %v", reply.Err())
			}
		})
	}
}

func TestProceduresThatAreLeftOutSayNotSupported(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	for procedure, words := range map[uint32]int{v3.ProcReadlink: 1, v3.ProcSymlink: 2, v3.ProcMknod: 2, v3.ProcLink: 3} {
		reply, d := c.call(c.header(v3.Program, v3.Version, procedure), &v3.HandleArgs{Handle: c.root})
		if status := v3.Status(d.Uint32()); reply.Err() != nil || status != v3.ErrNotSupp || d.Len() != 4*words {
			t.Errorf("procedure %d: %v, %v, %d bytes more", procedure, reply.Err(), status, d.Len())
		}
	}
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
