// Command nfsbench measures what Oracle would get from NFS storage, without
// Kubernetes: it generates load, collects counters, serves a test export and
// checks oranfstab files. The pods of the operator run the same binary.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes the command line args and returns the exit code. The first
// SIGINT or SIGTERM cancels the context, so that a run can write its partial
// result; after it the signals have their default action again, so that a
// second one ends a process that hangs.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		printError(errOut, cmd, err)
	}
	return exitCode(err)
}
