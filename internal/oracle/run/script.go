package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// keptOutput is how much of the end of a script's output is kept.
const keptOutput = 4096

// runScript runs a script of the kit, and ends all that it started with it.
func runScript(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"./" + name}, args...)...) //nolint:gosec // the user's own kit
	cmd.Dir = dir
	cmd.Env = scriptEnvironment(os.Environ())
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
		return oracle.Fail(runfile.FailureSQL, fmt.Sprintf("%s of the SLOB kit failed (%v); its last words: %s", name, err, out.lastLine()), err)
	}
	return nil
}

// scriptEnvironment lets the kit find sqlplus where the image does not.
func scriptEnvironment(have []string) []string {
	home, path := "", ""
	for _, e := range have {
		if v, ok := strings.CutPrefix(e, "ORACLE_HOME="); ok {
			home = v
		}
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	if home == "" {
		return have
	}
	return append(have, "PATH="+home+"/bin:"+path)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if n := len(t.end) - keptOutput; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.end), []byte("\n"))
	return strings.ToValidUTF8(string(bytes.TrimSpace(lines[len(lines)-1])), "?")
}
