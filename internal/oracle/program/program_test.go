package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/output"
)

const password = "tiger with a blank"

// place is a directory with a plan, a password and a run directory.
type place struct {
	t                      *testing.T
	plan, password, runDir string
}

func newPlace(t *testing.T, change func(*runfile.Plan)) place {
	t.Helper()
	dir := t.TempDir()
	p := place{t, filepath.Join(dir, "plan.json"), filepath.Join(dir, "password"), filepath.Join(dir, "run")}
	if err := os.Mkdir(p.runDir, 0o755); err != nil {
		t.Fatal(err)
	}
	plan := calibratePlan()
	change(&plan)
	var text bytes.Buffer
	if err := runfile.WritePlan(&text, plan); err != nil {
		t.Fatal(err)
	}
	p.write(p.plan, text.String())
	p.write(p.password, password+"\n")
	return p
}

func (p place) write(path, text string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) args() []string {
	return []string{"--plan", p.plan, "--run-dir", p.runDir, "--password-file", p.password}
}

// load is what was told in the run directory.
func (p place) load() runfile.Load {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.runDir, runfile.LoadFile))
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	l, err := runfile.ReadLoad(f)
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

// calibratePlan calibrates a database that exists.
func calibratePlan() runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "x"}, Clients: 1,
		Engine:   runfile.Engine{Client: bench.ClientKernel, NFSVersion: "NFSv3"},
		Workload: bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1))}},
		Schedule: runfile.Schedule{DurationSeconds: 60, Repetitions: 1, TimeoutSeconds: 7200},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000},
		Database: &runfile.Database{
			Kind: runfile.DatabaseExternal, AdminConnect: "localhost:1521/ORCL", Connects: []string{"localhost:1521/ORCL"}, User: "sys", Role: "SYSDBA",
		},
	}
}

// inContainer makes the database one of the pod.
func inContainer(p *runfile.Plan) {
	d := p.Database
	d.Kind, d.DataDirectory, d.SID, d.StartupTimeoutSeconds = runfile.DatabaseContainer, "/opt/oracle/oradata", "ORCLCDB", 2700
	p.Engine.MountPath = d.DataDirectory
}

func as(change func(*runfile.Database)) func(*runfile.Plan) {
	return func(p *runfile.Plan) { change(p.Database) }
}

func same(*runfile.Plan) {}

func TestTheRunIsHandedWhatTheFilesSay(t *testing.T) {
	cases := map[string]struct {
		change    func(*runfile.Plan)
		userFile  string
		user      string
		container bool
	}{
		"external":       {same, "", "sys", false},
		"container":      {inContainer, "", "sys", true},
		"user of a file": {same, "bench\n", "bench", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			at := newPlace(t, tc.change)
			var stderr bytes.Buffer
			p := &program{err: &stderr, now: time.Now, log: slog.New(slog.DiscardHandler)}
			args := at.args()
			if tc.userFile != "" {
				at.write(at.plan+".user", tc.userFile)
				args = append(args, "--user-file", at.plan+".user")
			}
			if err := p.flags.parse(args, &stderr); err != nil {
				t.Fatal(err)
			}
			p.execute = func(_ context.Context, o run.Options) (*runfile.Load, error) {
				if o.User != tc.user || o.Password != password || (o.Database != nil) != tc.container {
					t.Errorf("user %q, password %q, database %v", o.User, o.Password, o.Database)
				}
				if o.Plan.Workload.Calibrate == nil || o.Root == nil {
					t.Errorf("plan %+v", o.Plan)
				}
				if _, peak := o.Usage(); peak < 1<<20 {
					t.Errorf("a peak of %d bytes", peak)
				}
				o.Sink.Event(runfile.Event{Span: runfile.SpanConnect, Percent: 7})
				return &runfile.Load{}, o.Sink.Load(&runfile.Load{FilledBytes: 77})
			}
			if code, err := p.run(t.Context()); code != exitOK || err != nil {
				t.Errorf("code %d, %v", code, err)
			}
			if got := at.load().FilledBytes; got != 77 {
				t.Errorf("%d bytes in the run directory", got)
			}
			var event runfile.Event
			if err := json.Unmarshal(stderr.Bytes(), &event); err != nil || event.Percent != 7 {
				t.Errorf("progress %q, %v", stderr.String(), err)
			}
			if events, _ := os.ReadFile(filepath.Join(at.runDir, runfile.EventsFile)); !bytes.Equal(events, stderr.Bytes()) {
				t.Errorf("events %q, shown %q", events, stderr.String())
			}
		})
	}
}

func TestTheExitCodeSaysHowTheLoadEnded(t *testing.T) {
	at := newPlace(t, same)
	cases := map[string]struct {
		load *runfile.Load
		err  error
		code int
		text string
	}{
		"well":        {&runfile.Load{}, nil, exitOK, ""},
		"failed":      {&runfile.Load{Failure: &runfile.Failure{Code: runfile.FailureBusy, Message: "others work"}}, nil, exitFailed, "DatabaseBusy: others work"},
		"nobody told": {&runfile.Load{}, errors.New("disk full"), exitFailed, "disk full"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &program{err: &bytes.Buffer{}, now: time.Now, log: slog.New(slog.DiscardHandler)}
			p.flags = flags{plan: at.plan, runDir: at.runDir, passwordFile: at.password}
			p.execute = func(context.Context, run.Options) (*runfile.Load, error) { return tc.load, tc.err }
			code, err := p.run(t.Context())
			if code != tc.code || (err == nil) != (tc.text == "") || err != nil && err.Error() != tc.text {
				t.Errorf("code %d, %v; want %d, %q", code, err, tc.code, tc.text)
			}
		})
	}
}

