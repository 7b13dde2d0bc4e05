package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes are a contract with scripts and with the operator.
const (
	exitOK       = 0
	exitFailed   = 1 // the command ran and failed, or what it checked is not good
	exitBadInput = 2 // nothing was done: bad flags, or input that cannot be read
)

// badInputError marks an error that the caller can only cure by changing the
// flags or the input files.
type badInputError struct{ err error }

func (e badInputError) Error() string { return e.err.Error() }
func (e badInputError) Unwrap() error { return e.err }

// badInput makes err end the program with exit code 2. Commands use it in
// their RunE; errors that cobra finds before RunE are bad input already.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return badInputError{err}
}

// runError marks an error that came out of a RunE, to tell it from those that
// cobra makes from the command line and that have no type of their own.
type runError struct{ err error }

func (e runError) Error() string { return e.err.Error() }
func (e runError) Unwrap() error { return e.err }

// markRunErrors wraps every RunE below cmd. Commands must be complete when it
// is called.
func markRunErrors(cmd *cobra.Command) {
	if runE := cmd.RunE; runE != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			if err := runE(c, args); err != nil {
				return runError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markRunErrors(sub)
	}
}

func exitCode(err error) int {
	var (
		bad badInputError
		ran runError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &bad):
		return exitBadInput
	case errors.As(err, &ran):
		return exitFailed
	default:
		return exitBadInput
	}
}

// printError is the one place that prints an error.
func printError(w io.Writer, cmd *cobra.Command, err error) {
	fmt.Fprintf(w, "nfsbench: %v\n", err)
	if !errors.As(err, new(runError)) {
		fmt.Fprintf(w, "Run '%s --help' to see what it takes.\n", cmd.CommandPath())
	}
}
