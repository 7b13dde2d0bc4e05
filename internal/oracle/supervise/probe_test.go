package supervise

import (
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// direct makes the image one with Direct NFS over paths of a server on this machine.
func (i *image) direct(version bench.NFSVersion, export string, port int, paths ...string) {
	i.o.DirectNFS = true
	i.o.Engine = &runfile.Engine{
		Server: "lab", Export: export, NFSVersion: version, Channels: runfile.ChannelsTo(paths...), Ports: runfile.Ports{NFS: port, Mount: port},
	}
}

// refusing is a server that refuses the credential of every call.
func refusing(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go refuse(c)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func refuse(c net.Conn) {
	defer func() { _ = c.Close() }()
	for records := rpc.NewRecordReader(c, 1<<20); records.Next() == nil; {
		call, err := records.AppendRest(nil)
		if err != nil {
			return
		}
		d := xdr.NewDecoder(call)
		h := rpc.ReplyHeader{XID: d.Uint32(), Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthTooWeak}
		reply := h.Append(make([]byte, rpc.RecordMarkBytes))
		rpc.PutRecordMark(reply, len(reply)-rpc.RecordMarkBytes)
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

// TestDirectNFSThatTheServerRefusesDoesNotStart: with NFSv4 it would hang after the banner.
func TestDirectNFSThatTheServerRefusesDoesNotStart(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.direct(bench.NFSv41, "/export", refusing(t), "127.0.0.1")
	i.fails(runfile.FailureAccessDenied, "127.0.0.1", "would hang", "-nfs-rootonly disabled", "insecure in /etc/exports")
	i.started(0)
	if probes := i.state().Host.Servers; len(probes) != 1 || probes[0].Path != "127.0.0.1" || probes[0].Problem == "" {
		t.Errorf("servers in the state: %+v", probes)
	}
}

// TestAProbeThatDecidesNothingIsAWarning: with NFSv3, oradism may have a port that the server takes.
func TestAProbeThatDecidesNothingIsAWarning(t *testing.T) {
	t.Parallel()
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	for export, refused := range map[string]bool{"/denied": true, "/export": false} {
		t.Run(export, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.direct(bench.NFSv3, export, v3.Port(), "127.0.0.1")
			i.o.HealthInterval = time.Second // so a busy machine may be silent for 24 s
			if p := i.start().ready(1).Host.Servers[0]; p.Path != "127.0.0.1" || (p.Problem != "") != refused {
				t.Errorf("%+v", p)
			}
			if warned := strings.Contains(i.log.String(), "refuses what Direct NFS may need"); warned != refused {
				t.Errorf("warned %t", warned)
			}
		})
	}
}

// mounted lists a mount of the volume in the mount table of the container.
func (i *image) mounted(kind, source string) {
	i.proc("self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n55 22 0:50 / "+i.data+" rw - "+kind+" "+source+" rw,hard\n")
}

// TestWithoutAnOranfstabTheServerOfTheMountIsProbed: Direct NFS uses it, over one path.
func TestWithoutAnOranfstabTheServerOfTheMountIsProbed(t *testing.T) {
	t.Parallel()
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	cases := map[string]struct {
		reason       string
		kind, source string
		problem      string // of the probe
		skipped      string
	}{
		"admits":  {"nothing is wrong", "nfs", "127.0.0.1:/export", "", ""},
		"refuses": {"the export admits nobody", "nfs", "127.0.0.1:/denied", `"/denied"`, ""},
		"no NFS":  {"a database is tried on a local disk", "ext4", "/dev/sdb", "", "no NFS server is mounted at"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.direct(bench.NFSv3, "/plan", v3.Port())
			i.o.HealthInterval = time.Second // so a busy machine may be silent for 24 s
			i.mounted(tc.kind, tc.source)
			host := i.start().ready(1).Host
			if !strings.Contains(host.ServersNotProbed, tc.skipped) || (host.ServersNotProbed == "") != (tc.skipped == "") {
				t.Errorf("%s: not probed: %q", tc.reason, host.ServersNotProbed)
			}
			if tc.skipped != "" {
				return
			}
			if len(host.Servers) != 1 || host.Servers[0].Path != "127.0.0.1" || !strings.Contains(host.Servers[0].Problem, tc.problem) ||
				(host.Servers[0].Problem == "") != (tc.problem == "") {
				t.Errorf("%s: %+v", tc.reason, host.Servers)
			}
		})
	}
}

func TestTheMountTableNamesServerAndExport(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"10.0.1.61:/vol/ora": "10.0.1.61 /vol/ora", "[fd00::61]:/vol/ora": "fd00::61 /vol/ora", "filer.example:/": "filer.example /",
	} {
		i := newImage(t)
		i.o.Engine = &runfile.Engine{}
		i.mounted("nfs4", source)
		e, err := i.o.engineOfMount()
		if got := e.Server + " " + e.Export; err != nil || got != want || len(e.Channels) != 1 || e.Channels[0].Path != e.Server {
			t.Errorf("%s: %q %v, %v", source, got, e.Channels, err)
		}
	}
}

// TestWithKerberosTheResultSaysThatNoServerWasProbed: the client of the probe speaks sys only.
func TestWithKerberosTheResultSaysThatNoServerWasProbed(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.direct(bench.NFSv41, "/export", 0, "127.0.0.1")
	i.o.Engine.Security = "krb5p"
	if s := i.start().ready(1); !strings.Contains(s.Host.ServersNotProbed, "krb5p") || s.Host.Servers != nil {
		t.Errorf("host: %+v", s.Host)
	}
	if !strings.Contains(i.log.String(), "The NFS servers are not probed") {
		t.Errorf("log: %s", i.log.String())
	}
	expect(t, Examine(t.Context(), i.o), checkServer, runfile.CheckWarn, "not probed", "krb5p")
}

// TestAStartThatHangsEndsWithWhatTheProbeFound long before the time for the start is over.
func TestAStartThatHangsEndsWithWhatTheProbeFound(t *testing.T) {
	t.Parallel()
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	i := newImage(t)
	i.direct(bench.NFSv3, "/denied", v3.Port(), "127.0.0.1")
	i.netFiles(filepath.Join(i.data, "dbconfig", "ORCLCDB"), "", "") // a database that exists
	i.mark(ownDatabase{SID: "ORCLCDB"})
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\ntrap 'exit 0' TERM\necho ORACLE instance started.\nwhile :; do sleep 0.02; done\n")
	i.fails(runfile.FailureAccessDenied, "hangs", `"/denied"`, "-mount-rootonly disabled")
}

// TestOnlySilenceAfterARefusalIsAHang by a clock of the test.
func TestOnlySilenceAfterARefusalIsAHang(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	now := time.Unix(1_800_000_000, 0)
	i.o.Now, i.o.HealthInterval = func() time.Time { return now }, healthInterval
	s := &supervisor{o: i.o, log: i.o.Log, redact: newRedactor(nil), suspicion: "10.0.1.61: refused"}
	c := &child{tail: &tail{}}
	s.printed(c, "ORACLE instance started.")
	for _, step := range []struct {
		after time.Duration
		says  string
		hangs bool
	}{{2 * time.Minute, "", false}, {time.Second, "1% complete", true}, {2 * time.Minute, "", false}, {time.Second, "", true}} {
		now = now.Add(step.after)
		if err := s.refused(c, health{code: 1}); (err != nil) != step.hangs || err != nil && !strings.Contains(err.Error(), "10.0.1.61: refused") {
			t.Errorf("%s later: %v", step.after, err)
		}
		if step.says != "" {
			s.printed(c, step.says)
		}
	}
	s.suspicion = ""
	if err := s.refused(c, health{code: 1}); err != nil {
		t.Errorf("the server admits the probe: %v", err)
	}
}

// TestARefusalThatAStartHasOutlivedMeansNothing: oradism has a port that the server takes, and so has
// a later start that is silent for hours.
func TestARefusalThatAStartHasOutlivedMeansNothing(t *testing.T) {
	t.Parallel()
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	i := newImage(t)
	i.direct(bench.NFSv3, "/denied", v3.Port(), "127.0.0.1")
	i.o.HealthInterval = time.Second // so a busy machine may be silent for 24 s
	i.o.StartupTimeout = 100 * 365 * 24 * time.Hour
	var hours atomic.Int64 // 0 = the clock does not hurry
	i.o.Now = func() time.Time {
		if hours.Load() == 0 {
			return time.Now()
		}
		return time.Now().Add(time.Duration(hours.Add(1)) * time.Hour)
	}
	i.write(i.base+"/checkDBStatus.sh", 0o755, `#!/bin/sh
test -f "$ORACLE_BASE/ready" || exit 2
test $(wc -l < "$ORACLE_BASE/starts") = 1 && exit 0
echo check >> "$ORACLE_BASE/checks"
test $(wc -l < "$ORACLE_BASE/checks") -gt 2
`)
	r := i.start()
	if s := r.ready(1); len(s.Host.Servers) != 1 || s.Host.Servers[0].Problem == "" {
		t.Fatalf("the probe was not refused: %+v", s.Host.Servers)
	}
	hours.Store(1)
	i.asksFor("2")
	s := r.await("the second start", func(s runfile.DatabaseState) bool { return s.Generation == 2 || s.Failure != nil })
	if s.Failure != nil {
		t.Errorf("ended with %+v", s.Failure)
	}
}

func TestADatabaseThatIsCreatedMayBeSilentForLonger(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"creates": "other", "opens": "dbconfig/ORCLCDB"} {
		i := newImage(t)
		i.netFiles(filepath.Join(i.data, dir), "", "")
		i.mark(ownDatabase{SID: "ORCLCDB"})
		j, err := openJournal(i.run, runfile.DatabaseState{})
		if err != nil {
			t.Fatal(err)
		}
		s := &supervisor{o: i.o, log: i.o.Log, journal: j}
		if err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := hangChecks * i.o.HealthInterval
		if name == "creates" {
			want *= 5
		}
		if got := s.hangPatience(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
