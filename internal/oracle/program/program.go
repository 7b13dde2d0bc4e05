package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/rundir"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The exit codes are those of nfsbench.
const (
	exitOK       = 0
	exitFailed   = 1 // the load ran and failed
	exitBadInput = 2 // nothing was done
)

// program is one call of the loader.
type program struct {
	flags flags
	open  oracle.Opener
	now   func() time.Time
	log   *slog.Logger
	err   io.Writer
	// execute is run.Run; tests see what it is handed.
	execute func(context.Context, run.Options) (*runfile.Load, error)
}

// Main runs the loader with the arguments args, without the program's name, and
// returns its exit code. The end of ctx ends the run in order, with what was
// measured until then. Help goes to stdout, progress and errors go to stderr.
func Main(ctx context.Context, args []string, open oracle.Opener, stdout, stderr io.Writer) int {
	p := &program{
		open: open, err: stderr, log: slog.New(slog.NewTextHandler(stderr, nil)), execute: run.Run,
		now: time.Now, //nolint:forbidigo // this is the outermost layer of two programs, and the only clock of both
	}
	err := p.flags.parse(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "oraload: %v\nRun 'oraload --help' to see what it takes.\n", err)
		return exitBadInput
	}
	code, err := p.run(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "oraload: %v\n", err)
	}
	return code
}

// run makes the load. Its error is for people; the code is what scripts see.
func (p *program) run(ctx context.Context) (int, error) {
	dir, err := rundir.Open(p.flags.runDir)
	if err != nil {
		return exitBadInput, fmt.Errorf("--run-dir: %w", err)
	}
	defer func() { _ = dir.Close() }()
	in, err := p.flags.read()
	if err != nil {
		return exitBadInput, p.tell(dir, err)
	}
	o := run.Options{
		Plan: in.plan, Now: p.now, Open: p.open, User: in.user, Password: in.password,
		Sink: &sink{dir: dir, out: p.err}, Root: os.DirFS("/"), Usage: usage, Log: p.log,
	}
	if d := in.plan.Database; d.Kind == runfile.DatabaseContainer {
		o.Database = newContainer(p.flags.runDir, *d)
	}
	collected := collect.Check(p.flags.runDir) == nil
	load, err := p.execute(ctx, o)
	if err != nil {
		return exitFailed, err
	}
	if collected && !collect.AwaitFinal(ctx, p.flags.runDir, collect.FinalPatience) {
		p.log.Warn("The collector has not published the result")
	}
	if f := load.Failure; f != nil {
		return exitFailed, fmt.Errorf("%s: %s", f.Code, f.Message)
	}
	return exitOK, nil
}

// tell leaves in the run directory, where the collector looks, why there was no
// load.
func (p *program) tell(dir *rundir.Dir, reason error) error {
	code := oracle.CodeOf(reason)
	if code == "" {
		code = runfile.FailureInvalidPlan
	}
	now := p.now()
	dir.Event(runfile.Event{Time: now, Span: runfile.SpanDone, Percent: 100, Message: reason.Error()})
	return errors.Join(reason, dir.Load(&runfile.Load{
		Partial: true, Failure: &runfile.Failure{Code: code, Message: reason.Error()},
		Spans: []runfile.Span{{Kind: runfile.SpanDone, Start: now, End: now}},
	}))
}

// usage is what this process has used: user and system time, and the largest
// resident set it ever had, in bytes.
func usage() (cpu time.Duration, peakBytes int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10
}
