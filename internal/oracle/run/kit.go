package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/awr"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/oracle/slobconf"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	killedAfter = 10 * time.Second // grace time of a script after it is told to end
	keptOutput  = 4096             // at the end of a script's output
	shownOutput = 512              // at the end of a line of output
	keptLog     = 1 << 20          // at the end of the log
)

// runKit runs a copy of the kit, because the kit writes into its own directory,
// and reads its report.
func (r *runner) runKit(ctx context.Context, index int32, step runfile.Step) error {
	w := r.plan.Workload.SLOB
	copied, err := r.copyKit()
	if err != nil {
		return err
	}
	defer copied.remove()
	for _, name := range reports() { // of an earlier run of the kit
		if err := os.RemoveAll(filepath.Join(copied.dir(), name)); err != nil {
			return fmt.Errorf("remove an old report from the copy of the SLOB kit: %w", err)
		}
	}
	var rows []runfile.AWRRow
	return r.measure(ctx, index, step, func(ctx context.Context) error {
		args := []string{"-s", fmt.Sprint(w.Schemas), "-t", fmt.Sprint(step.Users / w.Schemas)}
		if err := copied.run(ctx, "runit.sh", args...); err != nil {
			return err
		}
		var err error
		rows, err = readReport(copied.dir())
		return err
	}, func(rep *runfile.Repetition) {
		if rep.Oracle != nil {
			rep.Oracle.AWR = rows
		}
		r.putLatency(rep)
	})
}

// fillKit runs setup.sh to load the kit's schemas into a database of our own, unless an earlier setup.sh has loaded
// them with the sizes of this slob.conf. The owner of an existing database must load them onto the export under test.
func (r *runner) fillKit(ctx context.Context) error {
	external, below := r.plan.Database.Kind == runfile.DatabaseExternal, ""
	if external {
		below = r.plan.Database.DataDirectory
	}
	if external && below == "" {
		return nil
	}
	r.loop.Enter(runfile.SpanFill, 0, time.Time{})
	copied, err := r.copyKit()
	if err != nil {
		return err
	}
	defer copied.remove()
	spec := slob.Spec{SLOB: *r.plan.Workload.SLOB, BlockBytes: copied.tables.BlockBytes, Below: below}
	spec.SLOB.Scale = *bench.Bytes(copied.tables.ScaleBytes)
	spec.SLOB.ScanTableSize = *bench.Bytes(copied.tables.ScanBytes)
	spec.SLOB.ObfuscateColumns = bench.Enabled
	if !copied.tables.Obfuscate {
		spec.SLOB.ObfuscateColumns = bench.Disabled
	}
	schemas, err := do(ctx, r, func(ctx context.Context) (*slob.KitSchemas, error) {
		if err := r.connectSchemas(ctx); err != nil {
			return nil, err
		}
		found, err := slob.FindKit(ctx, r.schemaDB, spec)
		if err != nil {
			return nil, err
		}
		if external {
			return found, found.CheckPlace(ctx)
		}
		return found, found.CheckReport()
	})
	if err != nil || external {
		return err
	}
	r.load.Oracle.SchemasReused = schemas.Loaded()
	if schemas.Loaded() {
		return nil
	}
	if _, err := os.Stat(filepath.Join(copied.dir(), "setup.sh")); err != nil {
		return oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit cannot be used: workload.slob.kit.directory must hold "+
			"setup.sh: %w", err)
	}
	r.loop.Tell("setup.sh of the SLOB kit loads its schemas")
	return r.loop.Do(ctx, func(ctx context.Context) error { return r.setUpKit(ctx, copied, spec, schemas) })
}

// setUpKit runs setup.sh, and marks the schemas that it has loaded.
func (r *runner) setUpKit(ctx context.Context, copied *kitCopy, spec slob.Spec, schemas *slob.KitSchemas) error {
	if err := schemas.Prepare(ctx); err != nil {
		return err
	}
	_ = os.Remove(copied.log()) // from an earlier run
	err := copied.run(ctx, "setup.sh", strings.ToUpper(spec.SLOB.Tablespace), fmt.Sprint(spec.SLOB.Schemas))
	if err != nil {
		return oracle.Failf(runfile.FailureSQL, "%w; in its log: %s", err, copied.logged())
	}
	found, err := slob.FindKit(ctx, r.schemaDB, spec)
	if err != nil {
		return err
	}
	if found.Missing() {
		return oracle.Failf(runfile.FailureSQL, "setup.sh of the SLOB kit ended, but not all of the schemas USER1 to USER%d "+
			"have the table CF1; in its log: %s", spec.SLOB.Schemas, copied.logged())
	}
	return found.Mark(ctx)
}

