package nfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// start serves on the addresses and mounts over all of them.
func start(tb testing.TB, s *faulty.Server, change func(*Config), addresses ...string) *Client {
	tb.Helper()
	if len(addresses) == 0 {
		addresses = []string{"127.0.0.1"}
	}
	s.Start(tb, addresses...)
	c, err := Dial(tb.Context(), config(s, change, addresses...))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

func config(s *faulty.Server, change func(*Config), addresses ...string) Config {
	cfg := Config{
		Export: "/export", NFSPort: s.Port(), MountPort: s.Port(), Now: time.Now, CallTimeout: time.Hour, MountTimeout: time.Hour,
	}
	for _, a := range addresses {
		cfg.Channels = append(cfg.Channels, Channel{Path: a})
	}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(p)
	return p
}

func TestReadAtDeliversTheFile(t *testing.T) {
	content := randomBytes(300_001)
	for name, tc := range map[string]struct {
		reason      string
		short       uint32
		maxTransfer int
		off, n      int
		want        int
		err         error
	}{
		"whole blocks":      {"the plain case", 0, 0, 4096, 8192, 8192, nil},
		"odd size":          {"XDR pads what is no multiple of four", 0, 0, 3, 4097, 4097, nil},
		"short replies":     {"a server may give less than was asked for", 1000, 0, 7, 20_000, 20_000, nil},
		"larger than rtmax": {"the client splits and keeps the order", 0, 4096, 5, 200_000, 200_000, nil},
		"to the exact end":  {"a full buffer is no EOF", 0, 0, 299_001, 1000, 1000, nil},
		"beyond the end":    {"io.ReaderAt wants EOF with a short count", 0, 0, 300_000, 1000, 1, io.EOF},
		"split at the end":  {"parts behind the end must not count", 0, 4096, 290_000, 40_000, 10_001, io.EOF},
		"nothing there":     {"far behind the end", 0, 0, 400_000, 10, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			s := &faulty.Server{Short: func(faulty.Call) uint32 { return tc.short }, MaxTransfer: tc.maxTransfer}
			c := start(t, s, nil)
			f := c.OpenFile(FileHandle(s.AddFile("data", content)))
			p := make([]byte, tc.n)
			n, err := f.ReadAt(t.Context(), p, int64(tc.off))
			if n != tc.want || !errors.Is(err, tc.err) {
				t.Fatalf("ReadAt = %d, %v; want %d, %v (%s)", n, err, tc.want, tc.err, tc.reason)
			}
			if n > 0 && !bytes.Equal(p[:n], content[tc.off:tc.off+n]) {
				t.Fatalf("content differs: %s", tc.reason)
			}
		})
	}
}

func TestWriteAtDeliversTheFile(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		short          uint32
		maxTransfer, n int
	}{
		"one write":     {"the plain case", 0, 0, 8192},
		"odd size":      {"padding follows the bulk data", 0, 0, 8191},
		"short replies": {"a server may take less than was sent", 999, 0, 10_000},
		"split":         {"larger than wtmax", 0, 4096, 100_003},
		"nothing":       {"no call is made for no bytes", 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &faulty.Server{Short: func(faulty.Call) uint32 { return tc.short }, MaxTransfer: tc.maxTransfer}
			c := start(t, s, nil)
			f := c.OpenFile(FileHandle(s.AddFile("data", nil)))
			p := randomBytes(tc.n)
			n, err := f.WriteAt(t.Context(), p, 0, FileSync)
			if n != tc.n || err != nil {
				t.Fatalf("WriteAt = %d, %v (%s)", n, err, tc.reason)
			}
			if !bytes.Equal(s.Content("data"), p) {
				t.Fatalf("content differs: %s", tc.reason)
			}
		})
	}
}

