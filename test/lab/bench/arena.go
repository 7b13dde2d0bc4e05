package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/test/lab/cpulimit"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// arena is the server, its links, and what else a measurement needs. Close
// takes all of it away.
type arena struct {
	scene
	name, script string
	data         string // folder behind the export, a file system in memory
	mounted      bool
	servers      map[string]*exec.Cmd // beside the NFS server, by tool
	pnfsScript   string               // set while the pNFS array may run
	filled       map[string]bool      // directories whose files are there
	limit        *cpulimit.Group      // of the NFS server, while it has a limit
}

// wants says what beside the server of all rows is needed.
type wants struct {
	directory string // a folder is made in this one, unless empty
	pnfs      bool
}

// openArena mounts a file system in memory, so that no disk is measured, and
// starts the server on it.
func openArena(ctx context.Context, repo, name, subnet string, w wants) (*arena, error) {
	a := &arena{
		scene: scene{Port: 5201, Bare: 5202, Relay: 5203}, name: name, script: filepath.Join(repo, "hack", "lab", "ganesha.sh"),
		servers: map[string]*exec.Cmd{}, filled: map[string]bool{},
	}
	err := a.start(ctx, subnet)
	if err == nil && w.directory != "" {
		a.Folder, err = os.MkdirTemp(w.directory, "nfsbench-bench-")
	}
	if err == nil && w.pnfs {
		a.pnfsScript = pnfsScript(repo)
		err = a.startPNFS(ctx, subnet)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func pnfsScript(repo string) string { return filepath.Join(repo, "hack", "lab", "pnfs.sh") }

// startPNFS starts the pNFS array, its nodes behind slow links.
func (a *arena) startPNFS(ctx context.Context, subnet string) error {
	const first = 11 // subnet, behind those of the other server
	out, err := a.lab(
		ctx, a.pnfsScript, "up", "--json", "--no-offload", "--rate", slow+","+slow,
		"--subnet", fmt.Sprintf("%s.%d.0/24,%s.%d.0/24", subnet, first, subnet, first+1),
	)
	if err != nil {
		return err
	}
	var array struct {
		Export string `json:"export"`
		Nodes  []struct {
			Address string `json:"address"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(out, &array); err != nil {
		return fmt.Errorf("what pnfs.sh up printed: %w", err)
	}
	a.PNFS.Export = array.Export
	for _, n := range array.Nodes {
		a.PNFS.Nodes = append(a.PNFS.Nodes, n.Address)
	}
	return nil
}

// lab calls a script of the lab.
func (a *arena) lab(ctx context.Context, script, command string, options ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, script, append([]string{command, "--name", a.name}, options...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(script), command, err)
	}
	return out, nil
}

func (a *arena) start(ctx context.Context, subnet string) error {
	// A killed run of the same name may have left its servers and files.
	if err := errors.Join(killAll(a.serverMark()), a.ganesha(ctx, "down")); err != nil {
		return err
	}
	a.data = filepath.Join(os.TempDir(), "nfsbench-bench-"+a.name)
	_ = unix.Unmount(a.data, unix.MNT_DETACH) // usually nothing is mounted there
	if err := os.MkdirAll(a.data, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("nfsbench-bench", a.data, "tmpfs", 0, "mode=1777,size=8g"); err != nil {
		return fmt.Errorf("mount a file system in memory at %s: %w", a.data, err)
	}
	a.mounted = true
	var subnets []string
	for i := range strings.Split(linkRates(), ",") {
		subnets = append(subnets, fmt.Sprintf("%s.%d.0/24", subnet, i+1))
	}
	return a.ganesha(ctx, "up", "--json", "--subnet", strings.Join(subnets, ","), "--rate", linkRates(), "--no-offload", "--data", a.data)
}

// ganesha calls the lab's script. Of up it keeps where the server is.
func (a *arena) ganesha(ctx context.Context, command string, options ...string) error {
	out, err := a.lab(ctx, a.script, command, options...)
	if err != nil {
		return err
	}
	if command != "up" {
		return nil
	}
	var array ganesha.Array
	if err := json.Unmarshal(out, &array); err != nil {
		return fmt.Errorf("what ganesha.sh up printed: %w", err)
	}
	a.Netns, a.LIFs, a.Export = array.Netns, array.LIFs, array.Export
	return nil
}

// serverMark is an environment variable of all servers of this arena.
func (a *arena) serverMark() string { return "NFSBENCH_BENCH_SERVER=" + a.name }

// serve starts the other end of a tool where the NFS server is, unless it runs
// already, and waits until it listens.
func (a *arena) serve(ctx context.Context, tool string, port int, command ...string) error {
	if a.servers[tool] != nil {
		return nil
	}
	cmd := exec.Command("ip", append([]string{"netns", "exec", a.Netns}, command...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), a.serverMark())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server of %s: %w", tool, err)
	}
	a.servers[tool] = cmd
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		probe := exec.Command("ip", "netns", "exec", a.Netns, "ss", "-Hltn", fmt.Sprintf("sport = :%d", port))
		if out, err := probe.Output(); err == nil && len(out) > 0 {
			return nil
		}
	}
	return fmt.Errorf("the server of %s does not listen on port %d", tool, port)
}

// prepare sees to what a job finds at the other end.
func (a *arena) prepare(ctx context.Context, p programs, j job) error {
	switch j.Tool {
	case toolIperf:
		return a.serve(ctx, j.Tool, a.Port, p.Iperf, "-s", "-p", strconv.Itoa(a.Port))
	case toolSocket:
		if err := a.serve(ctx, j.Tool, a.Bare, p.Socket, "serve", strconv.Itoa(a.Bare)); err != nil {
			return err
		}
	}
	if err := errors.Join(a.confine(ctx, placeServer), a.fill(ctx, p, j)); err != nil {
		return err
	}
	if j.Place == placeRelay {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return a.serve(
			ctx, placeRelay, a.Relay, self, relayCommand, "--listen", fmt.Sprintf(":%d", a.Relay), "--server", "127.0.0.1:2049",
			"--rate", strconv.Itoa(relayRate),
		)
	}
	return a.confine(ctx, j.Place)
}

// fill lets nfsbench make the files of a job, unless they are there already. It
// goes over the loopback, for the links are slow.
func (a *arena) fill(ctx context.Context, p programs, j job) error {
	if j.onGanesha() {
		j.Place, j.Links, j.NFS = placeServer, nil, ""
	}
	j.How = ""
	where := j.Place + "/" + j.directory()
	if a.filled[where] {
		return nil
	}
	j.Tool, j.Work.Pattern, j.Warmup, j.Seconds = toolOurs, "read", 0, 1
	command, err := p.command(j)
	if err != nil {
		return err
	}
	if _, _, err := runChild(ctx, 2*time.Minute, command); err != nil {
		return fmt.Errorf("fill the files of %s: %w", where, err)
	}
	a.filled[where] = true
	return nil
}

// Close stops and removes everything. It may be called after a failed start.
func (a *arena) Close() error {
	var problems []error
	for _, server := range a.servers {
		problems = append(problems, server.Process.Kill())
		_ = server.Wait() // it was killed, and says so
	}
	if a.limit != nil {
		problems = append(problems, a.limit.Remove())
	}
	if a.pnfsScript != "" {
		_, err := a.lab(context.Background(), a.pnfsScript, "down")
		problems = append(problems, err)
	}
	if a.Folder != "" {
		problems = append(problems, os.RemoveAll(a.Folder))
	}
	problems = append(problems, a.ganesha(context.Background(), "down"))
	if a.mounted {
		problems = append(problems, unix.Unmount(a.data, unix.MNT_DETACH))
	}
	if a.data != "" {
		problems = append(problems, os.Remove(a.data))
	}
	return errors.Join(problems...)
}

// errHangs describes a process that did not end in time.
var errHangs = errors.New("did not end in time and was killed")

// hang is errHangs with the last output of the process. On SIGQUIT, a Go program prints where each
// of its goroutines is.
type hang struct{ words []byte }

func (h *hang) Error() string { return errHangs.Error() }

// Unwrap makes it errHangs.
func (h *hang) Unwrap() error { return errHangs }

// badge is an environment variable with a value of its own for each command:
// whatever carries it was started by that command, sessions and parents aside.
// fio, for one, gives each of its jobs a session, and orphans them when it dies.
const badge = "NFSBENCH_BENCH_CHILD"

// usage is the resource use of a command and all the processes that it waited for.
type usage struct {
	Took      time.Duration
	CPU       time.Duration
	PeakBytes int64 // of the largest process
}

// runChild runs a command to its end and returns its standard output. After
// patience, or when ctx ends, it and all its descendants are killed; after
// patience the error is a hang.
func runChild(ctx context.Context, patience time.Duration, command []string) ([]byte, usage, error) {
	limited, cancel := context.WithTimeoutCause(ctx, patience, errHangs)
	defer cancel()
	mark := badge + "=" + rand.Text()
	cmd := exec.CommandContext(limited, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), mark)
	// Interrupts of the terminal are for this program alone, which passes on what it wants to.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 5 * time.Second // then it is killed
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if command[len(command)-1] == discard {
		cmd.Args, cmd.Stdout = cmd.Args[:len(cmd.Args)-1], nil
	}
	began := time.Now()
	err := cmd.Run()
	used := usage{Took: time.Since(began)}
	err = errors.Join(err, killAll(mark)) // whom a crash has left behind
	if state := cmd.ProcessState; state != nil {
		used.CPU = state.UserTime() + state.SystemTime()
		if r, ok := state.SysUsage().(*syscall.Rusage); ok {
			used.PeakBytes = r.Maxrss * 1024
		}
	}
	if cause := context.Cause(limited); errors.Is(cause, errHangs) {
		return nil, used, &hang{words: stderr.Bytes()}
	} else if cause != nil {
		return nil, used, cause
	}
	if err != nil {
		said := strings.TrimSpace(stderr.String() + stdout.String())
		last := said[strings.LastIndexByte(said, '\n')+1:]
		return nil, used, fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, last)
	}
	return stdout.Bytes(), used, nil
}

// discard as the last argument is an output that nobody reads.
const discard = ">/dev/null"

func killAll(mark string) error {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, file := range environments {
		environment, err := os.ReadFile(file)
		if err != nil || !carries(environment, mark) { // it has ended meanwhile, or is none of ours
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %d: %w", pid, err)
		}
	}
	return nil
}

// carries reports whether an environment as /proc shows it has the variable.
func carries(environment []byte, variable string) bool {
	return slices.Contains(strings.Split(string(environment), "\x00"), variable)
}
