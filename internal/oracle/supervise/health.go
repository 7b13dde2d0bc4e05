package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// health is what the image's health script said.
type health struct {
	code   int // its exit code; -1 when it did not end by itself
	output string
}

// checkHealth runs the health script once, unless ctx ends before.
func (s *supervisor) checkHealth(ctx context.Context) health {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	command := s.o.healthCommand()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the image's own health script
	cmd.Env = s.env()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drainPatience
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := s.family.start(cmd); err != nil {
		return health{code: -1, output: err.Error()}
	}
	err := s.family.wait(cmd)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return health{}
	case errors.As(err, &exit):
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return health{code: exit.ExitCode(), output: clip(s.redact.clean(strings.TrimSpace(lines[len(lines)-1])))}
	default:
		return health{code: -1, output: err.Error()}
	}
}

// explain says what the code means by the script's own documentation.
func (h health) explain(distribution string) string {
	meaning := meanings(distribution)[h.code]
	if h.code < 0 {
		meaning = fmt.Sprintf("it did not end within %s", healthPatience)
	}
	text := fmt.Sprintf("its health script last ended with %d", h.code)
	if meaning != "" {
		text += " (" + meaning + ")"
	}
	if h.output != "" {
		text += " and said " + fmt.Sprintf("%q", h.output)
	}
	return text
}

// meanings are those of the exit codes of healthcheck.sh in gvenzl's images, and
// of checkDBStatus.sh in Oracle's.
func meanings(distribution string) map[int]string {
	if distribution == runfile.DistributionGvenzl {
		return map[int]string{
			1: "the database is not ready", 2: "the database is starting", 3: "pluggable databases are being created",
			4: "setup scripts run", 5: "startup scripts run",
		}
	}
	return map[int]string{
		1: "the database is not started, or has another role", 2: "a pluggable database is not open for reading and writing",
		3: "sqlplus failed", 4: "the observer does not run", 5: "a pluggable database is mounted, not open",
	}
}

// awaitReady waits for the health script to say 0. Its error is why it will not;
// nil with a ctx that has ended says nothing.
func (s *supervisor) awaitReady(ctx context.Context, c *child) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a check must not outlive the database
		select {
		case <-c.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	deadline := time.NewTimer(s.o.StartupTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(s.o.HealthInterval)
	defer tick.Stop()
	last := health{code: -1}
	for {
		select {
		case <-deadline.C:
			return s.notReady(c, last)
		case <-ctx.Done():
			if c.ended() {
				return s.hasEnded(c)
			}
			return nil
		case <-tick.C:
		}
		now := s.checkHealth(ctx)
		if ctx.Err() != nil {
			continue
		}
		if now.code == 0 {
			return nil
		}
		last = now
		if err := s.refused(c, last); err != nil {
			return err
		}
	}
}
