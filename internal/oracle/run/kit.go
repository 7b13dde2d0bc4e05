package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/awr"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	killedAfter = 10 * time.Second // a script may take to end when it is told to
	keptOutput  = 4096             // of the end of a script's output
)

// runKit runs a copy of the kit, for it writes beside itself, and reads its
// report.
func (r *runner) runKit(ctx context.Context, index int32, step runfile.Step) error {
	w := r.plan.Workload.SLOB
	dir, err := os.MkdirTemp("", "slob-")
	if err != nil {
		return fmt.Errorf("make room for a copy of the SLOB kit: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the pod ends soon
	copied := filepath.Join(dir, "kit")
	if err := r.copyKit(copied); err != nil {
		return oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit cannot be used: %w", err)
	}
	var rows []runfile.AWRRow
	return r.measure(ctx, index, step, func(ctx context.Context) error {
		args := []string{"-s", fmt.Sprint(w.Schemas), "-t", fmt.Sprint(step.Users / w.Schemas)}
		if err := runScript(ctx, copied, "runit.sh", args...); err != nil {
			return err
		}
		var err error
		rows, err = readReport(copied)
		return err
	}, func(rep *runfile.Repetition) {
		if rep.Oracle != nil {
			rep.Oracle.AWR = rows
		}
		if w.Access == runfile.AccessRandomRead {
			putLatency(rep)
		}
	})
}

// copyKit copies the kit, and adds to its slob.conf what the plan says. A
// slob.conf is read by a shell, so the last line of a name counts.
func (r *runner) copyKit(to string) error {
	from := r.plan.Workload.SLOB.Kit.Directory
	for _, name := range []string{"runit.sh", "slob.conf"} {
		if _, err := os.Stat(filepath.Join(from, name)); err != nil {
			return fmt.Errorf("workload.slob.kit.directory must hold %s: %w", name, err)
		}
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy it: %w", err)
	}
	conf := filepath.Join(to, "slob.conf")
	text, err := os.ReadFile(conf) //nolint:gosec // a copy of the user's own
	if err != nil {
		return err
	}
	return os.WriteFile(conf, append(text, r.kitConf(string(text))...), 0o600)
}

func (r *runner) kitConf(have string) string {
	statistics := "statspack"
	if r.plan.Workload.SLOB.AWR {
		statistics = "awr"
	}
	lines := []string{
		"", "# What the benchmark says.",
		fmt.Sprintf("RUN_TIME=%d", r.plan.Schedule.DurationSeconds),
		"WORK_LOOP=0",
		"DATABASE_STATISTICS_TYPE=" + statistics,
	}
	// The kit runs beside the database, not in its container: without a service
	// it would look for an instance that is not there.
	if !strings.Contains(have, "\nADMIN_SQLNET_SERVICE=") && len(r.plan.Database.Connects) > 0 {
		service := "//" + r.plan.Database.Connects[0]
		lines = append(lines, fmt.Sprintf("ADMIN_SQLNET_SERVICE=%q", service), fmt.Sprintf("SQLNET_SERVICE_BASE=%q", service))
	}
	return strings.Join(lines, "\n") + "\n"
}

// readReport reads what runit.sh left: awr.txt, or statspack.txt.
func readReport(dir string) ([]runfile.AWRRow, error) {
	for _, name := range []string{"awr.txt", "statspack.txt"} {
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

// runScript runs a script of the kit, and ends all that it started with it.
func runScript(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"./" + name}, args...)...) //nolint:gosec // the user's own kit
	cmd.Dir = dir
	if home := os.Getenv("ORACLE_HOME"); home != "" { // let the kit find sqlplus where the image does not
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
		return oracle.Failf(runfile.FailureSQL, "%s of the SLOB kit failed (%w); its last line: %s",
			name, err, out.lastLine())
	}
	return nil
}

// tail keeps the end of what is written to it, by one goroutine.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if n := len(*t) - keptOutput; n > 0 {
		*t = append((*t)[:0], (*t)[n:]...)
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	lines := bytes.Split(bytes.TrimSpace(*t), []byte("\n"))
	return strings.ToValidUTF8(string(bytes.TrimSpace(lines[len(lines)-1])), "?")
}
