package nfs4

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
	"github.com/nfsbench/nfsbench/test/ports"
)

// mountOf dials a server of the test, and gives what it logs.
func mountOf(tb testing.TB, s *nfs4test.Server, version bench.NFSVersion, export string, change ...func(*nfs.Config)) (*nfs.Client, string, error) {
	tb.Helper()
	if s.Port() == 0 {
		s.Start(tb, "127.0.0.1")
	}
	var log bytes.Buffer
	cfg := nfs.Config{
		Server: "127.0.0.1", Export: export, Version: version, NFSPort: s.Port(), Now: time.Now,
		CallTimeout: time.Hour, MountTimeout: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	c, err := nfs.Dial(tb.Context(), cfg)
	if err == nil {
		tb.Cleanup(func() {
			if err := c.Close(); err != nil {
				tb.Error(err)
			}
		})
	}
	return c, log.String(), err
}

// says holds an explanation against its cause and parts of its text.
func says(tb testing.TB, err error, cause nfs.Cause, parts ...string) {
	tb.Helper()
	e, ok := errors.AsType[*nfs.ExplainedError](err)
	if !ok {
		tb.Fatalf("%v is not explained", err)
	}
	if e.Cause != cause {
		tb.Errorf("the cause is %s and not %s: %v", e.Cause, cause, err)
	}
	for _, part := range parts {
		if !strings.Contains(e.Says, part) {
			tb.Errorf("the explanation lacks %q: %s", part, e.Says)
		}
	}
}

// failing answers an operation with a status.
func failing(op v4.Op, status v4.Status) func(nfs4test.Call) nfs4test.Action {
	return func(nfs4test.Call) nfs4test.Action { return nfs4test.Fail(op, status) }
}

func TestARefusedMountIsExplainedWithTheFixOfEachVendor(t *testing.T) {
	t.Parallel()
	vendors := []string{"ONTAP", "FlashBlade", "Linux"}
	for name, tc := range map[string]struct {
		server  *nfs4test.Server
		version bench.NFSVersion
		cause   nfs.Cause
		parts   []string
	}{
		"only 4.0": {
			&nfs4test.Server{Minors: []uint32{0}}, bench.NFSv41, nfs.CauseVersion,
			[]string{"not NFSv4.1", "it speaks NFSv4.0", "-v4.1 enabled", "vers4.1=y"},
		},
		"only 4.0 and pNFS": {
			&nfs4test.Server{Minors: []uint32{0}}, bench.PNFS, nfs.CauseVersion, []string{"not NFSv4.1", "it speaks NFSv4.0"},
		},
		"only 4.1": {
			&nfs4test.Server{Minors: []uint32{1}}, bench.NFSv40, nfs.CauseVersion,
			[]string{"not NFSv4.0", "it speaks NFSv4.1", "-v4.0 enabled", "vers4.0=y"},
		},
		"neither": {
			&nfs4test.Server{Minors: []uint32{2}}, bench.NFSv41, nfs.CauseVersion, []string{"and not NFSv4.0 either", "use NFSv3"},
		},
		"Kerberos": {
			&nfs4test.Server{Hook: failing(v4.OpLookup, v4.ErrWrongSec)}, bench.NFSv41, nfs.CauseAccess, []string{"Kerberos", "sec=sys"},
		},
		"export policy": {
			&nfs4test.Server{Hook: failing(v4.OpLookup, v4.ErrAccess)}, bench.NFSv40, nfs.CauseAccess,
			[]string{"export policy", "(address 127.0.0.1)", "/etc/exports"},
		},
		"not permitted": {
			&nfs4test.Server{Hook: failing(v4.OpPutRootFH, v4.ErrPerm)}, bench.NFSv41, nfs.CauseAccess, []string{"export policy"},
		},
		"client ID in use": {
			&nfs4test.Server{Hook: failing(v4.OpSetClientID, v4.ErrClIDInUse)}, bench.NFSv40, nfs.CauseResources, []string{"another one", "run again"},
		},
		"no room for a session": {
			&nfs4test.Server{Hook: failing(v4.OpCreateSession, v4.ErrNoSpc)}, bench.NFSv41, nfs.CauseResources,
			[]string{"no room", "-v4.x-session-num-slots"},
		},
		"a fault of the server": {
			&nfs4test.Server{Hook: failing(v4.OpExchangeID, v4.ErrServerFault)}, bench.NFSv41, nfs.CauseResources,
			[]string{"the server failed; look at its log", "no room"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := mountOf(t, tc.server, tc.version, "/export")
			says(t, err, tc.cause, tc.parts...)
			if name != "client ID in use" {
				says(t, err, tc.cause, vendors...)
			}
			if _, ok := errors.AsType[v4.Status](err); !ok {
				t.Errorf("the status of the server is lost: %v", err)
			}
		})
	}
}

func TestAnExportThatIsElsewhereInThePseudoFileSystemIsFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exports []string
		asked   string
		parts   []string
	}{
		"below a root that is exported itself": {
			[]string{"/data"}, "/srv/nfs/data", []string{`no "srv" in "/"`, `did you mean "/data"?`},
		},
		"below a junction":    {[]string{"/vol/oradata"}, "/oradata", []string{`no "oradata" in "/"`, `did you mean "/vol/oradata"?`}},
		"in another case":     {[]string{"/Vol/OraData"}, "/vol/oradata", []string{`did you mean "/Vol/OraData"?`}},
		"the longest match":   {[]string{"/a/data", "/b/db/data"}, "/x/db/data", []string{`did you mean "/b/db/data"?`}},
		"several":             {[]string{"/a/data", "/b/data"}, "/c/data", []string{`did you mean "/a/data" or "/b/data"?`}},
		"another name":        {[]string{"/vol/oradata"}, "/exprt", []string{`no "exprt" in "/"`, `exports to this client is "/vol/oradata"`}},
		"spelled wrong":       {[]string{"/vol/oradata"}, "/vol/oradta", []string{`no "oradta" in "/vol"; did you mean "/vol/oradata"? NFSv4 paths`}},
		"one of many":         {[]string{"/a", "/b", "/c", "/d", "/e"}, "/x", []string{`"/a", "/b", "/c", "/d" and more`}},
		"a part of it exists": {[]string{"/vol/oradata"}, "/vol/redo", []string{`no "redo" in "/vol"`}},
		"a name that is meant to harm a terminal": {
			[]string{"/\x1b[2Jevil\n" + strings.Repeat("long", 60)}, "/x", []string{`"/\x1b[2Jevil\nlonglong`, `..."`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, version := range []bench.NFSVersion{bench.NFSv40, bench.NFSv41} {
				_, _, err := mountOf(t, &nfs4test.Server{Exports: tc.exports}, version, tc.asked)
				says(t, err, nfs.CauseExport, tc.parts...)
				says(t, err, nfs.CauseExport, "junction path", "FlashBlade", "fsid=0", "Pseudo")
				if strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 1200 {
					t.Errorf("a name of the server got through: %q", err)
				}
			}
		})
	}
}