func TestWhatIsWrongWithTheFilesIsToldInTheRunDirectory(t *testing.T) {
	cases := map[string]struct {
		change func(*runfile.Plan)
		spoil  func(place)
		code   string
		words  string
	}{
		"no plan":        {same, func(p place) { _ = os.Remove(p.plan) }, runfile.FailureInvalidPlan, "no such file"},
		"no JSON":        {same, func(p place) { p.write(p.plan, "{") }, runfile.FailureInvalidPlan, "--plan"},
		"no database":    {func(p *runfile.Plan) { p.Database = nil }, func(place) {}, runfile.FailureInvalidPlan, "nfsbench load"},
		"invalid":        {as(func(d *runfile.Database) { d.Kind = "Other" }), func(place) {}, runfile.FailureInvalidPlan, "database.kind"},
		"no user":        {as(func(d *runfile.Database) { d.User = "" }), func(place) {}, runfile.FailureInvalidPlan, "--user-file"},
		"no password":    {same, func(p place) { _ = os.Remove(p.password) }, runfile.FailurePassword, "Secret"},
		"empty password": {same, func(p place) { p.write(p.password, "\n") }, runfile.FailurePassword, "is empty"},
		"two lines":      {same, func(p place) { p.write(p.password, "tiger\nscott\n") }, runfile.FailurePassword, "several lines"},
		"endless":        {same, func(p place) { p.write(p.password, strings.Repeat("tiger", 1000)) }, runfile.FailurePassword, "longer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			at := newPlace(t, tc.change)
			tc.spoil(at)
			var stdout, stderr bytes.Buffer
			if code := Main(t.Context(), at.args(), nil, &stdout, &stderr); code != exitBadInput {
				t.Errorf("code %d", code)
			}
			l := at.load()
			if !l.Partial || l.Failure == nil || l.Failure.Code != tc.code || !strings.Contains(l.Failure.Message, tc.words) {
				t.Errorf("load %+v, failure %+v, want %s with %q", l, l.Failure, tc.code, tc.words)
			}
			if len(l.Spans) != 1 || l.Spans[0].Kind != runfile.SpanDone {
				t.Errorf("spans %+v", l.Spans)
			}
			if strings.Contains(stderr.String()+l.Failure.Message, "tiger") {
				t.Errorf("the password comes out: %s", stderr.String())
			}
			if !strings.Contains(stderr.String(), "oraload: ") || stdout.Len() > 0 {
				t.Errorf("stderr %q, stdout %q", stderr.String(), stdout.String())
			}
		})
	}
}

func TestTheCommandLineExplainsItself(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Main(t.Context(), []string{"--help"}, nil, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("code %d, %s", code, stderr.String())
	}
	for _, want := range []string{"Examples:", "--password-file", "Exit codes", "$ORACLE_HOME/lib"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not in the help", want)
		}
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"nothing":       {nil, "--plan is required"},
		"no run dir":    {[]string{"--plan", "x", "--password-file", "y"}, "--run-dir is required"},
		"no password":   {[]string{"--plan", "x", "--run-dir", "y"}, "--password-file is required"},
		"unknown":       {[]string{"--password", "tiger"}, "unknown flag: --password"},
		"stray":         {[]string{"plan.json"}, `"plan.json" is no flag`},
		"missing place": {[]string{"--plan", "x", "--run-dir", t.TempDir() + "/no", "--password-file", "z"}, "--run-dir: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := Main(t.Context(), tc.args, nil, &bytes.Buffer{}, &stderr); code != exitBadInput {
				t.Errorf("code %d", code)
			}
			if !strings.HasPrefix(stderr.String(), "oraload: "+tc.want) {
				t.Errorf("stderr %q, want %q", stderr.String(), tc.want)
			}
		})
	}
}

// TestALoaderBesideACollectorStaysUntilTheResultIsPublished: a pod whose loader
// has ended starts no collector again. One that is told to end while it waits says so.
func TestALoaderBesideACollectorStaysUntilTheResultIsPublished(t *testing.T) {
	for name, published := range map[string]bool{"published": true, "told to end": false} {
		t.Run(name, func(t *testing.T) {
			at := newPlace(t, same)
			at.write(filepath.Join(at.runDir, collect.ReadyFile), "")
			var log output.Buffer
			p := &program{err: &bytes.Buffer{}, now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}
			p.flags = flags{plan: at.plan, runDir: at.runDir, passwordFile: at.password}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p.execute = func(context.Context, run.Options) (*runfile.Load, error) {
				if published {
					at.write(filepath.Join(at.runDir, collect.FinalFile), "")
				} else {
					cancel()
				}
				return &runfile.Load{}, nil
			}
			if code, err := p.run(ctx); code != exitOK || err != nil {
				t.Errorf("code %d, %v", code, err)
			}
			if waited := strings.Contains(log.String(), "has not published the result"); waited == published {
				t.Errorf("published %t, log %q", published, log.String())
			}
		})
	}
}
