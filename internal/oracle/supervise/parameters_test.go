package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	hangs   = "trap 'exit 0' TERM; while :; do sleep 0.02; done"
	gaveUp  = "; echo 'DATABASE SETUP WAS NOT SUCCESSFUL!'; " + hangs
	noSpace = "; echo 'Linux-x86_64 Error: 28: No space left on device'; echo 'Additional information: 4278'"
)

// parameters is an image with a database of ours, which does what it is told where its parameters are bad. It
// returns the server parameter file.
func (i *image) parameters(dir, does string) string {
	i.t.Helper()
	file := filepath.Join(i.data, "dbconfig", "ORCLCDB", dir, "spfileORCLCDB.ora")
	i.mark(ownDatabase{SID: "ORCLCDB"})
	i.write(file, 0o640, "good")
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "echo started", "if grep -q bad "+file+
		" || test -f $ORACLE_BASE/broken; then "+does+"; fi\necho started", 1))
	return file
}

// TestParametersThatTheDatabaseDoesNotStartWithArePutBack, so that the volume stays of use.
func TestParametersThatTheDatabaseDoesNotStartWithArePutBack(t *testing.T) {
	t.Parallel()
	const ora = "ORA-00821: Specified value of sga_target 16M is too small"
	ends := "echo '" + ora + "'; exit 1"
	cases := map[string]struct {
		does, text string
		code, says string
		left       string
		starts     int
	}{
		"the image ends":          {ends, "bad", runfile.FailureParameter, ora, "good", 2},
		"the image gives up":      {"echo '" + ora + "'" + gaveUp, "bad", runfile.FailureParameter, ora, "good", 2},
		"nor with the old ones":   {"touch $ORACLE_BASE/broken; " + ends, "bad", runfile.FailureParameter, ora, "good", 1},
		"nothing was changed":     {ends, "good", runfile.FailureDatabaseEnded, ora, "good", 1},
		"others that are as good": {ends, "better", "", "", "better", 2},
		"no shared memory":        {"echo 'ORA-27102: out of memory'" + noSpace + gaveUp, "bad", runfile.FailureParameter, "ORA-27102", "good", 2},
		"no shared memory, and the image ends": {
			"echo 'ORA-27125: unable to create shared memory segment'" + noSpace + "; exit 1", "bad", runfile.FailureParameter,
			"ORA-27125", "good", 2,
		},
		"no shared memory, and nothing was changed": {
			"echo 'ORA-27102: out of memory'" + noSpace + "; exit 1", "good", runfile.FailureDatabaseEnded, "kernel.shmall", "good", 1,
		},
		"a full volume": {"echo 'ORA-19502: write error'" + noSpace + "; exit 1", "bad", runfile.FailureNoSpace, "larger", "good", 1},
	}
	for name, tc := range cases {
		for _, dir := range []string{"", "dbs"} {
			t.Run(name+" "+dir, func(t *testing.T) {
				t.Parallel()
				i := newImage(t)
				file := i.parameters(dir, tc.does)
				r := i.start()
				r.ready(1)
				i.write(file, 0o640, tc.text)
				if tc.text == "good" {
					i.write(i.base+"/broken", 0o640, "")
				}
				i.asksFor("2\n")
				if tc.code == "" {
					r.ready(2)
				} else {
					s := r.await("failed", func(s runfile.DatabaseState) bool { return s.State == runfile.DatabaseFailed })
					if s.Failure.Code != tc.code || !strings.Contains(s.Failure.Message, tc.says) {
						t.Errorf("%+v", s.Failure)
					}
					if broken := strings.Contains(s.Failure.Message, "does not start with it either"); broken != strings.HasPrefix(name, "nor") {
						t.Error(s.Failure.Message)
					}
				}
				if got, starts := i.read(file), i.lines(i.base+"/starts"); got != tc.left || starts != tc.starts {
					t.Errorf("the file has %q after %d starts that went well", got, starts)
				}
				if _, err := os.Lstat(file + beforeRestart); err == nil {
					t.Error("the copy is still there")
				}
			})
		}
	}
}

