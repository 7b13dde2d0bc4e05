package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle/slobconf"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// report is what a kit's script leaves; its numbers are those of nfs-vs-dnfs.
const report = `cat > awr.txt <<'EOF'
Top 5 Timed Foreground Events
                                                           Avg
                                                          wait   % DB
Event                                 Waits     Time(s)   (ms)   time Wait Class
------------------------------ ------------ ----------- ------ ------ ----------
db file sequential read             402,262         266      1   95.8 User I/O
EOF
`

// kit makes one with this runit.sh. It returns its directory and a file that the
// script may write.
func kit(t *testing.T, script string) (dir, notes string) {
	t.Helper()
	dir = t.TempDir()
	notes = filepath.Join(t.TempDir(), "notes")
	for name, text := range map[string]string{
		"mywait": "", "trigger": "",
		"runit.sh":  "#!/bin/sh\nnotes=" + notes + "\n" + script,
		"slob.conf": "UPDATE_PCT=10\nRUN_TIME=99999\nWORK_LOOP=5000\nSYSDBA_PASSWD=tiger\n",
	} {
		put(t, dir, name, text)
	}
	t.Setenv("TMPDIR", t.TempDir())
	return dir, notes
}

// kitDatabase is one in which setup.sh has loaded USER1 and USER2, with the sizes that the
// slob.conf of kit has.
func kitDatabase() *database {
	d := newDatabase()
	d.users["USER1"] = markedUser(10000)
	return d
}

// markedUser has the marker of a kit with so many blocks in each CF1.
func markedUser(blocks int64) *user {
	return &user{
		tables: map[string]*rowsOf{"NFSBENCH_MARKER": {}},
		marker: [][]any{{"Kit", int64(1), blocks * 8192, int64(128), int64(8192), int64(0), "NFSBENCH", int64(0)}},
	}
}

func kitPlan(dir string) runfile.Plan {
	p := testPlan()
	p.Workload.SLOB.Kit = &bench.SLOBKit{Directory: dir}
	p.Schedule = runfile.Schedule{DurationSeconds: 60, Repetitions: 1}
	p.Database.RestartBeforeRun = false
	return p
}

// externalKitPlan runs the kit in a database of others.
func externalKitPlan(dir string) runfile.Plan {
	p := externalPlan()
	p.Workload.SLOB.Kit, p.Workload.SLOB.Users, p.Schedule.DurationSeconds = &bench.SLOBKit{Directory: dir}, []int32{2}, 60
	return p
}

// put writes a file of a kit.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

func TestTheUsersKitIsRunForEachStep(t *testing.T) {
	dir, notes := kit(t, `. ./slob.conf
echo "$@ RUN_TIME=$RUN_TIME WORK_LOOP=$WORK_LOOP UPDATE_PCT=$UPDATE_PCT $DATABASE_STATISTICS_TYPE $ADMIN_SQLNET_SERVICE" >> $notes
touch ./left-behind
`+report)
	load, _ := runOn(t.Context(), t, kitDatabase(), kitPlan(dir))
	wantSuccess(t, load)
	got, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	want := "-s 2 -t 1 RUN_TIME=60 WORK_LOOP=5000 UPDATE_PCT=10 statspack //localhost:1521/ORCLPDB1\n-s 2 -t 2 RUN_TIME=60 WORK_LOOP=5000 UPDATE_PCT=10 statspack //localhost:1521/ORCLPDB1\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if got := spansOf(load); got != "Connect Fill Measure1 Measure2 Done" {
		t.Error(got)
	}
	for _, rep := range load.Repetitions {
		rows := []runfile.AWRRow{{Event: "db file sequential read", Waits: 402262, Seconds: 266, SecondsRounding: .5}}
		if diff := cmp.Diff(rows, rep.Oracle.AWR); diff != "" {
			t.Error(diff)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 4 {
		t.Errorf("the kit itself was written to: %v", left)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("copies are left: %v", left)
	}
}

func TestAKitWithoutAReportOrWithAnErrorIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		script, code, want string
	}{
		"no report": {"true\n", runfile.FailureSQL, "left neither awr.txt nor statspack.txt"},
		"bad":       {"echo hello > statspack.txt\n", runfile.FailureSQL, "read statspack.txt of the SLOB kit: there is no table"},
		"fails":     {"echo starting\necho 'FATAL: no schemas'\nexit 3\n", runfile.FailureSQL, "runit.sh of the SLOB kit failed (exit status 3); its last line: FATAL: no schemas"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := kit(t, c.script)
			load, _ := runOn(t.Context(), t, kitDatabase(), kitPlan(dir))
			wantFailure(t, load, c.code, c.want)
		})
	}
}

