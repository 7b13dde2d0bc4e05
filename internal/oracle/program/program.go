// Package program is the command line of the Oracle loader, for whatever driver
// it is linked with: cmd/oraload brings godror, the tests bring a stand-in.
//
// It is what `nfsbench load` is without a database: it reads the plan, tells in
// the run directory how it goes, and ends with 0 when the load ended as planned,
// 1 when it failed, 2 when a flag or a file is wrong and nothing was done.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
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
	dir, err := course.OpenDir(p.flags.runDir)
	if err != nil {
		return exitBadInput, fmt.Errorf("--run-dir: %w", err)
	}
	defer func() { _ = dir.Close() }()
	in, err := p.flags.read()
	if err != nil {
		return exitBadInput, dir.Refuse(p.now(), oracle.CodeOf(err), err)
	}
	o := run.Options{
		Plan: in.plan, Now: p.now, Open: p.open, User: in.user, Password: in.password,
		Sink: &sink{Dir: dir, out: p.err}, Root: os.DirFS("/"), Usage: course.ProcessUsage, Log: p.log,
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

// sink tells the run directory, and shows every event as one line of JSON.
type sink struct {
	*course.Dir
	out io.Writer
}

// Event implements course.Sink. Progress that cannot be shown ends no run.
func (s *sink) Event(e runfile.Event) {
	s.Dir.Event(e)
	_ = course.WriteEvent(s.out, e)
}
