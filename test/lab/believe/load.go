package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Rig is what all worlds share.
type Rig struct {
	Nfsbench string // the program
	Jump     string // a build whose clock jumps as $NFSBENCH_CLOCK_JUMP says
	Dir      string // for all files of worlds, removed at the end
	Seconds  int32  // length of measured windows
	Log      func(format string, args ...any)

	noise *machineNoise // of all lanes
}

// lasting returns the rig of a place, whose windows may have another length.
func (r *Rig) lasting(p Place) *Rig {
	own := *r
	own.Seconds = max(r.Seconds, p.Seconds)
	return &own
}

// Schedule returns the schedule of all runs: short, so that there can be many.
func (r *Rig) Schedule() runfile.Schedule {
	return runfile.Schedule{BaselineSeconds: 2, WarmupSeconds: 1, DurationSeconds: r.Seconds, Repetitions: 1}
}

// Load is one run of `nfsbench load`.
type Load struct {
	Plan  runfile.Plan
	Netns string // network namespace of the client; empty = that of the rig
	// Within is a command line that ends by executing its further arguments, such as one that enters a
	// control group.
	Within []string
	Env    []string // in addition to that of the rig
	Args   []string // flags of nfsbench load, in addition to those for its files
	// Program replaces Rig.Nfsbench, such as a build with another clock.
	Program string
	// RealMachine: the load sees the CPU time of the real machine. Otherwise it sees a machine on
	// which no other lane works.
	RealMachine bool
	// During runs beside the load. Its context ends with the load.
	During func(ctx context.Context, p *Process) error

	machine *ownMachine // that the load sees; nil = the real one
}

// Process is a running load.
type Process struct {
	Pid int

	mu      sync.Mutex
	entered map[string]chan struct{}
}

func (p *Process) span(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entered[name] == nil {
		p.entered[name] = make(chan struct{})
	}
	return p.entered[name]
}

func (p *Process) enter(name string) {
	c := p.span(name)
	select {
	case <-c:
	default:
		close(c)
	}
}

// Await waits until the load has begun a span, such as runfile.SpanMeasure.
func (p *Process) Await(ctx context.Context, span string) error {
	select {
	case <-p.span(span):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the load ended before its span %s", span)
	}
}

// onset is the time when a load began a span.
type onset struct{ at atomic.Pointer[time.Time] }

// await waits for the span and stores when it began.
func (o *onset) await(ctx context.Context, p *Process, span string) error {
	if err := p.Await(ctx, span); err != nil {
		return err
	}
	o.at.Store(new(time.Now()))
	return nil
}

// since returns the time from the start of the span to t. began reports whether the span has begun.
func (o *onset) since(t time.Time) (passed time.Duration, began bool) {
	at := o.at.Load()
	if at == nil {
		return 0, false
	}
	return t.Sub(*at), true
}

// Signal sends a signal to the load.
func (p *Process) Signal(s syscall.Signal) error { return syscall.Kill(p.Pid, s) }

// pause waits for d or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runLimit bounds one run, so that a loader that hangs gives no result.
const runLimit = 3 * time.Minute

// Run makes the run and returns its result, even if the load failed.
func (r *Rig) Run(ctx context.Context, l Load) (runfile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	dir, err := os.MkdirTemp(r.Dir, "load")
	if err != nil {
		return runfile.Result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	plan, result := filepath.Join(dir, "plan.json"), filepath.Join(dir, "result.json")
	var b bytes.Buffer
	if err := errors.Join(runfile.WritePlan(&b, l.Plan), os.WriteFile(plan, b.Bytes(), 0o600)); err != nil {
		return runfile.Result{}, err
	}
	args := append([]string{cmp.Or(l.Program, r.Nfsbench), "load", "--plan", plan, "--output", result, "--progress", "json"}, l.Args...)
	args = inNetns(l.Netns, args...)
	if !l.RealMachine {
		m, err := newOwnMachine(dir, r.noise)
		if err != nil {
			return runfile.Result{}, err
		}
		args, l.machine = append(m.within(), args...), m
	}
	said, err := r.follow(ctx, l, append(slices.Clone(l.Within), args...))
	f, openErr := os.Open(result)
	if openErr != nil {
		return runfile.Result{}, fmt.Errorf("nfsbench load: %w: %s", errors.Join(err, ctx.Err(), openErr), said)
	}
	defer func() { _ = f.Close() }() // only read
	read, readErr := runfile.ReadResult(f)
	return read, errors.Join(err, readErr)
}

// failureOf returns why the clients of a result did not measure what they should; nil = they did.
func failureOf(r runfile.Result) error {
	var errs []error
	for _, c := range r.Clients {
		if f := c.Load.Failure; f != nil {
			errs = append(errs, fmt.Errorf("%s: %s", f.Code, f.Message))
		}
	}
	return errors.Join(errs...)
}

// follow runs the process to its end, together with During.
func (r *Rig) follow(ctx context.Context, l Load, args []string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...) // ended below, even if it is stopped
	cmd.Env = append(os.Environ(), l.Env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p := &Process{Pid: cmd.Process.Pid, entered: map[string]chan struct{}{}}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	var beside, machine error
	var wait sync.WaitGroup
	if l.machine != nil {
		wait.Go(func() { machine = l.machine.follow(ctx, p.Pid) })
	}
	wait.Go(func() {
		if l.During != nil {
			beside = l.During(ctx, p)
		}
	})
	said := p.listen(bufio.NewScanner(stderr))
	stop()
	if err = cmd.Wait(); err != nil {
		said = err.Error() + ": " + said
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok { // the result reports it
		err = nil
	}
	cancel()
	wait.Wait()
	return said, errors.Join(err, beside, machine)
}

// listen reads the events of the load, and returns its other output.
func (p *Process) listen(lines *bufio.Scanner) string {
	lines.Buffer(nil, 1<<20)
	var rest bytes.Buffer
	for lines.Scan() {
		var e runfile.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Span != "" {
			p.enter(e.Span)
			continue
		}
		if rest.Len() < 1<<16 {
			fmt.Fprintf(&rest, "%s\n", lines.Bytes())
		}
	}
	return rest.String()
}

// inNetns returns the command line of a program in a network namespace. nsenter becomes the program, so the
// program has the process ID of the command. /sys stays that of the machine, because it has the control groups.
func inNetns(netns string, args ...string) []string {
	if netns == "" {
		return args
	}
	return append([]string{"nsenter", "--net=/run/netns/" + netns}, args...)
}