func TestTheSearchForAnExportIsBounded(t *testing.T) {
	t.Parallel()
	var deep, wide []string
	for i := range 300 {
		deep = append(deep, fmt.Sprintf("/d%03d/1/2/3/4/5/6/wanted", i))
		wide = append(wide, fmt.Sprintf("/w%03d", i))
	}
	for name, tc := range map[string]struct {
		exports []string
		most    int64
	}{
		"many directories": {deep, 224},
		"one that is long": {wide, 208},
		"one that is deep": {[]string{"/1/2/3/4/5/6/7/8/9/wanted"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reads atomic.Int64
			s := &nfs4test.Server{Exports: tc.exports, Hook: func(c nfs4test.Call) nfs4test.Action {
				if c.Has(v4.OpReadDir) {
					reads.Add(1)
				}
				return nfs4test.Action{}
			}}
			_, _, err := mountOf(t, s, bench.NFSv41, "/x/wanted")
			says(t, err, nfs.CauseExport, `there is no "x" in "/"`)
			if n := reads.Load(); n == 0 || n > tc.most {
				t.Errorf("%d directories were read, at most %d are meant to be", n, tc.most)
			}
		})
	}
}

func TestAnExportThatIsAFileIsNamed(t *testing.T) {
	t.Parallel()
	s := &nfs4test.Server{}
	s.Start(t, "127.0.0.1")
	s.AddFile("file", []byte("data"))
	_, _, err := mountOf(t, s, bench.NFSv41, "/export/file")
	says(t, err, nfs.CauseExport, `"/export/file" is a file`, "name the directory")
	_, _, err = mountOf(t, s, bench.NFSv41, "/export/file/x")
	says(t, err, nfs.CauseExport, `"/export/file" is no directory`)
}