// A kit that somebody has run by hand still has the report of that run.
func TestAnOldReportInTheKitIsNotThatOfTheRun(t *testing.T) {
	old := strings.ReplaceAll(strings.TrimSuffix(strings.SplitN(report, "\n", 2)[1], "EOF\n"), "402,262", "900,000")
	dir, _ := kit(t, strings.ReplaceAll(report, "awr.txt", "statspack.txt"))
	put(t, dir, "awr.txt", old)
	load, _ := runOn(t.Context(), t, kitDatabase(), kitPlan(dir))
	wantSuccess(t, load)
	for _, rep := range load.Repetitions {
		if len(rep.Oracle.AWR) != 1 || rep.Oracle.AWR[0].Waits != 402262 {
			t.Errorf("%+v", rep.Oracle.AWR)
		}
	}
	dir, _ = kit(t, "true\n")
	put(t, dir, "statspack.txt", old)
	load, _ = runOn(t.Context(), t, kitDatabase(), kitPlan(dir))
	wantFailure(t, load, runfile.FailureSQL, "left neither awr.txt nor statspack.txt")
}

func TestAKitThatCannotBeUsedIsRefused(t *testing.T) {
	dir, _ := kit(t, report)
	plan := kitPlan(dir)
	plan.Workload.SLOB.Users = []int32{4, 5}
	load, _ := runOn(t.Context(), t, kitDatabase(), plan)
	wantFailure(t, load, runfile.FailureInvalidPlan, "workload.slob.users has 5", "multiple of 2")

	plan = kitPlan(dir)
	plan.Schedule.DurationSeconds = 29
	load, _ = runOn(t.Context(), t, kitDatabase(), plan)
	wantFailure(t, load, runfile.FailureInvalidPlan, "durationSeconds is 29", "at least 30")

	plan = externalKitPlan(dir)
	plan.Database.Connects = []string{"rac1:1521/pdb", "rac2:1521/pdb"}
	load, _ = runOn(t.Context(), t, kitDatabase(), plan, withoutContainer)
	wantFailure(t, load, runfile.FailureInvalidPlan, "services has 2 entries", "SQLNET_SERVICE_MAX")

	if err := os.Remove(filepath.Join(dir, "slob.conf")); err != nil {
		t.Fatal(err)
	}
	load, _ = runOn(t.Context(), t, kitDatabase(), kitPlan(dir))
	wantFailure(t, load, runfile.FailureInvalidPlan, "workload.slob.kit.directory must hold slob.conf")
}

func TestAKitIsEndedWithTheRun(t *testing.T) {
	for _, name := range []string{"runit.sh", "setup.sh"} {
		t.Run(name, func(t *testing.T) {
			dir, notes := kit(t, report)
			script := "sleep 600 &\necho $! > " + notes + ".part\nmv " + notes + ".part " + notes + "\nwait\n"
			put(t, dir, name, script)
			d := kitDatabase()
			if name == "setup.sh" {
				d.kit = func() [][]any { return nil }
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				for _, err := os.Stat(notes); err != nil && t.Context().Err() == nil; _, err = os.Stat(notes) {
					time.Sleep(10 * time.Millisecond)
				}
				cancel(errors.New("SIGTERM"))
			}()
			load, _ := runOn(ctx, t, d, kitPlan(dir))
			wantFailure(t, load, runfile.FailureCancelled, "SIGTERM")
			pid, err := os.ReadFile(notes)
			if err != nil {
				t.Fatal(err)
			}
			// It was told to end before the run ended, and takes a moment to be gone.
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
				state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
				if err != nil || strings.Contains(string(state), ") Z ") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("what the script started lives on: %s", state)
				}
			}
		})
	}
}

