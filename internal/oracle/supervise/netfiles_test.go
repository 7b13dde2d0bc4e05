package supervise

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
	"github.com/nfsbench/nfsbench/test/ports"
)

const (
	listenerText = "LISTENER =\n  (DESCRIPTION_LIST =\n    (DESCRIPTION =\n      (ADDRESS = (PROTOCOL = IPC)(KEY = EXTPROC1521))\n" +
		"      (ADDRESS = (PROTOCOL = TCP)(HOST = %s)(PORT = 1521))\n    )\n  )\n\nDEFAULT_SERVICE_LISTENER = (FREE)\n"
	namesText = "ORCLCDB =\n  (DESCRIPTION =\n    (ADDRESS = (PROTOCOL = TCP)(HOST = %[1]s)(PORT = 1521))\n    (CONNECT_DATA = (SERVICE_NAME = FREE))\n  )\n\n" +
		"LISTENER_ORCLCDB =\n  (ADDRESS = (PROTOCOL = TCP)(HOST = %[2]s)(PORT = 1521))\n\n" +
		"OTHER =\n  (DESCRIPTION =\n    (ADDRESS = (PROTOCOL = TCP)(host=erp.example)(PORT = 1521))\n  )\n\n" +
		"PDB = (ADDRESS = (HOST = 0.0.0.0)(PORT = 1521))\n"
)

// netFiles writes both files and returns their paths.
func (i *image) netFiles(dir, listener, names string) (listenerPath, namesPath string) {
	listenerPath, namesPath = filepath.Join(dir, listenerFile), filepath.Join(dir, namesFile)
	i.write(listenerPath, 0o640, listener)
	i.write(namesPath, 0o640, names)
	return listenerPath, namesPath
}