func TestAReferralNamesTheServersAndThePath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		locations v4.FSLocations
		part      string
	}{
		"two servers": {
			v4.FSLocations{
				Root: []string{"vol"}, Locations: []v4.FSLocation{{Servers: []string{"10.0.0.9", "nas\n2"}, Root: []string{"far"}}},
			},
			`use export "/far/oradata" of server "10.0.0.9", "nas\n2" instead`,
		},
		"two places": {
			v4.FSLocations{Root: []string{"vol", "oradata"}, Locations: []v4.FSLocation{
				{Servers: []string{"a"}, Root: []string{"x"}}, {Servers: []string{"b"}, Root: []string{"y"}},
			}},
			`use export "/x" of server "a", or export "/y" of server "b" instead`,
		},
		"nothing": {v4.FSLocations{}, "does not say where"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &nfs4test.Server{
				Exports: []string{"/vol/oradata"}, FSLocations: tc.locations, Hook: failing(v4.OpGetFH, v4.ErrMoved),
			}
			_, _, err := mountOf(t, s, bench.NFSv41, "/vol/oradata")
			says(t, err, nfs.CauseExport, tc.part, "follows no referrals", "ONTAP", "FlashBlade", "Linux")
		})
	}
}

func TestAServerThatAsksToWaitIsWaitedForAndThenNamed(t *testing.T) {
	t.Parallel()
	for op, status := range map[v4.Op]v4.Status{v4.OpLookup: v4.ErrGrace, v4.OpCreateSession: v4.ErrDelay} {
		s := &nfs4test.Server{Hook: failing(op, status), LeaveState: true}
		var err error
		for limit := time.Second; limit < time.Hour && !errors.Is(err, status); limit *= 4 { // a busy machine needs some of it for the first answer
			_, _, err = mountOf(t, s, bench.NFSv41, "/export", func(c *nfs.Config) { c.MountTimeout = limit })
		}
		says(t, err, nfs.CauseBusy, "still", " after ")
	}
	began, passed := time.Now(), atomic.Int64{}
	s := &nfs4test.Server{
		LeaseSeconds: 1, Hook: func(c nfs4test.Call) nfs4test.Action {
			if c.Has(v4.OpOpen) {
				passed.Add(int64(40 * time.Minute))
			}
			return nfs4test.Fail(v4.OpOpen, v4.ErrGrace)
		},
	}
	c, _, err := mountOf(t, s, bench.NFSv41, "/export", func(c *nfs.Config) {
		c.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Create(t.Context(), c.Root(), "file", 0o644, true)
	says(t, err, nfs.CauseBusy, "grace period", "of waiting", "lease time of 1s", "ONTAP", "FlashBlade", "Linux")
}

func TestADeniedDirectoryIsToldWithItsOwner(t *testing.T) {
	t.Parallel()
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Has(v4.OpCreate) {
			return nfs4test.Fail(v4.OpCreate, v4.ErrAccess)
		}
		return nfs4test.Fail(v4.OpOpen, v4.ErrROFS)
	}}
	c, _, err := mountOf(t, s, bench.NFSv41, "/export")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Mkdir(t.Context(), c.Root(), "d", 0o755)
	if !nfs.IsPermission(err) || !strings.Contains(err.Error(), `belongs to "1000":"1000", mode 0755`) {
		t.Errorf("got %v", err)
	}
	_, err = c.Create(t.Context(), c.Root(), "f", 0o644, true)
	says(t, err, nfs.CauseAccess, `"/export" is read-only`, "pseudo file system", "-rwrule", "FlashBlade", "/etc/exports")
}

func TestNFSv4ThatIsNotSpokenIsExplainedOverTheWire(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends what it accepts after the first call
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadAtLeast(nc, make([]byte, 1<<10), 100)
			_ = nc.Close()
		}
	}()
	t.Cleanup(func() { <-done })
	port := l.Addr().(*net.TCPAddr).Port
	cfg := nfs.Config{Server: "127.0.0.1", Export: "/export", Version: bench.NFSv41, NFSPort: port, Now: time.Now}
	_, err = nfs.Dial(t.Context(), cfg)
	says(t, err, nfs.CauseUnreachable, "ends the connection")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.NFSPort = int(ports.Reserve(t).Port())
	_, err = nfs.Dial(t.Context(), cfg)
	says(t, err, nfs.CauseUnreachable, "nothing listens")
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("callers cannot see that it was refused: %v", err)
	}
}

func TestPNFSThatWillNotBeUsedIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		types   []uint32
		version bench.NFSVersion
		part    string
	}{
		"off":        {nil, bench.PNFS, "offers no layouts"},
		"blocks":     {[]uint32{3, 4}, bench.PNFS, "layouts of type blocks, flexible files"},
		"files":      {[]uint32{3, 1}, bench.PNFS, ""},
		"not wanted": {nil, bench.NFSv41, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, log, err := mountOf(t, &nfs4test.Server{LayoutTypes: tc.types}, tc.version, "/export")
			if err != nil {
				t.Fatal(err)
			}
			warned := strings.Contains(log, "pNFS is asked for and will not be used")
			if warned != (tc.part != "") || !strings.Contains(log, tc.part) {
				t.Errorf("it logs %s", log)
			}
			for _, fix := range []string{"-v4.1-pnfs enabled", "FlashBlade", "Linux"} {
				if warned && !strings.Contains(log, fix) {
					t.Errorf("the fix %q is missing: %s", fix, log)
				}
			}
		})
	}
}

func TestPathsThatLeadToDifferentServersAreTold(t *testing.T) {
	t.Parallel()
	s := &nfs4test.Server{Identity: func(a string) nfs4test.Identity { return nfs4test.Identity{Major: a} }}
	s.Start(t, "127.0.0.1", "127.0.0.2")
	both := func(c *nfs.Config) { c.Channels = []nfs.Channel{{Path: "127.0.0.1"}, {Path: "127.0.0.2"}} }
	_, log, err := mountOf(t, s, bench.NFSv41, "/export", both)
	if err != nil || !strings.Contains(log, "127.0.0.1 | 127.0.0.2") {
		t.Errorf("it logs %q, %v", log, err)
	}
}

func TestADataServerBehindAFirewallIsNamed(t *testing.T) {
	t.Parallel()
	s := &nfs4test.Server{Identity: func(a string) nfs4test.Identity {
		return nfs4test.Identity{Major: a, Data: a != "127.0.0.1"}
	}}
	s.Start(t, "127.0.0.1", "127.0.0.2")
	d := &layout.Device{Servers: [][]layout.NetAddr{{s.NetAddr("127.0.0.2")}}, StripeIndices: []uint32{0}}
	s.SetLayouts(func(string) []layout.Segment {
		return []layout.Segment{{
			IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Device: d,
			Body: layout.Body{Dense: true, StripeUnit: 64 << 10, Handles: [][]byte{[]byte("ds")}},
		}}
	})
	s.Kill("127.0.0.2")
	var log bytes.Buffer
	c, _, err := mountOf(t, s, bench.PNFS, "/export", func(c *nfs.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Create(t.Context(), c.Root(), "file", 0o644, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		st, err := c.NewStream(t.Context(), nfs.StreamConfig{Slots: 1, BlockBytes: 4096, Connections: 1})
		if err != nil {
			t.Fatal(err)
		}
		_ = st.Close()
	}
	_ = c.Close()
	want := []string{"cannot be reached", fmt.Sprintf("127.0.0.2 port %d", s.Port()), "open the firewall"}
	if text := log.String(); slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) }) {
		t.Errorf("it logs %s", text)
	} else if n := strings.Count(text, want[0]); n != 1 {
		t.Errorf("it warns %d times", n)
	}
}

func TestTooFewSessionsAreToldWithTheFix(t *testing.T) {
	t.Parallel()
	var sessions atomic.Int64
	c, _, err := mountOf(t, &nfs4test.Server{Hook: func(call nfs4test.Call) nfs4test.Action {
		if call.Has(v4.OpCreateSession) && sessions.Add(1) > 1 {
			return nfs4test.Fail(v4.OpCreateSession, v4.ErrNoSpc)
		}
		return nfs4test.Action{}
	}}, bench.NFSv41, "/export")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.NewStream(t.Context(), nfs.StreamConfig{Slots: 1, BlockBytes: 4096, Connections: 1})
	says(t, err, nfs.CauseResources, "a session for each job", "lower jobs", "-v4.x-session-num-slots", "FlashBlade", "Linux")
}