// TestAStartThatIsEndedDoesNotLeaveTheNewParameters: nobody knows whether they are good. A container that is killed
// leaves those from before to the next one.
func TestAStartThatIsEndedDoesNotLeaveTheNewParameters(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	file := i.parameters("", "touch $ORACLE_BASE/bad; "+hangs)
	r := i.restartsWith(file, "bad")
	killed, corrected, restored := i.killed(file), i.killed(file), i.killed(file)
	if info, err := os.Stat(file + beforeRestart); err != nil || info.Mode() != 0o640 {
		t.Errorf("the copy has the mode %v, %v", info, err)
	}
	r.ends()
	if got := i.read(file); got != "good" || exists(file+beforeRestart) {
		t.Errorf("the container that was ended leaves %q", got)
	}
	if s := i.state(); s.State != runfile.DatabaseStopped {
		t.Errorf("state %+v", s)
	}
	if log := i.log.String(); !strings.Contains(log, "is put back") || strings.Contains(log, "error=<nil>") {
		t.Error(log)
	}
	corrected.repair("corrected", time.Now())
	restored.repair("restored", time.Now().Add(-time.Hour))
	for next, want := range map[*image]string{killed: "good", corrected: "corrected", restored: "restored"} {
		next.start().ready(1)
		if got := next.read(next.parameterFile()); got != want {
			t.Errorf("the container after one that was killed starts with %q, want %q", got, want)
		}
		if left, _ := filepath.Glob(next.parameterFile() + ".*"); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}

// TestParametersAreKeptBeforeTheDatabaseStops, which may take long.
func TestParametersAreKeptBeforeTheDatabaseStops(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	file := i.parameters("", hangs)
	script := i.base + "/runOracle.sh"
	i.write(script, 0o755, strings.Replace(i.read(script), `echo "Shutting down"`, "test -f "+file+beforeRestart+
		` && touch $ORACLE_BASE/kept; echo "Shutting down"`, 1))
	r := i.start()
	r.ready(1)
	i.write(file, 0o640, "better")
	i.asksFor("2\n")
	r.ready(2)
	if !exists(i.base + "/kept") {
		t.Error("while the database stops, there is no copy")
	}
}

// TestAChangeByHandOutlivesAnEndedStart: a first start has no parameters of the loader.
func TestAChangeByHandOutlivesAnEndedStart(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	file := i.parameters("", "touch $ORACLE_BASE/bad; "+hangs)
	r := i.start()
	r.ready(1)
	i.write(file, 0o640, "bad, by hand")
	r.ends()
	r = i.start() // in the same pod
	i.until("the start", func() bool { return exists(i.base + "/bad") })
	r.ends()
	if got := i.read(file); got != "bad, by hand" {
		t.Errorf("the start that was ended leaves %q", got)
	}
}

// TestParametersAreNotPutBackOnAVolumeThatIsLost to another database.
func TestParametersAreNotPutBackOnAVolumeThatIsLost(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Owner, i.o.HeartbeatInterval = "ns/a", 20*time.Millisecond
	file := i.parameters("", "touch $ORACLE_BASE/bad; "+hangs)
	r := i.restartsWith(file, "bad")
	other := i.o
	other.Owner = "ns/b"
	n := 0
	i.until("the end", func() bool {
		n++
		if err := other.writeHeartbeat(n, 0); err != nil {
			t.Error(err)
		}
		return len(r.done) > 0
	})
	if got := i.read(file); got != "bad" {
		t.Errorf("the other database finds %q", got)
	}
}

// restartsWith waits until a restart with these parameters is under way.
func (i *image) restartsWith(file, text string) *running {
	i.t.Helper()
	r := i.start()
	r.ready(1)
	i.write(file, 0o640, text)
	i.asksFor("2\n")
	i.until("the start", func() bool { return exists(i.base + "/bad") })
	return r
}

// killed is the next container, on what is on the volume now, and on a copy that was half written.
func (i *image) killed(file string) *image {
	i.t.Helper()
	next := newImage(i.t)
	to := next.parameters("", "exit 1")
	next.write(to, 0o640, i.read(file))
	next.write(to+beforeRestart, 0o640, i.read(file+beforeRestart))
	next.write(to+beforeRestart+".nfsbench-1", 0o600, "")
	return next
}

// repair replaces the server parameter file after the copy was made, by a file of that time.
func (i *image) repair(text string, modified time.Time) {
	i.t.Helper()
	file := i.parameterFile()
	i.write(file, 0o640, text)
	i.until("a later change", func() bool {
		var now, before unix.Stat_t
		err := errors.Join(os.Chtimes(file, modified, modified), unix.Stat(file, &now), unix.Stat(file+beforeRestart, &before))
		if err != nil {
			i.t.Fatal(err)
		}
		return now.Ctim.Nano() > before.Ctim.Nano()
	})
}

func (i *image) parameterFile() string { return filepath.Join(i.data, i.o.parameterFile()) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
