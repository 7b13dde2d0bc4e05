package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestADatabaseBecomesReadyAndShutsDownWhenAsked(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	r := i.start()
	s := r.ready(1)
	if s.SID != "ORCLCDB" || s.OracleHome != i.home || s.Failure != nil {
		t.Errorf("state %+v", s)
	}
	if s.StartedAt.IsZero() || s.ReadyAt.Before(s.StartedAt) {
		t.Errorf("started at %s, ready at %s", s.StartedAt, s.ReadyAt)
	}
	if err := r.end(); err != nil {
		t.Errorf("SIGTERM is no failure: %v", err)
	}
	if n := i.lines(i.base + "/shutdowns"); n != 1 {
		t.Errorf("%d shutdowns in order, want 1", n)
	}
	if s := i.state(); s.State != runfile.DatabaseStopped {
		t.Errorf("state %s", s.State)
	}
	out := i.out.String()
	if !strings.Contains(out, "DATABASE IS READY TO USE!\n") || strings.Contains(out, password) {
		t.Errorf("passed on: %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(i.run, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheDatabaseRestartsWhenTheLoaderAsks(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `while test -f "$ORACLE_BASE/hold"; do sleep 0.02; done; touch`, 1))
	r := i.start()
	first := r.ready(1)
	hold := i.base + "/hold" // the second start, so that its state can be seen
	i.write(hold, 0o644, "")
	i.asksFor("2\n")
	r.await("restarting", func(s runfile.DatabaseState) bool { return s.State == runfile.DatabaseRestarting })
	i.remove(hold)
	second := r.ready(2)
	if !second.ReadyAt.Equal(first.ReadyAt) {
		t.Errorf("ready at %s, then %s: the first time counts", first.ReadyAt, second.ReadyAt)
	}
	if starts, downs := i.lines(i.base+"/starts"), i.lines(i.base+"/shutdowns"); starts != 2 || downs != 1 {
		t.Errorf("%d starts and %d shutdowns, want 2 and 1", starts, downs)
	}
}

// TestWhatIsFulfilledOrIsNoNumberAsksForNothing: the file is the loader's, and may be old.
func TestWhatIsFulfilledOrIsNoNumberAsksForNothing(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	j, err := openJournal(i.run, runfile.DatabaseState{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.change(func(d *runfile.DatabaseState) { d.Generation = 2 }); err != nil {
		t.Fatal(err)
	}
	for text, asks := range map[string]bool{"3\n": true, "2": false, "1": false, "soon": false, "-3": false, "": false} {
		i.asksFor(text)
		if got := j.asks(); got != asks {
			t.Errorf("%q asks for a restart: %t", text, got)
		}
	}
}

func TestGenerationsGoOnAfterTheContainerWasRestarted(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(filepath.Join(i.run, runfile.DatabaseFile), 0o644, `{"state":"Failed","generation":4,"failure":{"code":"x","message":"y"}}`)
	i.asksFor("4")
	r := i.start()
	if s := r.ready(5); s.Failure != nil {
		t.Errorf("a database that is ready has the failure %+v", s.Failure)
	}
}

func TestAWishFromBeforeTheStartIsFulfilledByIt(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.asksFor("7")
	r := i.start()
	r.ready(7)
	// Had the first request been left, the next start would answer it, and this one would be the third.
	i.asksFor("8")
	r.ready(8)
	i.started(2)
}

func TestADatabaseThatEndsIsAFailureWithItsLastLines(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\nfor n in $(seq 40); do echo line $n; done\necho \"password is $ORACLE_PWD\"\necho ORA-00600: internal error >&2\nexit 3\n")
	f := i.fails(runfile.FailureDatabaseEnded, "exit status 3", "line 40", "ORA-00600: internal error")
	if strings.Contains(f.Message, "line 20") || len(f.Message) > 5000 {
		t.Errorf("a whole log is no sentence: %d bytes", len(f.Message))
	}
}

func TestADatabaseThatEndsAfterItWasReadyIsAFailureToo(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\ntouch $ORACLE_BASE/ready\nwhile test ! -f $ORACLE_BASE/die; do sleep 0.02; done\nkill -9 $$\n")
	r := i.start()
	r.ready(1)
	i.write(i.base+"/die", 0o644, "")
	r.failed(runfile.FailureDatabaseEnded, "signal: killed")
	if err := r.end(); err == nil {
		t.Error("the program ends as if all were well")
	}
}

func TestADatabaseThatPrintsNothingIsSaidToHavePrintedNothing(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\nexit 0\n")
	i.fails(runfile.FailureDatabaseEnded, "exit status 0", "printed nothing")
}

func TestADatabaseThatRunsOutOfSpaceSaysSo(t *testing.T) {
	t.Parallel()
	lines := map[string]string{
		"of the system":     "cp: error writing 'x': No space left on device",
		"of a quota":        "dd: Disk quota exceeded",
		"of Oracle":         "ORA-27072: File I/O error\nLinux-x86_64 Error: 28: No space",
		"of its assistant":  "[FATAL] [DBT-06604] The location specified for 'Data files' has insufficient free space.",
		"of the alert file": "ORA-19502: write error on file: insufficient free space",
	}
	for name, text := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\ncat <<'END'\n"+text+"\nEND\nexit 1\n")
			i.fails(runfile.FailureNoSpace, i.data, "larger")
		})
	}
}