func TestTheKitLoadsItsSchemasInADatabaseOfOurs(t *testing.T) {
	loaded := [][]any{{"USER1", int64(2), int64(1)}, {"USER2", int64(2), int64(1)}}
	const log = "{ printf 'ORA-00001: old\\nDROP TABLE x\\nORA-00942: table or view does not exist\\n" +
		"ORA-01653: unable to extend table USER1.CF1 by 128 in tablespace NFSBENCH\\nORA-06512: at line 8\\n'; " +
		"yes 'Elapsed: 00:00:01.00' | head -n 9999; printf 'ORA-00942: table or view does not exist\\n'; } > cr_tab_and_load.out; "
	for name, c := range map[string]struct {
		reason string
		before [][]any // users of such names
		marked int64   // blocks in each CF1, as the marker says; 0 = no marker
		setup  string  // the script
		ran    bool
		code   string
		want   string
	}{
		"none":              {"the kit has not been here", nil, 0, "true", true, "", ""},
		"some":              {"fewer schemas than are asked for", [][]any{{"USER0", int64(1), int64(0)}, {"USER1", int64(2), int64(1)}}, 10000, "true", true, "", ""},
		"all":               {"they are used again", loaded, 10000, "exit 3", false, "", ""},
		"cut":               {"setup.sh makes CF1 first, and its rows, index and procedure later", loaded, 0, "true", true, "", ""},
		"another SCALE":     {"runit.sh would read a part, or refuse", loaded, 20000, "true", true, "", ""},
		"cut again":         {"what setup.sh has begun to drop is not what the marker says", loaded, 20000, "exit 1", true, runfile.FailureSQL, "exit status 1"},
		"dropped":           {"an earlier setup.sh was cut while it dropped USER1", [][]any{{"USER1", int64(1), int64(0)}}, 10000, "true", true, "", ""},
		"somebody else":     {"setup.sh would drop it", [][]any{{"USER7", int64(2), int64(0)}}, 0, "true", false, runfile.FailureForeignFiles, "a user USER7 with tables, but without CF1"},
		"setup fails":       {"its words are passed on", nil, 0, "echo 'FATAL: no tnsping'; exit 1", true, runfile.FailureSQL, "setup.sh of the SLOB kit failed (exit status 1); its last line: FATAL: no tnsping; in its log: nothing"},
		"setup's SQL fails": {"its last line has no reason, and its log goes with the pod", nil, 0, log + "echo 'FATAL   : 2026 : '; exit 1", true, runfile.FailureSQL, "(exit status 1); its last line: FATAL   : 2026 :; in its log: ORA-01653: unable to extend table USER1.CF1 by 128 in tablespace NFSBENCH"},
		"setup lies":        {"schemas are missing all the same", nil, 0, "echo 'ORA-01017: denied' > cr_tab_and_load.out; rm $marks", true, runfile.FailureSQL, "not all of the schemas USER1 to USER2 have the table CF1; in its log: ORA-01017: denied"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, notes := kit(t, report)
			marks := notes + ".loaded"
			setup := "marks=" + marks + "\n. ./slob.conf\ntouch $marks\n" +
				`echo "$@ $DBA_PRIV_USER $SYSDBA_PASSWD $ADMIN_SQLNET_SERVICE" > ` + notes + "\n" + c.setup + "\n"
			for name, text := range map[string]string{"setup.sh": setup, "cr_tab_and_load.out": "ORA-00001: of another time\n"} {
				put(t, dir, name, text)
			}
			d := newDatabase()
			if c.marked > 0 {
				d.users["USER1"] = markedUser(c.marked)
			}
			d.kit = func() [][]any {
				if _, err := os.Stat(marks); err != nil {
					return c.before
				}
				if c.ran { // setup.sh has made its users anew
					d.users["USER1"], c.ran = &user{tables: map[string]*rowsOf{}}, false
				}
				return loaded
			}
			ran := c.ran
			load, _ := runOn(t.Context(), t, d, kitPlan(dir), func(o *Options) { o.Password = "secret" })
			if c.code != "" {
				wantFailure(t, load, c.code, c.want)
			} else {
				wantSuccess(t, load)
			}
			got, _ := os.ReadFile(notes)
			want := ""
			if ran {
				want = "NFSBENCH 2 system secret //localhost:1521/ORCLPDB1\n"
			}
			if string(got) != want {
				t.Errorf("%s: setup.sh got %q, want %q", c.reason, got, want)
			}
			if ran != (d.tablespaces["NFSBENCH"] != "") {
				t.Errorf("%s: tablespaces %v", c.reason, d.tablespaces)
			}
			if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
				t.Errorf("copies are left, with the password: %v", left)
			}
			marker, complete := [][]any(nil), markedUser(10000).marker
			if u := d.users["USER1"]; u != nil && len(u.marker) > 0 {
				marker = u.marker
			}
			if c.code != "" {
				complete = nil
			}
			if diff := cmp.Diff(complete, marker); diff != "" {
				t.Errorf("%s: the next run takes for complete: %s", c.reason, diff)
			}
		})
	}
}