// kitCopy is a copy of the user's kit.
type kitCopy struct {
	root    string // contains nothing else
	tables  slobconf.Tables
	secrets []string // secrets that the scripts print in connect strings
	// withheld hides the output, because it may contain an unknown password.
	withheld bool
}

func (k *kitCopy) dir() string { return filepath.Join(k.root, "kit") }

func (k *kitCopy) remove() { _ = os.RemoveAll(k.root) } // the pod ends soon

// log returns the path of the log of setup.sh.
func (k *kitCopy) log() string { return filepath.Join(k.dir(), "cr_tab_and_load.out") }

// logged returns the last error near the end of the log, or else its last line. It skips ORA-00942, because setup.sh
// first drops a table that is absent, and ORA-06512, which is a line of a call stack.
func (k *kitCopy) logged() string {
	info, err := os.Stat(k.log())
	if err != nil || !info.Mode().IsRegular() {
		return "nothing"
	}
	f, err := os.Open(k.log())
	if err != nil {
		return "nothing"
	}
	defer f.Close() //nolint:errcheck // only read
	from := max(0, info.Size()-keptLog)
	text, _ := io.ReadAll(io.NewSectionReader(f, from, keptLog))
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n")) // the first line may be cut
	}
	lines, code := bytes.Split(bytes.TrimSpace(text), []byte("\n")), regexp.MustCompile(`\b(?:ORA|SP2|TNS)-[0-9]{4,5}\b`)
	for _, line := range slices.Backward(lines) {
		n := code.Find(line)
		if n != nil && string(n) != "ORA-00942" && string(n) != "ORA-06512" {
			return k.shown(line)
		}
	}
	return k.shown(lines[len(lines)-1])
}

// shown returns the end of a line without passwords. It is shorter than the kept output, so that it cannot begin
// within a password.
func (k *kitCopy) shown(line []byte) string {
	if k.withheld {
		return "not shown, because the value of SYSDBA_PASSWD in slob.conf is no plain word and may be in it"
	}
	text := strings.TrimSpace(string(line))
	for _, secret := range k.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return strings.ToValidUTF8(text[max(0, len(text)-shownOutput):], "?")
}

// copyKit copies the kit, and appends the settings of the plan to its slob.conf. A shell reads slob.conf, so the last
// assignment of a name counts.
func (r *runner) copyKit() (*kitCopy, error) {
	root, err := os.MkdirTemp("", "slob-")
	if err != nil {
		return nil, fmt.Errorf("make room for a copy of the SLOB kit: %w", err)
	}
	k := &kitCopy{root: root, secrets: []string{r.opt.Password}}
	if err := r.copyKitTo(k); err != nil {
		k.remove()
		return nil, oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit cannot be used: %w", err)
	}
	return k, nil
}

// checkKit refuses a kit that cannot run.
func (r *runner) checkKit() error {
	w := r.plan.Workload.SLOB
	if w == nil || w.Kit == nil {
		return nil
	}
	if err := slobconf.CheckKit(os.DirFS(runfile.KitDirectory(*w.Kit)), len(r.plan.Database.Connects)); err != nil {
		return oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit cannot be used: %w", err)
	}
	return nil
}

func (r *runner) copyKitTo(k *kitCopy) error {
	if err := os.CopyFS(k.dir(), os.DirFS(runfile.KitDirectory(*r.plan.Workload.SLOB.Kit))); err != nil {
		return fmt.Errorf("copy it: %w", err)
	}
	file := filepath.Join(k.dir(), "slob.conf")
	text, err := os.ReadFile(file) //nolint:gosec // a copy of the user's own
	if err != nil {
		return err
	}
	conf, err := slobconf.Parse(bytes.NewReader(text))
	if err == nil {
		added := r.kitConf(conf)
		said, _ := slobconf.Parse(strings.NewReader(added))
		text = bytes.ReplaceAll(append(text, added...), []byte("\r\n"), []byte("\n")) // bash takes CR as part of a value
		if conf, err = slobconf.Parse(bytes.NewReader(text)); err == nil {
			err = conf.Holds(said)
		}
	}
	if err == nil {
		password, known := conf.Password()
		k.secrets = append(k.secrets, password)
		k.withheld = !known && r.plan.Database.Kind != runfile.DatabaseContainer // we know the password of a container
		k.tables, err = conf.Tables()
	}
	if err != nil {
		return fmt.Errorf("slob.conf: %w", err)
	}
	return os.WriteFile(file, text, 0o600)
}

