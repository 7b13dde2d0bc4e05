package oraclesuite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/repository"
)

// The engine and the suite of a machine without Docker: a container is a folder, and what runs
// inside runs here. The engine writes down what it is called with.
const (
	fakeEngine = `#!/bin/sh
echo "$*" >>"$FAKE/calls"
case $1 in
info) exit 0 ;;
run) [ "$FAKE_RUN" = no ] && exit 125; echo "$ORACLE_PWD" >"$FAKE/password"; touch "$FAKE/running" ;;
inspect) if [ -e "$FAKE/image.tar" ]; then printf '%s\n' ORACLE_BASE=/u01 RUN_FILE=run.sh ORACLE_HOME=/u01/product/19c/dbhome_1 PATH=/usr/bin; exit; fi; [ -e "$FAKE/ended" ] && echo false || echo true ;;
logs) echo "ORA-01034 of the image" ;;
create) echo container1 ;;
export) cat "$FAKE/image.tar" ;;
rm) rm -f "$FAKE/running" ;;
exec)
	[ -e "$FAKE/running" ] || exit 1
	shift 3
	for word; do shift; set -- "$@" "$(echo "$word" | sed "s#/tmp/#$FAKE/#g; s#cd /tmp#cd $FAKE#")"; done
	ORACLE_BASE=$FAKE ORACLE_HOME=$FAKE/home exec "$@"
	;;
esac
`
	fakeHealth = `#!/bin/sh
echo x >>"$FAKE/looks"
[ "$FAKE_NEVER" = yes ] && touch "$FAKE/ended" && exit 1
[ "$(wc -l <"$FAKE/looks")" -ge 3 ]
`
	fakeSuite = `#!/bin/sh
echo "$ORACLE_DSN" >"$FAKE/dsn"
echo "of $ORACLE_IMAGE with $LD_LIBRARY_PATH" >"$ORACLE_REPORT"
exit "${FAKE_CODE:-0}"
`
)

type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	b := machine{t, t.TempDir()}
	for name, text := range map[string]string{"bin/docker": fakeEngine, "checkDBStatus.sh": fakeHealth, "suite": fakeSuite} {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b machine) run(env ...string) (string, error) { b.t.Helper(); return b.script("test.sh", env...) }

func (b machine) script(name string, env ...string) (string, error) {
	b.t.Helper()
	script, err := repository.Path("hack/oracle/" + name)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.CommandContext(b.t.Context(), script)
	cmd.Env = append(os.Environ(), "PATH="+b.dir+"/bin:"+os.Getenv("PATH"), "FAKE="+b.dir, "SUITE="+b.dir+"/suite", "POLL_SECONDS=0",
		"REPORT="+b.dir+"/report.md", "ORACLE_DSN=", "ENGINE=")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b machine) read(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Error(err)
	}
	return strings.TrimSpace(string(raw))
}

// TestTheSuiteRunsInsideAContainer of the image, which is removed; its report is kept.
func TestTheSuiteRunsInsideAContainer(t *testing.T) {
	t.Parallel()
	b := newMachine(t)
	out, err := b.run("IMAGE=container-registry.oracle.com/database/free:latest", "WORDS=seconds=2")
	if err != nil || !strings.Contains(out, "read it, and send it") {
		t.Fatalf("%v\n%s", err, out)
	}
	password := b.read("password")
	if got, want := b.read("dsn"), "oracle://sys:"+password+"@localhost:1521/FREE?pdb=FREEPDB1&seconds=2"; got != want {
		t.Errorf("DSN %q, want %q", got, want)
	}
	if got, want := b.read("report.md"), "of container-registry.oracle.com/database/free:latest with "+b.dir+"/home/lib"; got != want {
		t.Errorf("report %q, want %q", got, want)
	}
	calls := b.read("calls")
	if len(password) < 20 || strings.Contains(calls, password) || strings.Contains(out, password) {
		t.Errorf("the password %q can be seen in\n%s\n%s", password, calls, out)
	}
	if !strings.Contains(calls, "--ulimit nofile=1024:65536") || !strings.Contains(calls, "\nrm -f -v nfsbench-test-oracle-") {
		t.Errorf("calls\n%s", calls)
	}
}

// TestAContainerThatCannotBeTestedIsExplainedAndRemoved, and one whose tests fail is reported.
func TestAContainerThatCannotBeTestedIsExplainedAndRemoved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env    []string
		want   string
		report bool
	}{
		"tests fail":      {[]string{"FAKE_CODE=1"}, "read it, and send it", true},
		"the image ends":  {[]string{"FAKE_NEVER=yes"}, "the container ended: ORA-01034 of the image", false},
		"never ready":     {[]string{"READY_MINUTES=0"}, "was not ready within 0 minutes", false},
		"no such engine":  {[]string{"ENGINE=lxc"}, "ENGINE is lxc; use one of docker podman kubectl", false},
		"nothing to test": {[]string{"IMAGE="}, "set IMAGE=... or ORACLE_DSN=", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newMachine(t)
			out, err := b.run(append([]string{"IMAGE=container-registry.oracle.com/database/enterprise:19.3.0.0"}, tc.env...)...)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%v\n%s", err, out)
			}
			if _, err := os.Stat(b.dir + "/report.md"); (err == nil) != tc.report {
				t.Errorf("report: %v", err)
			}
			if _, err := os.Stat(b.dir + "/running"); err == nil {
				t.Error("the container is left")
			}
		})
	}
}
