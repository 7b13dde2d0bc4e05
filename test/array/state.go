package array

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// state is what Down must know of an array whose process is no more.
type state struct {
	Owner     identity   `json:"owner"`
	Processes []identity `json:"processes"`
}

// removeTime bounds the removal of an array.
const removeTime = 20 * time.Second

// folder is where everything of an array is.
func folder(name string) string {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = os.TempDir()
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "nfsbench", "array", name)
}

func (a *Array) keepState() error {
	st, err := readStat(os.Getpid())
	if err != nil {
		return err
	}
	a.state.Owner = identity{PID: os.Getpid(), Began: st.began}
	return a.state.write(a.dir)
}

// keep notes a process so that it can be ended after a crash of this one.
func (a *Array) keep(id identity) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Processes = append(a.state.Processes, id)
	return a.state.write(a.dir)
}

func (s state) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	part := filepath.Join(dir, "state.json.new")
	if err := os.WriteFile(part, text, 0o644); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, "state.json"))
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
	if s.Owner.PID == os.Getpid() && !anyAlive(s.Processes) {
		return 0
	}
	return s.Owner.PID
}

func anyAlive(ids []identity) bool {
	for _, id := range ids {
		if id.alive() {
			return true
		}
	}
	return false
}

// Down removes an array by its name, whether it runs in another process, which
// is asked to end, or was left behind by one that was killed. No array of that
// name is no error.
func Down(ctx context.Context, name string) error {
	s, err := readState(name)
	if err != nil {
		return err
	}
	if s.Owner.PID != os.Getpid() {
		ctx, cancel := context.WithTimeout(ctx, removeTime)
		defer cancel()
		if err := s.Owner.end(ctx, syscall.SIGTERM); err != nil {
			return err
		}
	}
	return remove(ctx, name)
}

// remove removes processes, network and files.
func remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	s, err := readState(name)
	errs := []error{err}
	for _, id := range s.Processes {
		errs = append(errs, id.end(ctx, syscall.SIGKILL))
	}
	links, err := linksOf(ctx, name)
	errs = append(errs, err)
	for _, l := range links {
		// Both ends of a link may be in the list.
		if err := ip(ctx, "link", "del", l); err != nil && !strings.Contains(err.Error(), "Cannot find") {
			errs = append(errs, err)
		}
	}
	for _, letter := range []string{"a", "b"} {
		if _, err := os.Stat("/run/netns/" + netnsOf(name, letter)); err == nil {
			errs = append(errs, ip(ctx, "netns", "del", netnsOf(name, letter)))
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
