// Package cli holds what the command lines nfsbench and kubectl nfsbench share: exit
// codes and errors, where output goes, and the flags that mean the same in both.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// The exit codes are a contract with scripts and with the operator.
const (
	ExitOK       = 0
	ExitFailed   = 1   // the command ran and failed, or what it checked is not good
	ExitBadInput = 2   // nothing was done: bad flags, names or files
	ExitVerdict  = 3   // the run came to its end, and is Fail, Regressed or Inconclusive
	ExitLeft     = 130 // left with Ctrl-C, as shells count it
)

// codedError is an error with an exit code.
type codedError struct {
	code int
	err  error
}

func (e codedError) Error() string { return e.err.Error() }
func (e codedError) Unwrap() error { return e.err }

// Coded makes err end the program with this exit code. ExitLeft prints no message: the
// command has printed its own.
func Coded(code int, err error) error { return codedError{code, err} }

// BadInput makes err end the program with ExitBadInput: only other flags, names or files can fix it. Errors that
// cobra finds before a RunE are bad input already.
func BadInput(err error) error {
	if err == nil {
		return nil
	}
	return codedError{ExitBadInput, err}
}

// BadInputf returns a formatted error that ends the program with ExitBadInput.
func BadInputf(format string, args ...any) error {
	return codedError{ExitBadInput, fmt.Errorf(format, args...)}
}

// VerdictError returns the error of a run that came to its end and is not known to be good; nil for a good one, and if
// nothing was expected.
func VerdictError(what string, v bench.Verdict) error {
	switch v {
	case bench.VerdictFail:
		return Coded(ExitVerdict, fmt.Errorf("%s missed what was expected of it (verdict %s)", what, v))
	case bench.VerdictInconclusive:
		return Coded(ExitVerdict, fmt.Errorf("whether %s is good enough is not known (verdict %s): the report says why",
			what, v))
	default:
		return nil
	}
}

// IsCoded reports whether err has an exit code of its own.
func IsCoded(err error) bool { return errors.As(err, new(codedError)) }

// runError marks an error that a RunE returned, to distinguish it from the errors of cobra about the command line,
// which have no type of their own.
type runError struct{ err error }

func (e runError) Error() string { return e.err.Error() }
func (e runError) Unwrap() error { return e.err }

// Execute runs one command line of a complete command tree, prints its error and returns the exit code. The function
// explain, which may be nil, puts the error of a command into words. The first SIGINT or SIGTERM cancels the context
// of the command, so that a run can write its partial result; after it the signals have their default action again,
// so that a second one ends a process that hangs.
func Execute(
	ctx context.Context, root *cobra.Command, explain func(error) error,
	args []string, in io.Reader, out, errOut io.Writer,
) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	markRunErrors(root, explain)
	root.SilenceErrors, root.SilenceUsage = true, true // errors are printed here, once
	root.SetArgs(append([]string{}, args...))          // nil would mean the arguments of the process
	out, errOut = screen{out}, screen{errOut}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	code := exitCode(err)
	if err == nil || code == ExitLeft {
		return code
	}
	fmt.Fprintf(errOut, "nfsbench: %v%s\n", err, nearFlag(cmd, err))
	if !errors.As(err, new(runError)) {
		fmt.Fprintf(errOut, "Run '%s --help' to see what it takes.\n", cmd.CommandPath())
	}
	return code
}

// markRunErrors wraps every RunE below cmd.
func markRunErrors(cmd *cobra.Command, explain func(error) error) {
	if runE := cmd.RunE; runE != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			err := runE(c, args)
			if err != nil && explain != nil {
				err = explain(err)
			}
			if err != nil {
				return runError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markRunErrors(sub, explain)
	}
}

// nearFlag returns a hint for an unknown flag; empty for other errors, and if no flag is like it.
func nearFlag(cmd *cobra.Command, err error) string {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return ""
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	if near := human.Nearest(unknown.GetSpecifiedName(), flags); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}

func exitCode(err error) int {
	var coded codedError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, new(runError)):
		return ExitFailed
	default:
		return ExitBadInput
	}
}

// RequireSubcommand is the RunE of a command that only groups others: it shows the
// help, or explains an unknown subcommand. Set Args to cobra.ArbitraryArgs with it, or
// cobra refuses the unknown subcommand in its own words.
func RequireSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return BadInputf("there is no command %q; did you mean %q?", args[0], near[0])
	}
	return BadInputf("there is no command %q; '%s --help' lists the commands", args[0], cmd.CommandPath())
}

// AtLeastOne returns the Args of a command that takes one or more of what.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("no %s is given", what)
		}
		return nil
	}
}

// Version returns the release, which the linker sets, or else the version that the toolchain recorded.
func Version(release string) string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(development build)"
	}
	return info.Main.Version
}