func TestNamesComeAndGo(t *testing.T) {
	ctx := t.Context()
	c := start(t, &faulty.Server{}, nil)
	f, err := c.Create(ctx, c.Root(), "a", 0o600, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(ctx, c.Root(), "a", 0o600, true); !IsExist(err) {
		t.Errorf("a second exclusive create: %v, want that the name exists", err)
	}
	if got, err := c.Lookup(ctx, c.Root(), "a"); err != nil || got != f.Handle() {
		t.Errorf("Lookup = %q, %v; want %q", got, err, f.Handle())
	}
	entries, err := c.ReadDir(ctx, c.Root())
	if err != nil || len(entries) != 1 || entries[0] != "a" {
		t.Errorf("ReadDir = %v, %v; want the one name", entries, err)
	}
	if err := c.Remove(ctx, c.Root(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := c.Lookup(ctx, c.Root(), "a"); !IsNotExist(err) || !strings.Contains(err.Error(), "NFS3ERR_NOENT") {
		t.Errorf("lookup of a removed name: %v, want NFS3ERR_NOENT", err)
	}
	if _, err := c.Getattr(ctx, f.Handle()); !IsStale(err) {
		t.Errorf("attributes of a removed file: %v, want a stale handle", err)
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Config)
		want   []string
	}{
		"denied": {
			"the operator of the storage must know whom to admit",
			func(c *Config) { c.Export = "/denied" },
			[]string{"export policy", "127.0.0.1", "MNT3ERR_ACCES"},
		},
		"no such export": {
			"a wrong path is the commonest mistake",
			func(c *Config) { c.Export = "/nope" },
			[]string{`"/nope"`, "127.0.0.1", "no such export"},
		},
		"nobody listens": {
			"each address is named",
			func(c *Config) { c.Channels = []Channel{{Path: "127.0.0.3"}, {Path: "127.0.0.4"}} },
			[]string{"127.0.0.3", "127.0.0.4", "nothing listens"},
		},
		"local address missing": {
			"the kernel's text does not say which address it means",
			func(c *Config) { c.Channels[0].Local = "198.51.100.7" },
			[]string{"198.51.100.7", "does not exist on this host"},
		},
		"two IP versions": {
			"the text of the library names neither address",
			func(c *Config) { c.Channels[0].Local = "::1" },
			[]string{"::1", "127.0.0.1", "one IP version"},
		},
		"relative export": {"", func(c *Config) { c.Export = "data" }, []string{"absolute"}},
		"no portmapper": {
			"MOUNT is tried on the NFS port, where this server has it, so it must work",
			func(c *Config) { c.MountPort, c.PortmapPort, c.Export = 0, 1, "/nope" },
			[]string{"portmapper cannot be asked", "no such export"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &faulty.Server{}
			s.Start(t, "127.0.0.1")
			c, err := Dial(t.Context(), config(s, tc.change, "127.0.0.1"))
			if err == nil {
				_ = c.Close()
				t.Fatal("Dial succeeded")
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not contain %q: %s", err, w, tc.reason)
				}
			}
		})
	}
}

func TestAnExportThatWantsKerberosIsRefused(t *testing.T) {
	s := &faulty.Server{Rewrite: func(c faulty.Call, reply []byte) ([]byte, bool) {
		if c.Program == mount.Program {
			res := mount.MntRes{Handle: []byte("root"), Flavors: []uint32{390003, 390004}}
			reply = xdr.Append(reply[:rpc.RecordMarkBytes+24], &res)
			rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
		}
		return reply, true
	}}
	s.Start(t, "127.0.0.1")
	_, err := Dial(t.Context(), config(s, nil, "127.0.0.1"))
	if err == nil || !strings.Contains(err.Error(), "390003") || !strings.Contains(err.Error(), "only sys") {
		t.Errorf("Dial = %v, want that only sys is spoken", err)
	}
}

func TestARefusedMountIsFinalAndKeepsItsStatus(t *testing.T) {
	var mounts atomic.Int64
	s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
		if c.Program == mount.Program && c.Procedure == mount.ProcMnt {
			mounts.Add(1)
		}
		return faulty.Answer
	}}
	s.Start(t, "127.0.0.1", "127.0.0.2")
	_, err := Dial(t.Context(), config(s, func(c *Config) { c.Export = "/denied" }, "127.0.0.1", "127.0.0.2"))
	if !errors.Is(err, mount.ErrAcces) {
		t.Errorf("error %v does not wrap mount.ErrAcces", err)
	}
	if n := mounts.Load(); n != 1 {
		t.Errorf("%d requests to mount, want one: the other path leads to the same server", n)
	}
}

func TestAPortAboveTheReservedOnesIsNamed(t *testing.T) {
	if hint := portHint(&net.TCPAddr{Port: 1023}); hint != "" {
		t.Errorf("of port 1023: %q", hint)
	}
	if hint := portHint(&net.TCPAddr{Port: 1024}); !strings.Contains(hint, "1024") {
		t.Errorf("of port 1024: %q", hint)
	}
}

