package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// makeScript is Oracle's make, as far as it is asked for.
const makeScript = `#!/bin/sh
test "$1 $2" = "-f ins_rdbms.mk" && test -f ins_rdbms.mk || exit 2
case $3 in
dnfs_on) cp "$ORACLE_HOME"/lib/libnfsodm19.so odm/ ;;
dnfs_off) rm -f odm/libnfsodm19.so ;;
esac
`

func TestDirectNFSIsSwitchedWhateverTheImageHas(t *testing.T) {
	t.Parallel()
	const makefile, placed = "rdbms/lib/ins_rdbms.mk", "rdbms/lib/odm/libnfsodm19.so"
	cases := map[string]struct {
		reason string
		on     bool
		make   string
		placed bool
		method string
	}{
		"on by make":        {reason: "Oracle's own way comes first", on: true, make: makeScript, method: methodMake},
		"on without make":   {reason: "make only copies a file", on: true, method: methodCopy},
		"on, make fails":    {reason: "a make that cannot is as good as none", on: true, make: "#!/bin/sh\nexit 2\n", method: methodCopy},
		"on, make idles":    {reason: "the file counts, not the exit code", on: true, make: "#!/bin/sh\n", method: methodCopy},
		"on already":        {reason: "nothing is to be done", on: true, make: "#!/bin/sh\ntouch called\n", placed: true},
		"off by make":       {reason: "Oracle's own way comes first", make: makeScript, placed: true, method: methodMake},
		"off without make":  {reason: "make only removes a file", placed: true, method: methodCopy},
		"off already":       {reason: "nothing is to be done", make: "#!/bin/sh\ntouch called\n"},
		"off, make refuses": {reason: "a make that cannot is as good as none", make: "#!/bin/sh\nexit 2\n", placed: true, method: methodCopy},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.o.DirectNFS = tc.on
			tools := t.TempDir()
			i.o.Env[0] = "PATH=" + tools
			if tc.make != "" {
				i.write(tools+"/make", 0o755, strings.Replace(tc.make, "#!/bin/sh\n", "#!/bin/sh\nPATH=/usr/bin:/bin\n", 1))
				i.write(filepath.Join(i.home, makefile), 0o644, "")
			}
			if tc.placed {
				i.write(filepath.Join(i.home, placed), 0o644, "old")
			}
			l, err := i.o.switchDirectNFS(t.Context(), i.home)
			if err != nil {
				t.Fatal(err)
			}
			want := runfile.DirectNFSLibrary{Wanted: tc.on, Method: tc.method}
			if tc.on {
				want.Path = filepath.Join(i.home, placed)
			}
			if l.Wanted != want.Wanted || l.Method != want.Method || l.Path != want.Path {
				t.Errorf("%s: %+v, want %+v", tc.reason, l, want)
			}
			_, err = os.Stat(filepath.Join(i.home, placed))
			if is := err == nil; is != tc.on {
				t.Errorf("the library is there: %t, wanted %t", is, tc.on)
			}
			if _, err := os.Stat(i.home + "/rdbms/lib/called"); err == nil {
				t.Error("make ran for nothing")
			}
		})
	}
}

func TestTheUnversionedLibraryOfLaterReleasesCounts(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.DirectNFS = true
	_ = os.Remove(i.home + "/lib/libnfsodm19.so")
	i.write(i.home+"/lib/libnfsodm.so", 0o644, "26ai")
	r := i.start()
	s := r.ready(1)
	want := i.home + "/rdbms/lib/odm/libnfsodm.so"
	if s.Library.Path != want || s.Library.Method != methodCopy || i.read(want) != "26ai" {
		t.Errorf("library %+v", s.Library)
	}
	if s.Library.OradismOwner == nil || *s.Library.OradismOwner != 0 || !strings.HasPrefix(s.Library.OradismMode, "-rws") {
		t.Errorf("oradism %s of %v", s.Library.OradismMode, s.Library.OradismOwner)
	}
}

