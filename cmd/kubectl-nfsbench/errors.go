package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes are a contract with scripts.
const (
	exitOK       = 0
	exitFailed   = 1   // the run failed, or what was asked for could not be done
	exitBadInput = 2   // nothing was done: bad flags, names or files
	exitVerdict  = 3   // the run came to its end, and is Fail or Regressed
	exitLeft     = 130 // left with Ctrl-C, as shells count it
)

// codedError ends the program with a code of its own.
type codedError struct {
	code int
	err  error
}

func (e codedError) Error() string { return e.err.Error() }
func (e codedError) Unwrap() error { return e.err }

// badInput marks an error that only other flags, names or files can cure.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return codedError{exitBadInput, err}
}

// runError marks an error that came out of a RunE, to tell it from those that
// cobra makes from the command line and that have no type of their own.
type runError struct{ err error }

func (e runError) Error() string { return e.err.Error() }
func (e runError) Unwrap() error { return e.err }

// markRunErrors wraps every RunE below cmd: what the API server and the network
// say is put into words there, once.
func markRunErrors(cmd *cobra.Command) {
	if runE := cmd.RunE; runE != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			if err := runE(c, args); err != nil {
				return runError{explain(err)}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markRunErrors(sub)
	}
}

func exitCode(err error) int {
	var coded codedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, new(runError)):
		return exitFailed
	default:
		return exitBadInput
	}
}

// errLeft is the end by Ctrl-C of a command that has said so itself.
var errLeft = codedError{exitLeft, errors.New("left")}

// printError is the one place that prints an error.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	if errors.Is(err, errLeft) {
		return
	}
	fmt.Fprintf(w, "nfsbench: %v\n", err)
	if !errors.As(err, new(runError)) {
		fmt.Fprintf(w, "Run '%s --help' to see what it takes.\n", cmd.CommandPath())
	}
}