func TestADatabaseThatIsNotReadyInTimeIsExplainedByItsHealthScript(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		health, want string
	}{
		"mounted":       {"exit 2", "ended with 2 (a pluggable database is not open"},
		"not started":   {"exit 1", "ended with 1 (the database is not started"},
		"sqlplus":       {"echo ORA-01034: not available; exit 3", `(sqlplus failed) and said "ORA-01034: not available"`},
		"unknown":       {"exit 77", "ended with 77;"},
		"keeps secrets": {"echo IDENTIFIED BY geheim; exit 3", "IDENTIFIED BY ***"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.o.StartCommand = []string{i.base + "/runOracle.sh"}
			// The time is over once the last words are heard and the health script has answered.
			i.o.Now = func() time.Time {
				if strings.Contains(i.out.String(), "DATABASE IS READY") {
					return time.Now().Add(i.o.StartupTimeout)
				}
				return time.Now()
			}
			i.write(i.base+"/checkDBStatus.sh", 0o755, "#!/bin/sh\n"+tc.health+"\n")
			i.fails(runfile.FailureDatabaseNotReady, tc.want, "10m0s", "DATABASE IS READY TO USE!")
			if n := i.lines(i.base + "/shutdowns"); n != 1 {
				t.Errorf("%d shutdowns in order, want 1", n)
			}
		})
	}
}

func TestAnImageThatGivesUpIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, `#!/bin/sh
trap 'exit 0' TERM
echo "ORA-00821: Specified value of sga_target 16M is too small"
echo "DATABASE SETUP WAS NOT SUCCESSFUL!"
n=0; while :; do n=$((n+1)); echo "alert $n"; sleep 0.02; done
`)
	i.write(i.base+"/checkDBStatus.sh", 0o755, "#!/bin/sh\nexit 1\n")
	began := time.Now()
	i.fails(runfile.FailureDatabaseNotReady, "ORA-00821", "ended with 1")
	if took := time.Since(began); took < surrenderChecks*i.o.HealthInterval {
		t.Errorf("it took %s", took)
	}
	full := newImage(t)
	full.write(full.base+"/runOracle.sh", 0o755, strings.Replace(i.read(i.base+"/runOracle.sh"), "ORA-00821: Specified", "[DBT-06604] The location has insufficient free space. ORA-00821: Specified", 1))
	full.write(full.base+"/checkDBStatus.sh", 0o755, "#!/bin/sh\nexit 1\n")
	full.fails(runfile.FailureNoSpace)
	// One whose database opens after all is none.
	late := newImage(t)
	late.o.Now = func() time.Time { return time.Unix(1_800_000_000, 0) } // so it has all the time
	late.write(late.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "echo started >>", "echo DATABASE SETUP WAS NOT SUCCESSFUL!; sleep 0.1; echo started >>", 1))
	late.startAndEnd(1)
}

func TestADatabaseThatDoesNotStopIsKilled(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.ShutdownTimeout = 200 * time.Millisecond
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\ntrap '' TERM\ntouch $ORACLE_BASE/ready\necho $$ > $ORACLE_BASE/pid\nwhile :; do sleep 0.02; done\n")
	r := i.start()
	r.ready(1)
	began := time.Now()
	r.ends()
	if took := time.Since(began); took < i.o.ShutdownTimeout {
		t.Errorf("stopped after %s", took)
	}
	pid := strings.TrimSpace(i.read(i.base + "/pid"))
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Errorf("process %s lives", pid)
	}
}

func TestAHangingHealthScriptDoesNotOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/checkDBStatus.sh", 0o755, "#!/bin/sh\ntouch $ORACLE_BASE/asked\nsleep 1000\n")
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\nwhile test ! -f $ORACLE_BASE/asked; do sleep 0.02; done\nexit 9\n")
	i.fails(runfile.FailureDatabaseEnded, "exit status 9")
}

func TestStoppingWhileTheDatabaseStartsIsNoFailure(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/checkDBStatus.sh", 0o755, "#!/bin/sh\nexit 1\n")
	r := i.start()
	r.await("starting", func(s runfile.DatabaseState) bool {
		return s.State == runfile.DatabaseStarting && i.lines(i.base+"/starts") == 1
	})
	r.ends()
	if s := i.state(); s.State != runfile.DatabaseStopped || s.Generation != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestAPasswordIsHandedOnWithoutItsLineEnd(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ORACLE_PWD", "ORACLE_PASSWORD"} {
		i := newImage(t)
		i.o.Env = append(i.o.Env, name+"="+password+"\n")
		i.o.Secrets = []string{password + "\n"}
		i.write(i.base+"/runOracle.sh", 0o755, strings.ReplaceAll(startScript, "echo started >>",
			`printf '%s|' "$`+name+`" > "$ORACLE_BASE/given"; echo "sed: $`+name+` is odd"; echo started >>`))
		r := i.start()
		r.ready(1)
		if got, want := i.read(i.base+"/given"), password+"|"; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		r.ends()
		if out := i.out.String(); strings.Contains(out, password) || !strings.Contains(out, "sed: *** is odd") {
			t.Errorf("passed on: %s", out)
		}
	}
}
