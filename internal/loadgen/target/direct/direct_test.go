package direct_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/ports"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// serve runs an NFS server on a loopback address and returns its port and the
// directory behind its export.
func serve(tb testing.TB) (port int, dir string) {
	tb.Helper()
	return serveAt(tb, "127.0.0.1:0")
}

func serveAt(tb testing.TB, address string) (port int, dir string) {
	tb.Helper()
	dir = filepath.Join(tb.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	s, err := server.New(server.Options{Dir: dir, Listen: []string{address}, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
	_, text, err := net.SplitHostPort(s.Addrs()[0])
	if err != nil {
		tb.Fatal(err)
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return port, dir
}

// options mount over two channels to the same address.
func options(port int, change ...func(*runfile.Engine)) direct.Options {
	e := runfile.Engine{
		Client: bench.ClientDirectNFS, Server: "lab", Export: "/export",
		Channels: []bench.ResolvedPath{{Local: "127.0.0.1", Path: "127.0.0.1"}, {Local: "127.0.0.2", Path: "127.0.0.1"}},
		Ports:    runfile.Ports{NFS: port, Mount: port}, MountTimeoutSeconds: 3600,
	}
	for _, c := range change {
		c(&e)
	}
	return direct.Options{Engine: e, Now: time.Now}
}

// newDirectory makes the directory d on a server of its own, and returns it with the directory behind the export.
func newDirectory(t *testing.T) (dir target.Directory, served string) {
	t.Helper()
	port, served := serve(t)
	tgt, err := direct.Open(t.Context(), options(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tgt.Close() })
	if dir, err = tgt.Directory(t.Context(), "d", true); err != nil {
		t.Fatal(err)
	}
	return dir, served
}

func TestConformance(t *testing.T) {
	port, _ := serve(t)
	targettest.Run(t, func(tb testing.TB) target.Target {
		tb.Helper()
		tgt, err := direct.Open(t.Context(), options(port))
		if err != nil {
			tb.Fatal(err)
		}
		return tgt
	})
}

func TestFactsAndChannelsSayWhatIsInUse(t *testing.T) {
	port, _ := serve(t)
	tgt, err := direct.Open(t.Context(), options(port, func(e *runfile.Engine) { e.TransferSizeBytes = 65536 }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	f := tgt.Facts()
	if f.NFSVersion != "NFSv3" || f.Source != "127.0.0.1:/export" || f.ReadSizeBytes != 65536 || f.WriteSizeBytes != 65536 || f.TotalBytes <= 0 || f.FreeBytes <= 0 {
		t.Errorf("facts %+v", f)
	}
	channels := tgt.Channels()
	if len(channels) != 2 || channels[0].Local != "127.0.0.1" || channels[1].Local != "127.0.0.2" || channels[1].ID != 1 || channels[1].State != "Up" {
		t.Errorf("channels %+v", channels)
	}
}

func TestAStrangerUnderstandsWhyItCannotBeMounted(t *testing.T) {
	port, _ := serve(t)
	closed := int(ports.Reserve(t).Port())
	cases := map[string]struct {
		change func(*runfile.Engine)
		code   string
		says   []string
	}{
		"nothing listens": {
			func(e *runfile.Engine) { e.Ports = runfile.Ports{NFS: closed, Mount: closed} },
			runfile.FailureUnreachable,
			[]string{"no answer from 127.0.0.1", strconv.Itoa(closed), "firewall"},
		},
		"wrong export": {
			func(e *runfile.Engine) { e.Export = "/exprt" },
			runfile.FailureNoSuchExport,
			[]string{`has no export "/exprt"; did you mean "/export"?`},
		},
		"another export": {
			func(e *runfile.Engine) { e.Export = "/vol1" },
			runfile.FailureNoSuchExport,
			[]string{`has no export "/vol1"; it lists /export`},
		},
		"a name that nobody knows": {
			func(e *runfile.Engine) { e.Channels = runfile.ChannelsTo("nas.invalid") },
			runfile.FailureUnreachable,
			[]string{"the name nas.invalid is not known here"},
		},
		"no channel": {
			func(e *runfile.Engine) { e.Channels = nil }, runfile.FailureInvalidPlan, []string{"engine.channels"},
		},
		"another version": {
			func(e *runfile.Engine) { e.NFSVersion = "NFSv4.1" },
			runfile.FailureUnsupported,
			[]string{
				`export "/export"`, "127.0.0.1", "cannot be mounted with NFSv4.1", "only NFSv3",
				"-v4.1 enabled", "FlashBlade", "vers4.1=y", "use NFSv3",
			},
		},
		"nothing listens for NFSv4": {
			func(e *runfile.Engine) { e.NFSVersion, e.Ports = "NFSv4.0", runfile.Ports{NFS: closed} },
			runfile.FailureUnreachable,
			[]string{strconv.Itoa(closed), "nothing listens for NFSv4.0", "-v4.0 enabled"},
		},
		"Kerberos": {
			func(e *runfile.Engine) { e.Security = "krb5" },
			runfile.FailureUnsupported,
			[]string{"krb5"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(port, tc.change)
			began, asked := time.Now(), atomic.Bool{}
			o.Now = func() time.Time { // nobody is waited for who does not listen
				if !asked.Swap(true) {
					return began
				}
				return began.Add(time.Hour)
			}
			tgt, err := direct.Open(t.Context(), o)
			if err == nil {
				_ = tgt.Close()
			}
			if target.CodeOf(err) != tc.code {
				t.Fatalf("got %v, want %s", err, tc.code)
			}
			for _, part := range tc.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestAForeignNameInTheWayIsRefused(t *testing.T) {
	port, dir := serve(t)
	if err := os.WriteFile(filepath.Join(dir, "nfsbench"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	tgt, err := direct.Open(t.Context(), options(port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	if _, err := tgt.Directory(t.Context(), "nfsbench", true); target.CodeOf(err) != runfile.FailureForeignFiles {
		t.Errorf("a file instead of a directory gave %v", err)
	}
}

// fake is a server that misbehaves as hook says.
func fake(t *testing.T, export string, hook func(faulty.Call) faulty.Action) direct.Options {
	t.Helper()
	s := &faulty.Server{Hook: hook}
	s.Start(t, "127.0.0.1")
	return options(s.Port(), func(e *runfile.Engine) { e.Channels, e.Export = runfile.ChannelsTo("127.0.0.1"), export })
}

func TestAnExportThatDeniesWritingSaysWhoWasRefused(t *testing.T) {
	tgt, err := direct.Open(t.Context(), fake(t, "/export", faulty.On(v3.ProcMkdir, faulty.Deny, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	_, err = tgt.Directory(t.Context(), "nfsbench", true)
	if target.CodeOf(err) != runfile.FailureAccessDenied || !strings.Contains(err.Error(), fmt.Sprintf("uid %d", os.Geteuid())) {
		t.Errorf("got %v", err)
	}
}

// TestAServerThatHidesAnExportIsNotBelieved: the volume beside it must not be taken for the one that was meant.
func TestAServerThatHidesAnExportIsNotBelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		status mount.Status
		code   string
		says   string
	}{
		"refused": {mount.ErrAcces, runfile.FailureAccessDenied, `10.0.1.61 refuses export "/vol/oradata1" to this client (address 10.0.9.1) and does not list it; let the export policy admit the client, or correct the path: did you mean "/vol/oradata2"?`},
		"absent":  {mount.ErrNoEnt, runfile.FailureNoSuchExport, `10.0.1.61 has no export "/vol/oradata1"; did you mean "/vol/oradata2"?`},
	} {
		err := direct.ExplainNotListed("/vol/oradata1", []string{"/vol/oradata2", "/vol/redo"}, tc.status)
		if target.CodeOf(err) != tc.code || !strings.HasPrefix(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnExportPolicyThatRefusesTheClientIsToldAsSuch(t *testing.T) {
	for says, hook := range map[string]func(faulty.Call) faulty.Action{
		"and does not list it; let the export policy admit the client": nil,
		"; look at the export policy": func(c faulty.Call) faulty.Action {
			if c.Program == mount.Program && c.Procedure == mount.ProcExport {
				return faulty.Disconnect
			}
			return faulty.Answer
		},
	} {
		_, err := direct.Open(t.Context(), fake(t, "/denied", hook))
		says = strings.ReplaceAll(`refuses export "/denied" to this client (address 127.0.0.1) `+says, " ;", ";")
		if target.CodeOf(err) != runfile.FailureAccessDenied || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
}

func TestAServerThatIsJustStartingIsWaitedFor(t *testing.T) {
	port := int(ports.Reserve(t).Port())
	opened := make(chan error, 1)
	go func() {
		o, began := options(port), time.Now()
		o.Now = func() time.Time { return began } // so its patience does not end on a busy machine
		tgt, err := direct.Open(t.Context(), o)
		if err == nil {
			err = tgt.Close()
		}
		opened <- err
	}()
	// Only once the first attempt was refused is it a test of the next.
	late := time.NewTimer(700 * time.Millisecond)
	<-late.C
	serveAt(t, fmt.Sprintf("127.0.0.1:%d", port))
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestMeasuredWritesAreStableAndFillingIsNot(t *testing.T) {
	dir, _ := newDirectory(t)
	for stable, want := range map[bool]int64{true: 0, false: 8192} {
		f, err := dir.Open(t.Context(), fmt.Sprintf("f-%v", stable), target.OpenOptions{Create: true, Stable: stable})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt(t.Context(), make([]byte, 8192), 0); err != nil {
			t.Fatal(err)
		}
		if got := direct.UncommittedBytes(f); got != want {
			t.Errorf("stable %v: %d bytes wait for a COMMIT, want %d", stable, got, want)
		}
		if _, err := f.Commit(t.Context()); err != nil || direct.UncommittedBytes(f) != 0 {
			t.Errorf("after COMMIT %d bytes wait, %v", direct.UncommittedBytes(f), err)
		}
	}
}

func TestAFileThatAnotherTookTheNameOfIsStale(t *testing.T) {
	dir, served := newDirectory(t)
	path := filepath.Join(served, "d", "marker")
	for _, name := range []string{path, path + ".part"} {
		if err := os.WriteFile(name, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := dir.Open(t.Context(), "marker", target.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Rename(path+".part", path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(t.Context(), make([]byte, 4), 0); !target.IsStale(err) || target.CodeOf(err) != runfile.FailureIO {
		t.Errorf("got %v", err)
	}
}

func TestWhatWasFilledSurvivesARestartOfTheServer(t *testing.T) {
	var writes atomic.Int64
	s := &faulty.Server{}
	s.Hook = func(c faulty.Call) faulty.Action {
		if c.IsWrite() && writes.Add(1) == 12 { // the first writes the marker, the next 16 fill the files
			s.Restart()
		}
		return faulty.Answer
	}
	s.Start(t, "127.0.0.1")
	tgt, err := direct.Open(t.Context(), options(s.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	spec := fileset.Spec{Directory: "d", Jobs: 2, FileSizeBytes: 8 << 20, BlockSizeBytes: 64 << 10}
	set, err := fileset.Prepare(t.Context(), tgt, spec)
	if err != nil {
		t.Fatal(err)
	}
	var filled atomic.Int64
	if err := set.Fill(t.Context(), func(n int64) { filled.Add(n) }); err != nil || filled.Load() != 16<<20 {
		t.Fatalf("%d bytes were filled, %v", filled.Load(), err)
	}
	lost := s.Forgotten()
	if lost == 0 {
		t.Fatal("the restart undid nothing: the test proves nothing")
	}
	if s.Restart(); s.Forgotten() != lost {
		t.Errorf("a restart after the fill undid %d bytes", s.Forgotten()-lost)
	}
	if _, err := set.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	never := func() bool { return false }
	if v, err := set.Verify(t.Context(), never); err != nil || v.BlocksWrong != 0 || v.BlocksChecked != 128 {
		t.Errorf("verified %+v: %v", v, err)
	}
	if again, err := fileset.Prepare(t.Context(), tgt, spec); err != nil || again.MissingBytes() > 0 {
		t.Errorf("the next run has to fill files again (%v)", err)
	}
}