func TestWhatStandsInTheWayOfDirectNFSIsSaidBeforeTheDatabaseStarts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(*image)
		code  string
		words []string
	}{
		"no library": {
			func(i *image) { _ = os.Remove(i.home + "/lib/libnfsodm19.so") },
			runfile.FailureDirectNFSMissing,
			[]string{"libnfsodm*.so", "database/enterprise", "protocol.client"},
		},
		"no home": {
			func(i *image) { i.o.Env, i.o.ProductRoot = i.o.Env[:2], i.base+"/nothing" },
			runfile.FailureDirectNFSMissing,
			[]string{"ORACLE_HOME", "protocol.client"},
		},
		"odm is a file": {
			func(i *image) {
				_ = os.Remove(i.home + "/rdbms/lib/odm")
				i.write(i.home+"/rdbms/lib/odm", 0o644, "")
			},
			runfile.FailureDirectNFSMissing,
			[]string{"cannot be switched", "54321"},
		},
		"oradism not setuid": {
			func(i *image) {
				_ = os.Remove(i.home + "/bin/oradism")
				i.write(i.home+"/bin/oradism", 0o750, "")
			},
			runfile.FailureOradism,
			[]string{"-rwxr-x---", "silently", "chown root:oinstall"},
		},
		"no oradism": {
			func(i *image) { _ = os.Remove(i.home + "/bin/oradism") },
			runfile.FailureOradism,
			[]string{"bin/oradism", "chmod 4750"},
		},
		"no new privileges": {
			func(i *image) { i.write(i.o.ProcDir+"/self/status", 0o644, "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\n") },
			runfile.FailureOradism,
			[]string{"allowPrivilegeEscalation: false", "protocol.client"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.o.DirectNFS = true
			tc.spoil(i)
			i.fails(tc.code, tc.words...)
			i.started(0)
		})
	}
}

// TestAnOradismOfAnotherUserIsNone needs no root: the owner is not root's then
// anyway.
func TestAnOradismOfAnotherUserIsNone(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.DirectNFS = true
	path := i.home + "/bin/oradism"
	_ = os.Remove(path)
	i.write(path, 0o755, "")
	if os.Getuid() == 0 {
		if err := os.Chown(path, 54321, 54321); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	f := i.fails(runfile.FailureOradism)
	if !strings.Contains(f.Message, "-rwsr-xr-x") || !strings.Contains(f.Message, "owned by user ") {
		t.Errorf("message %q", f.Message)
	}
	if s := i.state(); s.Library.OradismMode != "-rwsr-xr-x" || s.Library.OradismOwner == nil || *s.Library.OradismOwner == 0 {
		t.Errorf("library %+v", s.Library)
	}
}

func TestTheKernelsClientNeedsNeitherLibraryNorOradism(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	_ = os.Remove(i.home + "/bin/oradism")
	_ = os.Remove(i.home + "/lib/libnfsodm19.so")
	i.write(i.home+"/rdbms/lib/odm/libnfsodm19.so", 0o644, "left on by the image")
	r := i.start()
	if s := r.ready(1); s.Library.Wanted || s.Library.Path != "" || s.Library.Method != methodCopy {
		t.Errorf("library %+v", s.Library)
	}
}

func TestTheHomeIsFoundWhereTheImageDoesNotNameIt(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Env = append(i.o.Env[:2:2], i.o.Env[3:]...)
	newer := i.base + "/product/26ai/dbhomeFree"
	i.write(i.home+"/bin/oracle", 0o755, "")
	i.write(newer+"/bin/oracle", 0o755, "")
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "echo started", `echo "home $ORACLE_HOME"; echo started`, 1))
	r := i.start()
	if s := r.ready(1); s.OracleHome != newer {
		t.Errorf("home %q, want %q", s.OracleHome, newer)
	}
	if err := r.end(); err != nil { // then all of its output is there
		t.Error(err)
	}
	if !strings.Contains(i.out.String(), "home "+newer) {
		t.Errorf("the database does not see its home: %s", i.out)
	}
}

func TestTheVolumeIsLookedAtBeforeTheDatabaseStarts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(*image)
		code  string
		words []string
	}{
		"not writable": {
			func(i *image) { i.o.DataDirectory = "/proc" }, runfile.FailureAccessDenied,
			[]string{"cannot write to /proc", "setPermissions", "squashes root", "54321:54321"},
		},
		"nearly full": {
			func(i *image) { i.o.MinFreeBytes = 1 << 60 }, runfile.FailureNoSpace,
			[]string{"MiB free", "1099511627776 MiB", "larger"},
		},
		"no start command": {
			func(i *image) { _ = os.Remove(i.base + "/runOracle.sh") }, runfile.FailureDatabaseNotReady,
			[]string{"no start command", "runOracle.sh", "database.container.command"},
		},
		"start command no program": {
			func(i *image) { i.write(i.base+"/runOracle.sh", 0o644, startScript) }, runfile.FailureDatabaseNotReady,
			[]string{"no program"},
		},
		"no health script": {
			func(i *image) { i.o.HealthCommand = []string{"never-there"} }, runfile.FailureDatabaseNotReady,
			[]string{"no health script", "database.container.healthCommand"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			tc.spoil(i)
			i.fails(tc.code, tc.words...)
		})
	}
}

func TestAFullVolumeIsToldFromOneThatRefuses(t *testing.T) {
	t.Parallel()
	for err, full := range map[error]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EACCES: false, syscall.EROFS: false,
	} {
		if got := isFull(errors.Join(&os.PathError{Op: "write", Err: err})); got != full {
			t.Errorf("%v: full %t", err, got)
		}
	}
}