func TestFilesOfOracleNetThatNameAnotherHostAreMended(t *testing.T) {
	t.Parallel()
	format := func(text string, a ...any) string { return fmt.Sprintf(text, a...) }
	cases := map[string]struct {
		reason                  string
		listener, names         string
		wantListener, wantNames string
		mended                  int
	}{
		"of another pod": {
			"Oracle Free keeps the name of the first host",
			format(listenerText, "first-load-0"), format(namesText, "first-load-0", "first-load-0"),
			format(listenerText, "0.0.0.0"), format(namesText, "here", "here"), 2,
		},
		"of this pod": {
			"a database that this host name created", format(listenerText, "HERE"), format(namesText, "here", "here"),
			format(listenerText, "HERE"), format(namesText, "here", "here"), 0,
		},
		"of no host": {
			"the images of 19c and 21c", format(listenerText, "0.0.0.0"), format(namesText, "localhost", "127.0.0.1"),
			format(listenerText, "0.0.0.0"), format(namesText, "localhost", "127.0.0.1"), 0,
		},
		"half mended": {
			"a start that was cut off, or a listener that somebody mended", format(listenerText, "0.0.0.0"), format(namesText, "erp.example", "gone"),
			format(listenerText, "0.0.0.0"), format(namesText, "erp.example", "here"), 1,
		},
		"an address": {
			"of a pod that is gone", format(listenerText, "10.1.2.3"), format(namesText, "10.1.2.3", "::1"),
			format(listenerText, "0.0.0.0"), format(namesText, "here", "::1"), 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.o.Hostname = "here"
			listener, names := i.netFiles(filepath.Join(i.data, "dbconfig", "ORCLCDB"), tc.listener, tc.names)
			mended, err := i.o.mendNetFiles(i.home)
			if err != nil || len(mended) != tc.mended {
				t.Errorf("%s: mended %q, %v", tc.reason, mended, err)
			}
			if diff := cmp.Diff(tc.wantListener, i.read(listener)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", tc.reason, listenerFile, diff)
			}
			if diff := cmp.Diff(tc.wantNames, i.read(names)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", tc.reason, namesFile, diff)
			}
			if info, err := os.Stat(listener); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(listener), "*.nfsbench-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestFilesOfOracleNetInTheImageAreMendedAndLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Hostname = "here"
	stale := fmt.Sprintf(listenerText, "build-host")
	inHome, _ := i.netFiles(filepath.Join(i.home, "network", "admin"), stale, "")
	inBase, _ := i.netFiles(filepath.Join(i.base, "homes", "OraDBHome21cXE", "network", "admin"), stale, "")
	target := filepath.Join(t.TempDir(), "target")
	i.write(target, 0o640, stale)
	onVolume := filepath.Join(i.data, "dbconfig", "ORCLCDB", listenerFile)
	if err := os.MkdirAll(filepath.Dir(onVolume), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, onVolume); err != nil {
		t.Fatal(err)
	}
	if _, err := i.o.mendNetFiles(i.home); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{inHome: fmt.Sprintf(listenerText, "0.0.0.0"), inBase: fmt.Sprintf(listenerText, "0.0.0.0"), target: stale} {
		if got := i.read(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	// A file that is too large to be one of Oracle Net is not read.
	big := stale + strings.Repeat("#", maxNetFileBytes)
	i.write(inHome, 0o640, big)
	if mended, err := i.o.mendNetFiles(i.home); err != nil || len(mended) > 0 || i.read(inHome) != big {
		t.Errorf("mended %q, %v", mended, err)
	}
}

// TestEachStartMendsTheFilesOfOracleNet and the state says so.
func TestEachStartMendsTheFilesOfOracleNet(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Hostname = "here"
	listener, _ := i.netFiles(filepath.Join(i.data, "dbconfig", "ORCLCDB"), fmt.Sprintf(listenerText, "first"), "")
	i.mark(ownDatabase{SID: "ORCLCDB"})
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `cat "`+listener+`" > "$ORACLE_BASE/seen"
touch`, 1))
	r := i.start()
	if s := r.ready(1); len(s.Host.Mended) != 1 || !strings.Contains(s.Host.Mended[0], "HOST = first is now 0.0.0.0") {
		t.Errorf("state %q", s.Host.Mended)
	}
	i.write(listener, 0o640, fmt.Sprintf(listenerText, "second"))
	i.asksFor("2")
	if s := r.ready(2); len(s.Host.Mended) != 2 {
		t.Errorf("state %q", s.Host.Mended)
	}
	if seen := i.read(i.base + "/seen"); seen != fmt.Sprintf(listenerText, "0.0.0.0") {
		t.Errorf("the second start sees %s", seen)
	}
}

// TestADatabaseThatNobodyCanConnectToIsNotReady although its health script says so.
func TestADatabaseThatNobodyCanConnectToIsNotReady(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Listener = ports.Reserve(t).String()
	i.fails(runfile.FailureDatabaseNotReady, "ORA-12541", "listener.ora", i.o.Listener, "DATABASE IS READY TO USE!")
	if s := i.state(); s.Generation != 0 {
		t.Errorf("it was ready: %+v", s)
	}
}

func TestTheStartupProbeFollowsTheState(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	if err := Check(i.run); err == nil {
		t.Error("ready before the start")
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0") //nolint:usetesting // it outlives the database
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	i.o.Listener = l.Addr().String()
	r := i.start()
	r.ready(1)
	if err := Check(i.run); err != nil {
		t.Error(err)
	}
	_ = r.end()
	if err := Check(i.run); err == nil || !strings.Contains(err.Error(), runfile.DatabaseStopped) {
		t.Errorf("after the end: %v", err)
	}
}

// FuzzNetFiles reads files that lie on a volume of anybody.
func FuzzNetFiles(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(listenerText, "a")), []byte(fmt.Sprintf(namesText, "a", "b")))
	f.Add([]byte("(HOST=)(HOST = ((HOST = x)"), []byte("LISTENER_ORCLCDB = (HOST = y)"))
	f.Add([]byte("(host = [::1])(host=[fe80::1%eth0])"), []byte("\x00(HOST=\xff)"))
	o := Options{SID: "ORCLCDB", Hostname: "here"}
	f.Fuzz(func(t *testing.T, listener, names []byte) {
		var changes []netFile
		memory.Bound(t, 64<<10+512*(len(listener)+len(names)), func() { changes = o.changeNetFiles(listener, names) })
		for _, c := range changes {
			if left := o.otherHosts(c.text); c.name == listenerFile && len(left) > 0 {
				t.Errorf("hosts %q are left", left)
			}
		}
	})
}
