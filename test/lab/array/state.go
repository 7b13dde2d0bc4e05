package array

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// state is what Down must know of an array whose process is no more.
type state struct {
	Owner     identity   `json:"owner"`
	Processes []identity `json:"processes"`
}

// patience is the limit of every wait, against hangs: a busy machine may be slow.
const patience = 2 * time.Minute

func folder(name string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	base := cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state"))
	return filepath.Join(base, "nfsbench", "array", name)
}

func (s state) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "state.json") // as a whole, for readers in other processes
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func readState(name string) (state, error) {
	var s state
	text, err := os.ReadFile(filepath.Join(folder(name), "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// owner is the process that runs the array, 0 if none does.
func owner(name string) int {
	s, err := readState(name)
	if err != nil || !s.Owner.alive() {
		return 0
	}
	// This process may have stopped an array of the same name, or not.
	if s.Owner.PID == os.Getpid() && !slices.ContainsFunc(s.Processes, identity.alive) {
		return 0
	}
	return s.Owner.PID
}

// Down removes an array by its name. A process that runs it is asked to end. No array
// of that name is no error.
func Down(ctx context.Context, name string) error {
	s, err := readState(name)
	if err != nil {
		return err
	}
	if s.Owner.PID != os.Getpid() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := s.Owner.end(ctx, syscall.SIGTERM); err != nil {
			return err
		}
	}
	return remove(ctx, name)
}

func remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := readState(name)
	errs := []error{err}
	for _, id := range s.Processes {
		errs = append(errs, id.end(ctx, syscall.SIGKILL))
	}
	links, err := linksOf(name)
	errs = append(errs, err)
	for _, l := range links {
		if err := all(ctx, "link del "+l); err != nil && !strings.Contains(err.Error(), "Cannot find") {
			errs = append(errs, err)
		}
	}
	for _, letter := range []string{"a", "b", nfs4Letter} {
		if _, err := os.Stat("/run/netns/" + netnsOf(name, letter)); err == nil {
			errs = append(errs, all(ctx, "netns del "+netnsOf(name, letter)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove array %s: %w", name, err)
	}
	return os.RemoveAll(folder(name))
}

// Missing says what this machine lacks to run an array.
func Missing() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	var missing []string
	for _, p := range []string{"ganesha.nfsd", "rpcbind", "ip", "nsenter", "unshare", "go"} {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing: %s; hack/lab/ganesha.sh up installs what it needs", strings.Join(missing, " "))
	}
	return nil
}

// Describe returns what the array is as JSON.
func (a *Array) Describe() ([]byte, error) {
	a.moving.Lock()
	defer a.moving.Unlock()
	text, err := json.MarshalIndent(struct {
		Name       string   `json:"name"`
		PID        int      `json:"pid"`
		Nodes      []string `json:"nodes"`
		Namespaces []string `json:"namespaces"` // network namespaces of the nodes
		LIFs       []LIF    `json:"lifs"`
		Volumes    []Volume `json:"volumes"`
		REST       *REST    `json:"rest,omitempty"`
	}{a.options.Name, os.Getpid(), a.Nodes(), []string{a.nodes[0].netns, a.nodes[1].netns}, a.LIFs(), a.Volumes(), a.rest}, "", "  ")
	return append(text, '\n'), err
}

type process struct {
	name string
	id   identity
	gone chan struct{}
}

// identity is a pid that no stranger can have taken over.
type identity struct {
	PID   int    `json:"pid"`
	Began uint64 `json:"began"` // in clock ticks since the machine started
}

// launcher starts processes from a thread of its own, because the kernel ends
// them when the thread that started them ends, not the process.
type launcher struct {
	work chan func()
	once sync.Once
}

func newLauncher() *launcher {
	l := &launcher{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range l.work {
			f()
		}
	}()
	return l
}

func (l *launcher) stop() { l.once.Do(func() { close(l.work) }) }

func (l *launcher) start(cmd *exec.Cmd) error {
	failed := make(chan error, 1)
	l.work <- func() { failed <- cmd.Start() }
	return <-failed
}

// launch starts a process of a node, or of what else has a name. It does not outlive this
// process.
func (a *Array) launch(of, what string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(a.dir, "log", of+"-"+what+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := a.launcher.start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	p := &process{name: what + " of " + of, gone: make(chan struct{})}
	p.id.PID = cmd.Process.Pid
	if st, err := readStat(p.id.PID); err == nil {
		p.id.Began = st.began
	}
	go func() {
		err := cmd.Wait()
		close(p.gone)
		select {
		case a.died <- fmt.Errorf("%s ended: %v", p.name, err): //nolint:errorlint // nil is an end as well
		default:
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Processes = append(a.state.Processes, p.id) // to be ended after a crash of this one
	return p, a.state.write(a.dir)
}

type stat struct {
	state string        // a letter; Z is a zombie
	began uint64        // clock ticks since the machine started
	cpu   time.Duration // user and system time of all threads, those that ended included
}

// ticks per second in /proc, on every architecture that Linux has today.
const ticks = 100

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	_, after, ok := strings.Cut(string(text), ") ") // the name may hold anything
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 {
		return stat{}, fmt.Errorf("process %d: what the kernel tells is too short", pid)
	}
	var numbers [3]uint64
	for i, f := range []int{11, 12, 19} { // utime, stime, starttime: fields 14, 15, 22
		if numbers[i], err = strconv.ParseUint(fields[f], 10, 64); err != nil {
			return stat{}, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return stat{state: fields[0], began: numbers[2], cpu: time.Duration(numbers[0]+numbers[1]) * time.Second / ticks}, nil
}

// alive reports whether the process still runs; a zombie does not.
func (id identity) alive() bool {
	st, err := readStat(id.PID)
	return err == nil && st.began == id.Began && st.state != "Z" && id.PID != 0
}

// end ends a process and returns when it is gone. Nothing that it knows is
// worth a word of farewell.
func (id identity) end(ctx context.Context, signal syscall.Signal) error {
	for id.alive() {
		if err := syscall.Kill(id.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end process %d: %w", id.PID, err)
		}
		if err := pass(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("end process %d: %w", id.PID, err)
		}
	}
	return nil
}

// pass waits, but not beyond the end of the context.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// until repeats a check until it succeeds; when the patience is at its end it returns its error.
func until(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if pass(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}