// TestADirectoryOfManyPagesIsReadWhole, where the server has READDIRPLUS and where it has READDIR alone.
func TestADirectoryOfManyPagesIsReadWhole(t *testing.T) {
	for name, s := range map[string]*faulty.Server{
		"READDIRPLUS":                            {},
		"its status is that it is not supported": {Hook: faulty.On(v3.ProcReaddirplus, faulty.Fail(v3.ErrNotSupp), nil)},
		"the attributes have no room":            {Hook: faulty.On(v3.ProcReaddirplus, faulty.Fail(v3.ErrTooSmall), nil)},
		"there is no such procedure": {Rewrite: func(c faulty.Call, reply []byte) ([]byte, bool) {
			if c.Program == v3.Program && c.Procedure == v3.ProcReaddirplus {
				h := rpc.ReplyHeader{XID: c.XID, Accept: rpc.AcceptProcUnavail}
				reply = h.Append(rpc.AppendRecordMark(nil, 0))
				rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
			}
			return reply, true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, s, nil)
			want := map[string]int{}
			for i := range 300 { // the server has 32 KiB for a page
				name := fmt.Sprint(strings.Repeat("f", 200), i)
				if _, err := c.Create(t.Context(), c.Root(), name, 0o600, true); err != nil {
					t.Fatal(err)
				}
				want[name] = 1
			}
			entries, err := c.ReadDir(t.Context(), c.Root())
			got := map[string]int{}
			for _, e := range entries {
				got[e]++
			}
			if err != nil || !cmp.Equal(got, want) {
				t.Errorf("%d names, want %d: %v", len(entries), len(want), err)
			}
		})
	}
}

// TestAServerThatListsNoDirectoryIsExplained: a benchmark cannot use it, and the fix is another version.
func TestAServerThatListsNoDirectoryIsExplained(t *testing.T) {
	c := start(t, &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
		if c.Program == v3.Program && (c.Procedure == v3.ProcReaddirplus || c.Procedure == v3.ProcReaddir) {
			return faulty.Fail(v3.ErrNotSupp)
		}
		return faulty.Answer
	}}, nil)
	_, err := c.ReadDir(t.Context(), c.Root())
	if explained, ok := errors.AsType[*ExplainedError](err); !ok || explained.Cause != CauseVersion {
		t.Errorf("%v", err)
	}
}

// TestADirectoryThatDoesNotEndIsGivenUp: a hostile server lists names forever.
func TestADirectoryThatDoesNotEndIsGivenUp(t *testing.T) {
	var cookie uint64
	c := start(t, &faulty.Server{Rewrite: func(call faulty.Call, reply []byte) ([]byte, bool) {
		if call.Program != v3.Program || call.Procedure != v3.ProcReaddirplus {
			return reply, true
		}
		res := v3.ReaddirRes{Plus: true}
		for range 64 {
			cookie++
			res.Entries = append(res.Entries, v3.DirEntry{Name: strings.Repeat("x", 900), Cookie: cookie})
		}
		reply = xdr.Append(reply[:rpc.RecordMarkBytes+24], &res)
		rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
		return reply, true
	}}, nil)
	memory.Bound(t, 32*maxDirBytes, func() {
		if names, err := c.ReadDir(t.Context(), c.Root()); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("%d names, %v", len(names), err)
		}
	})
}

func TestTransferSizeIsCappedByTheServer(t *testing.T) {
	for name, tc := range map[string]struct{ wanted, want uint32 }{
		"what the server offers": {0, 65536},
		"less":                   {8192, 8192},
		"more is cut":            {1 << 20, 65536},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, &faulty.Server{MaxTransfer: 65536}, func(c *Config) { c.TransferSize = tc.wanted })
			if got := c.Info(); got.TransferReadBytes != tc.want || got.WriteMaxBytes != 65536 {
				t.Errorf("%+v, want transfers of %d of 65536 bytes", got, tc.want)
			}
		})
	}
}

func TestAChannelMayHaveAPortAbove1023WhoeverAsks(t *testing.T) {
	c := start(t, &faulty.Server{}, func(cfg *Config) { cfg.Channels[0].HighPort = true })
	_, port, err := net.SplitHostPort(c.Channels()[0].Local)
	if n, _ := strconv.Atoi(port); err != nil || n < 1024 {
		t.Errorf("port %s, %v", port, err)
	}
}