// kitConf returns the settings of the plan. The user's WORK_LOOP stays unless the plan has one. The user's services
// stay, too.
func (r *runner) kitConf(have slobconf.Conf) string {
	statistics := "statspack"
	if r.plan.Workload.SLOB.AWR == bench.Enabled {
		statistics = "awr"
	}
	lines := []string{
		"", "# What the benchmark says.",
		fmt.Sprintf("RUN_TIME=%d", r.plan.Schedule.DurationSeconds),
		"DATABASE_STATISTICS_TYPE=" + statistics,
	}
	d := r.plan.Database
	if n := r.plan.Workload.SLOB.WorkLoop; n > 0 {
		lines = append(lines, fmt.Sprintf("WORK_LOOP=%d", n))
	}
	// The kit runs beside the database, not in its container: without a service it
	// would look for a local instance.
	if len(d.Connects) > 0 {
		service := d.Connects[0]
		if !strings.HasPrefix(service, "(") && !strings.Contains(service, "://") {
			service = "//" + service
		}
		if !have.Given("ADMIN_SQLNET_SERVICE") {
			lines = append(lines, "ADMIN_SQLNET_SERVICE="+quoted(service))
		}
		if !have.Given("SQLNET_SERVICE_BASE") {
			// With a number, SLOB would add 1, 2 and so on to the name.
			lines = append(lines, "SQLNET_SERVICE_BASE="+quoted(service), "SQLNET_SERVICE_MAX=")
		}
	}
	// Only we know the password of a database of our own.
	if d.Kind == runfile.DatabaseContainer {
		lines = append(lines, "DBA_PRIV_USER=system", "SYSDBA_PASSWD="+quoted(r.opt.Password))
	}
	return strings.Join(lines, "\n") + "\n"
}

// quoted quotes a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// reports returns the names of the reports; runit.sh leaves one of them.
func reports() []string { return []string{"awr.txt", "statspack.txt"} }

// readReport reads the report of runit.sh.
func readReport(dir string) ([]runfile.AWRRow, error) {
	for _, name := range reports() {
		f, err := os.Open(filepath.Join(dir, name)) //nolint:gosec // fixed names in our copy
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		rows, err := awr.Parse(f)
		if err != nil {
			return nil, oracle.Failf(runfile.FailureSQL, "read %s of the SLOB kit: %w", name, err)
		}
		return rows, nil
	}
	return nil, oracle.Failf(runfile.FailureSQL, "runit.sh ended and left neither awr.txt nor statspack.txt; look at its "+
		"output, and whether Statspack is installed or workload.slob.awr enabled")
}

// run runs a script of the kit, and finally ends all processes that the script started.
func (k *kitCopy) run(ctx context.Context, name string, args ...string) error {
	shell := "bash" // SLOB's scripts are written for bash
	if _, err := exec.LookPath(shell); err != nil {
		shell = "sh"
	}
	cmd := exec.CommandContext(ctx, shell, append([]string{"./" + name}, args...)...) //nolint:gosec // the user's own kit
	cmd.Dir = k.dir()
	if home := os.Getenv("ORACLE_HOME"); home != "" { // let the kit find sqlplus
		cmd.Env = append(os.Environ(), "PATH="+home+"/bin:"+os.Getenv("PATH"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killedAfter
	out := &tail{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return oracle.Failf(runfile.FailureSQL, "%s of the SLOB kit failed (%w); its last line: %s", name, err,
			k.shown(out.lastLine()))
	}
	return nil
}

// tail keeps the end of the written bytes. It is not safe for concurrent use.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if n := len(*t) - keptOutput; n > 0 {
		*t = append((*t)[:0], (*t)[n:]...)
	}
	return len(p), nil
}

// lastLine returns the last line.
func (t *tail) lastLine() []byte {
	text := bytes.TrimSpace(*t)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
