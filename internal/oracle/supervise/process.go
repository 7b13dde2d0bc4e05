package supervise

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

const (
	drainPatience  = time.Second     // for the last lines of a program that has ended
	orphanPatience = 3 * time.Second // for its remaining processes
	killPatience   = 10 * time.Second
)

// child is one start of the image's start command.
type child struct {
	cmd   *exec.Cmd
	began time.Time
	tail  *tail
	done  chan struct{} // closed after the end, when err is set
	err   error
	// gaveUp is set when the image reports that there will be no database; nil = never.
	gaveUp atomic.Pointer[surrender]
	// deaf counts successive health checks that succeeded although nothing listened.
	deaf int
	// wasReady reports that the database was ready in this start. The flag kept reports that its parameters were kept.
	wasReady, kept bool
}

// surrender records when an image gave up, and the last lines before.
type surrender struct {
	at    time.Time
	words string
}

// gaveUpLine is printed by Oracle's images when they could not create or start
// the database. They do not exit then, but follow the alert log forever.
const gaveUpLine = "DATABASE SETUP WAS NOT SUCCESSFUL"

// start starts the database, unless foreign files have appeared. It copies the output to Out and watches it.
func (s *supervisor) start() (*child, error) {
	if err := s.o.refuseForeignVolumes(); err != nil {
		return nil, err
	}
	if err := s.mendNetFiles(); err != nil {
		return nil, err
	}
	s.removeLeftIPC()
	command := s.o.argv(s.o.startCommand())
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the database: %w", err)
	}
	c := &child{cmd: exec.Command(command[0], command[1:]...), began: s.o.Now(), tail: &tail{}, done: make(chan struct{})} //nolint:gosec // the image's own start command
	c.cmd.Env = s.env()
	c.cmd.Stdout, c.cmd.Stderr = w, w
	s.log.Info("Starting the database", "command", command)
	s.heard.Store(c.began.UnixNano())
	err = s.family.start(c.cmd)
	_ = w.Close() // the child has its own
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_ = eachLine(r, func(line string) { s.printed(c, line) })
		_ = r.Close()
	}()
	go func() {
		defer close(c.done)
		c.err = s.family.wait(c.cmd)
		// Its children may keep the pipe open for as long as they live.
		select {
		case <-read:
		case <-time.NewTimer(drainPatience).C:
		}
	}()
	return c, nil
}

// env returns the environment of the image. It adds a missing ORACLE_HOME, and
// removes from passwords the line end that editors add to the file of a Secret:
// the loader removes it too, and the images insert the password into scripts.
func (s *supervisor) env() []string {
	env := append([]string{}, s.o.Env...)
	for i, v := range env {
		if strings.HasPrefix(v, "ORACLE_PWD=") || strings.HasPrefix(v, "ORACLE_PASSWORD=") {
			env[i] = strings.TrimRight(v, "\r\n")
		}
	}
	if s.home != "" && s.o.lookup("ORACLE_HOME") == "" {
		env = append(env, "ORACLE_HOME="+s.home)
	}
	return env
}

// printed handles one line of the database's output.
func (s *supervisor) printed(c *child, line string) {
	line = s.redact.clean(line)
	s.heard.Store(s.o.Now().UnixNano())
	c.tail.add(line)
	if strings.Contains(line, gaveUpLine) {
		c.gaveUp.CompareAndSwap(nil, &surrender{at: s.o.Now(), words: s.lastWords(c)})
	}
	if _, err := io.WriteString(s.o.Out, line+"\n"); err != nil {
		s.log.Debug("A line of the database was not passed on", "error", err)
	}
	s.alert(line)
}

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop asks the database to shut down, as the kubelet would ask the image, and
// kills it after a timeout. It also kills the remaining processes: background
// processes of an instance would block the next start.
func (s *supervisor) stop(c *child) {
	if !c.ended() {
		began := s.o.Now()
		s.log.Info("Stopping the database", "within", s.o.ShutdownTimeout)
		// Signal only the start script: its trap runs SHUTDOWN IMMEDIATE with
		// programs that must not be told to end in the meantime.
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		timer := time.NewTimer(s.o.ShutdownTimeout)
		defer timer.Stop()
		select {
		case <-c.done:
			s.log.Info("The database has stopped", "after", s.o.Now().Sub(began).Round(time.Millisecond))
		case <-timer.C:
			s.log.Warn("The database did not stop in time; killing it", "after", s.o.ShutdownTimeout)
			_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
			select {
			case <-c.done:
			case <-time.NewTimer(killPatience).C:
				s.log.Warn("The database could not be killed; a process of it waits for its storage")
			}
		}
	}
	if s.o.Reap {
		s.family.extinguish(orphanPatience)
	}
}

// health is the result of the image's health script.
type health struct {
	code   int // exit code; -1 if it did not end by itself
	output string
	deaf   error // why no connection is possible, although the code is 0
}

func (h health) isReady() bool { return h.code == 0 && h.deaf == nil }

// checkHealth runs the health script once, unless ctx ends first.
func (s *supervisor) checkHealth(ctx context.Context) health {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	command := s.o.argv(s.o.healthCommand())
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
		return health{deaf: s.connect(ctx)}
	case errors.As(err, &exit):
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return health{code: exit.ExitCode(), output: clip(s.redact.clean(strings.TrimSpace(lines[len(lines)-1])))}
	default:
		return health{code: -1, output: err.Error()}
	}
}