// runit.sh finds out half a minute after its trigger, which is hours after setup.sh has begun.
func TestAKitWithoutAReportOfTheDatabaseIsRefusedBeforeItLoads(t *testing.T) {
	for name, c := range map[string]struct {
		awr, there bool // the schemas
		want       string
	}{
		"neither": {false, false, "Statspack is not installed in the pluggable database"},
		"loaded":  {false, true, "set workload.slob.awr to Enabled"},
		"AWR":     {true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := kit(t, report)
			d, plan := kitDatabase(), kitPlan(dir)
			d.noStatspack, plan.Workload.SLOB.AWR = true, map[bool]bench.Toggle{true: bench.Enabled, false: bench.Disabled}[c.awr]
			if !c.there {
				d.kit = func() [][]any { return nil }
			}
			load, _ := runOn(t.Context(), t, d, plan)
			if c.want == "" {
				wantSuccess(t, load)
				return
			}
			wantFailure(t, load, runfile.FailureInvalidPlan, c.want)
			if d.has("slob_tablespace_create") {
				t.Errorf("it has begun to load: %v", d.log)
			}
		})
	}
}

func TestTheKitOfADatabaseOfOthersIsLoadedByThem(t *testing.T) {
	dir, notes := kit(t, `. ./slob.conf
echo "$SYSDBA_PASSWD $ADMIN_SQLNET_SERVICE" > $notes
`+report)
	plan := externalKitPlan(dir)
	plan.Database.Connects = []string{"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=db1)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=pdb$1)))"}
	load, _ := runOn(t.Context(), t, kitDatabase(), plan, withoutContainer)
	wantSuccess(t, load)
	got, _ := os.ReadFile(notes)
	if want := "tiger " + plan.Database.Connects[0] + "\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The scripts print connect strings.
func TestThePasswordIsNotInTheWordsOfAKit(t *testing.T) {
	const prints = `. ./slob.conf
echo 'ORA-12154: no "system/'$SYSDBA_PASSWD'@x"' > cr_tab_and_load.out
echo "sqlplus -L system/$SYSDBA_PASSWD@x"
`
	for name, script := range map[string]string{"fails": prints + "exit 1\n", "lies": prints} {
		dir, _ := kit(t, report)
		put(t, dir, "setup.sh", script)
		d := newDatabase()
		d.kit = func() [][]any { return nil }
		load, _ := runOn(t.Context(), t, d, kitPlan(dir))
		wantFailure(t, load, runfile.FailureSQL, `no "system/***@x"`)
		if strings.Contains(load.Failure.Message, "secret") {
			t.Errorf("%s: %s", name, load.Failure.Message)
		}
	}
	dir, _ := kit(t, prints+"exit 1\n")
	plan := externalKitPlan(dir)
	load, _ := runOn(t.Context(), t, kitDatabase(), plan, withoutContainer)
	wantFailure(t, load, runfile.FailureSQL, "its last line: sqlplus -L system/***@x")
}

func TestAPasswordThatIsNoPlainWordIsNotShownEither(t *testing.T) {
	dir, _ := kit(t, report)
	plan := kitPlan(dir)
	copied, err := (&runner{plan: &plan, opt: Options{Password: "it's"}}).copyKit()
	if err != nil {
		t.Fatal(err)
	}
	defer copied.remove()
	if got := copied.shown([]byte("system/it's@x")); got != "system/***@x" {
		t.Error(got)
	}
}

// A password that only a shell can read is in no message: the line that may have it is withheld.
func TestTheOutputIsWithheldWhereAPasswordCannotBeRead(t *testing.T) {
	for text, withheld := range map[string]bool{
		"SYSDBA_PASSWD=\"pa$$word\"\n":                      true,
		"SYSDBA_PASSWD=plain\nSYSDBA_PASSWD=`cat secret`\n": true,
		"SYSDBA_PASSWD=`cat secret`\nSYSDBA_PASSWD=plain\n": false,
		"": false,
	} {
		dir, _ := kit(t, report)
		put(t, dir, "slob.conf", "SCALE=80M\n"+text)
		plan := kitPlan(dir)
		for kind, want := range map[string]bool{runfile.DatabaseExternal: withheld, runfile.DatabaseContainer: false} {
			plan.Database.Kind = kind
			copied, err := (&runner{plan: &plan, opt: Options{Password: "ours"}}).copyKit()
			if err != nil {
				t.Fatal(err)
			}
			got := copied.shown([]byte("sqlplus system/pa$$word@x"))
			copied.remove()
			if strings.Contains(got, "sqlplus") == want {
				t.Errorf("%s with %q: %s", kind, text, got)
			}
		}
	}
}

// A line is cut at its beginning, which must not be in the middle of a password.
func TestALongLineOfAKitHasNoPartOfThePassword(t *testing.T) {
	for n := range 12 {
		dir, _ := kit(t, fmt.Sprintf("printf 'secret%%0%dd' 0; exit 1\n", keptOutput-n))
		load, _ := runOn(t.Context(), t, kitDatabase(), kitPlan(dir))
		wantFailure(t, load, runfile.FailureSQL, "its last line: ")
		if strings.Contains(load.Failure.Message, "et0") {
			t.Fatalf("%.120s", load.Failure.Message)
		}
	}
}

func TestTheServiceThatTheUserSetStays(t *testing.T) {
	plan := kitPlan("/kit")
	plan.Workload.SLOB.AWR = bench.Enabled
	plan.Workload.SLOB.WorkLoop = 700
	r := &runner{plan: &plan, opt: Options{Password: "it's"}}
	got := r.kitConf(kitFile(t, "RUN_TIME=60\nADMIN_SQLNET_SERVICE=mine\nSQLNET_SERVICE_BASE=mine\n"))
	if strings.Contains(got, "SERVICE") || !strings.Contains(got, "DATABASE_STATISTICS_TYPE=awr\nWORK_LOOP=700\n") ||
		!strings.Contains(got, `SYSDBA_PASSWD='it'\''s'`) {
		t.Error(got)
	}
}

func kitFile(t *testing.T, text string) slobconf.Conf {
	t.Helper()
	conf, err := slobconf.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func TestServicesOfTheKitStayHoweverTheyAreWritten(t *testing.T) {
	plan := kitPlan("/kit")
	plan.Database.Connects = []string{"db:1521/s"}
	r := &runner{plan: &plan}
	const admin, base = "ADMIN_SQLNET_SERVICE='//db:1521/s'\n", "SQLNET_SERVICE_BASE='//db:1521/s'\nSQLNET_SERVICE_MAX=\n"
	for text, want := range map[string]string{
		"ADMIN_SQLNET_SERVICE=own; SQLNET_SERVICE_BASE=own":                   "",
		"\texport SQLNET_SERVICE_BASE='own' ADMIN_SQLNET_SERVICE=own":         "",
		"if x; then ADMIN_SQLNET_SERVICE=a; SQLNET_SERVICE_BASE=b; fi":        "",
		"ADMIN_SQLNET_SERVICE=$tns\nSQLNET_SERVICE_BASE=$tns":                 "",
		"SQLNET_SERVICE_BASE=node\nSQLNET_SERVICE_MAX=3":                      admin,
		"ADMIN_SQLNET_SERVICE=own":                                            base,
		"ADMIN_SQLNET_SERVICE=''\nSQLNET_SERVICE_BASE=\nSQLNET_SERVICE_MAX=3": admin + base,
		"# ADMIN_SQLNET_SERVICE=own\nRUN_TIME=60":                             admin + base,
	} {
		var got string
		for line := range strings.Lines(r.kitConf(kitFile(t, text))) {
			if strings.Contains(line, "SQLNET") {
				got += line
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What the plan says holds in the shell that runs the kit, or the kit is refused.
func TestWhatThePlanSaysHoldsInTheKit(t *testing.T) {
	const says = "300 statspack //db1:1521/s //db1:1521/s 1G"
	for text, want := range map[string]string{
		"SCALE=1G\nRUN_TIME=60\nDATABASE_STATISTICS_TYPE=awr\n":    says,
		"SCALE=1G\nRUN_TIME=60 \\":                                 says,
		"SCALE=1G\r\nRUN_TIME=60\r\nADMIN_SQLNET_SERVICE=mine\r\n": "300 statspack mine //db1:1521/s 1G",
		"SCALE=1G\r":                                                says,
		"SCALE=1G\nRUN_TIME=60\nreturn 0\n":                         "line 3 may keep what the benchmark adds at the end from setting ADMIN_SQLNET_SERVICE, DATABASE_STATISTICS_TYPE, RUN_TIME, ",
		"SCALE=1G\nif [ -z \"$X\" ]; then return; fi\n":             "line 2 may keep",
		"SCALE=1G\nreadonly RUN_TIME=60\n":                          "line 2 may keep what the benchmark adds at the end from setting RUN_TIME: remove it",
		"SCALE=1G\ntypeset -r DATABASE_STATISTICS_TYPE=awr\n":       "line 2 may keep what the benchmark adds at the end from setting DATABASE_STATISTICS_TYPE: remove it",
		"SCALE=1G\ncommand readonly RUN_TIME=60\n":                  "setting RUN_TIME",
		"SCALE=1G\nif x; then readonly RUN_TIME=60; fi 2>/dev/null": "setting RUN_TIME",
	} {
		dir, _ := kit(t, report)
		put(t, dir, "slob.conf", text)
		plan := externalKitPlan(dir)
		plan.Schedule.DurationSeconds, plan.Database.Connects = 300, []string{"db1:1521/s"}
		copied, err := (&runner{plan: &plan}).copyKit()
		got := fmt.Sprint(err)
		if err == nil {
			script := `. ./slob.conf; echo -n $RUN_TIME $DATABASE_STATISTICS_TYPE $ADMIN_SQLNET_SERVICE $SQLNET_SERVICE_BASE $SCALE`
			put(t, copied.dir(), "says.sh", script+" > says")
			if err := copied.run(t.Context(), "says.sh"); err != nil {
				t.Fatal(err)
			}
			said, _ := os.ReadFile(filepath.Join(copied.dir(), "says"))
			got = string(said)
			copied.remove()
		}
		if !strings.Contains(got, want) || err == nil && got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The scripts of SLOB are written for bash, whatever sh is.
func TestAKitIsRunByBashWhereThereIsOne(t *testing.T) {
	notes, shells := filepath.Join(t.TempDir(), "notes"), t.TempDir()
	t.Setenv("PATH", shells)
	copied := &kitCopy{root: t.TempDir()}
	if err := os.Mkdir(copied.dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"sh", "bash"} {
		put(t, shells, shell, "#!/bin/sh\necho "+shell+" $1 > "+notes+"\n")
		if err := copied.run(t.Context(), "runit.sh"); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(notes); string(got) != shell+" ./runit.sh\n" {
			t.Errorf("with %s: %q", shell, got)
		}
	}
}
