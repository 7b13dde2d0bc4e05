// Package program is the command line of the Oracle loader, for any driver that
// is linked: cmd/oraload links godror, the tests link a stand-in.
//
// It is the counterpart of `nfsbench load` for databases: it reads the plan,
// reports its progress in the run directory, and exits with 0 if the load ended
// as planned, 1 if the load failed, 2 if a flag or a file is wrong and nothing
// was done.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// The exit codes are the same as those of nfsbench.
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
	// execute is run.Run, or a replacement in tests.
	execute func(context.Context, run.Options) (*runfile.Load, error)
}

// Main runs the loader with the arguments args, without the program's name, and
// returns its exit code. When ctx ends, the run ends in order and keeps its
// measurements. Help goes to stdout, progress and errors go to stderr.
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

// run runs the load. Its error is for users; the code is for scripts.
func (p *program) run(ctx context.Context) (int, error) {
	dir, err := runloop.OpenDir(p.flags.runDir)
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
		Sink: &sink{Dir: dir, out: p.err}, Root: os.DirFS("/"), Usage: runloop.ProcessUsage, Log: p.log,
	}
	if in.plan.Database.Kind == runfile.DatabaseContainer {
		o.Database = container(p.flags.runDir)
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

// sink writes to the run directory, and prints every event as one line of JSON.
type sink struct {
	*runloop.Dir
	out io.Writer
}

// Event implements runloop.Sink. A failure to print progress does not end the run.
func (s *sink) Event(e runfile.Event) {
	s.Dir.Event(e)
	_ = runloop.WriteEvent(s.out, e)
}

const help = `oraload puts load on an Oracle database and reads what the database counts:
CALIBRATE_IO, or the SQL of the SLOB model. The operator runs it inside the
database image of the user; with Oracle's client installed it runs anywhere.

Usage:
  oraload --plan FILE --run-dir DIR --password-file FILE [--user-file FILE]

Examples:
  # A plan against a database that exists; progress and result in ./run
  mkdir run && oraload --plan plan.json --run-dir run --password-file password.txt

  # In a container of the database image
  oraload --plan /etc/nfsbench/plan.json --run-dir /run/nfsbench \
    --password-file /etc/nfsbench-database/password

The client library is looked for in $ORACLE_HOME/lib, in LD_LIBRARY_PATH and
where the system has its libraries. Progress is one line of JSON each second on
stderr. Exit codes: 0 done, 1 the load failed, 2 nothing was done because a flag
or a file is wrong.

Flags:
`

// maxSecretBytes bounds the bytes read from a file of a Secret.
const maxSecretBytes = 4096

// flags holds the flags of the loader.
type flags struct {
	plan, runDir, userFile, passwordFile string
}

// input holds the contents of the files that the flags name.
type input struct {
	plan           runfile.Plan
	user, password string
}

// parse reads the arguments. It prints help to out and then returns pflag.ErrHelp.
func (f *flags) parse(args []string, out io.Writer) error {
	set := pflag.NewFlagSet("oraload", pflag.ContinueOnError)
	set.SortFlags = false
	set.SetOutput(io.Discard) // Main prints the error, once
	set.StringVar(&f.plan, "plan", "", "plan file with a database (required)")
	set.StringVar(&f.runDir, "run-dir", "", "directory for events and result, shared with the collector (required)")
	set.StringVar(&f.passwordFile, "password-file", "", "file with the password of the user (required)")
	set.StringVar(&f.userFile, "user-file", "", "file with the name of the user (default: that of the plan)")
	set.Usage = func() { fmt.Fprint(out, help, set.FlagUsages()) }
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q is no flag; everything is said by flags", set.Arg(0))
	}
	for _, need := range []struct{ name, value string }{
		{"--plan", f.plan}, {"--run-dir", f.runDir}, {"--password-file", f.passwordFile},
	} {
		if need.value == "" {
			return fmt.Errorf("%s is required", need.name)
		}
	}
	return nil
}

// read reads the files that the flags name.
func (f *flags) read() (input, error) {
	file, err := os.Open(f.plan)
	if err != nil {
		return input{}, fmt.Errorf("--plan: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	plan, err := runfile.ReadPlan(file)
	if err == nil && plan.Database == nil {
		err = errors.New("it names no database; run it with nfsbench load")
	}
	if err == nil {
		err = plan.Validate()
	}
	if err != nil {
		return input{}, fmt.Errorf("--plan %s: %w", f.plan, err)
	}
	in := input{plan: plan, user: plan.Database.User}
	if f.userFile != "" {
		if in.user, err = readSecret("--user-file", f.userFile); err != nil {
			return input{}, err
		}
		in.user = strings.TrimSpace(in.user)
	}
	if in.user == "" {
		return input{}, fmt.Errorf("--plan %s names no user of the database; give --user-file", f.plan)
	}
	in.password, err = readSecret("--password-file", f.passwordFile)
	return in, err
}

// readSecret reads one word from a file of a Secret, without the line end that
// editors add. Its errors never contain the secret.
func readSecret(flag, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", oracle.Failf(runfile.FailurePassword, "%s: %w; is the key in the Secret of the database?", flag, err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	word := strings.TrimRight(string(raw), "\r\n")
	switch {
	case len(raw) > maxSecretBytes:
		err = errors.New("it is longer than any password")
	case word == "":
		err = errors.New("it is empty")
	case strings.ContainsAny(word, "\r\n\x00"):
		err = errors.New("it has several lines; write one word")
	default:
		return word, nil
	}
	return "", oracle.Failf(runfile.FailurePassword, "%s %s: %w", flag, path, err)
}