// connect connects like a loader. The health scripts connect over bequeath, within the container, and succeed without
// a listener.
func (s *supervisor) connect(ctx context.Context) error {
	if s.o.Listener == "" {
		return nil
	}
	d := net.Dialer{Timeout: listenerPatience}
	c, err := d.DialContext(ctx, "tcp", s.o.Listener)
	if err != nil {
		return err
	}
	return c.Close()
}

// explain explains the exit code from the script's documentation.
func (h health) explain() string {
	if h.deaf != nil {
		return fmt.Sprintf("its health script says that it is ready, but its listener takes no connection, which clients "+
			"see as ORA-12541 (%v)", h.deaf)
	}
	meanings := map[int]string{ // of checkDBStatus.sh in Oracle's images
		1: "the database is not started, or has another role", 2: "a pluggable database is not open for reading and writing",
		3: "sqlplus failed", 4: "the observer does not run", 5: "a pluggable database is mounted, not open",
	}
	text := fmt.Sprintf("its health script last ended with %d", h.code)
	if h.code < 0 {
		text += fmt.Sprintf(" (it did not end within %s)", healthPatience)
	} else if meaning := meanings[h.code]; meaning != "" {
		text += " (" + meaning + ")"
	}
	if h.output != "" {
		text += fmt.Sprintf(" and said %q", h.output)
	}
	return text
}

// awaitReady waits until the health script succeeds. Its error says why it will
// not. If ctx has ended, it returns nil.
func (s *supervisor) awaitReady(ctx context.Context, c *child) error {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	defer func() { cancel(); <-watched }()
	go func() { // a check must not outlive the database
		defer close(watched)
		defer cancel()
		s.claim(ctx, c)
	}()
	tick := time.NewTicker(s.o.HealthInterval)
	defer tick.Stop()
	for {
		select {
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
		if now.isReady() {
			return nil
		}
		if err := cmp.Or(s.refused(c, now), s.overdue(c, now)); err != nil {
			return err
		}
	}
}

// claim calls keepClaim until the database or ctx has ended. It does not wait for a health check.
func (s *supervisor) claim(ctx context.Context, c *child) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			s.keepClaim()
		}
	}
}

// overdue returns an error if the startup timeout is over.
func (s *supervisor) overdue(c *child, last health) error {
	if s.o.Now().Sub(c.began) < s.o.StartupTimeout {
		return nil
	}
	return s.unlessFull(s.lastWords(c), oracle.Failf(runfile.FailureDatabaseNotReady,
		"the database was not ready after %s: %s%s; raise database.container.startupTimeoutSeconds if it only needs "+
			"longer", s.o.StartupTimeout, last.explain(), s.lastWords(c)))
}

// family manages all processes below this one. The first process of a container
// inherits all orphans; if it does not reap them, they fill the process table.
// It must not reap a process that a goroutine waits for, so family starts and
// awaits every process. It is safe for concurrent use.
type family struct {
	proc string // usually /proc
	mu   sync.Mutex
	own  map[int]bool // processes that a goroutine waits for
}

func newFamily(proc string) *family { return &family{proc: proc, own: map[int]bool{}} }

// start starts a command in a process group of its own.
func (f *family) start(cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.own[cmd.Process.Pid] = true
	return nil
}

// wait waits for a command that start has started.
func (f *family) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.own, cmd.Process.Pid)
	return err
}

// adopt makes this process inherit orphans and reaps them until ctx ends.
func (f *family) adopt(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		defer signal.Stop(died)
		// A signal may be lost if many processes end at once.
		tick := time.NewTicker(healthInterval)
		defer tick.Stop()
		for {
			f.bury()
			select {
			case <-died:
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// bury reaps the ended children that no goroutine waits for.
func (f *family) bury() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.processes() {
		if p.parent == os.Getpid() && p.state == 'Z' && !f.own[p.pid] {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// maxProcFile bounds the bytes read from a file in /proc. Only the arguments of a process can be longer, and only the
// first argument counts.
const maxProcFile = 8 << 10

// process is the kernel's description of one process.
type process struct {
	pid, parent int
	state       byte
}

// processes lists all visible processes.
func (f *family) processes() []process {
	entries, err := os.ReadDir(f.proc)
	if err != nil {
		return nil
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := shareddir.ReadStart(filepath.Join(f.proc, e.Name()), "stat", maxProcFile)
		if err != nil {
			continue // it is gone
		}
		// The program name is in parentheses and may contain any character.
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err == nil {
			out = append(out, process{pid: pid, parent: parent, state: fields[0][0]})
		}
	}
	return out
}

// descendants lists the living processes below this one, including inherited
// orphans.
func (f *family) descendants() []int {
	all := f.processes()
	below := []int{os.Getpid()}
	for i := 0; i < len(below); i++ {
		for _, p := range all {
			if p.parent == below[i] && p.state != 'Z' && !slices.Contains(below, p.pid) {
				below = append(below, p.pid)
			}
		}
	}
	return below[1:]
}

// extinguish kills all remaining processes below this one after a grace period,
// and waits until they have ended.
func (f *family) extinguish(patience time.Duration) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval / 10)
	defer tick.Stop()
	for expired := false; ; {
		left := f.descendants()
		if len(left) == 0 {
			return
		}
		if expired {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			if expired {
				return // a process waits for its storage
			}
			expired = true
			deadline.Reset(killPatience)
		}
	}
}
