// Command kubectl-nfsbench is the plugin of kubectl for benchmarks and suites: it
// starts and watches them, and reads, compares and shows their results. It
// needs no rights beyond those of its user.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// completer is the name by which kubectl looks for the completion of this plugin.
const completer = "kubectl_complete-nfsbench"

func main() {
	logf.SetLogger(logr.Discard()) // the client's own log is not for people
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	os.Exit(run(newApp(), args, os.Stdin, os.Stdout, os.Stderr))
}

// run executes the command line args and returns the exit code. The first
// SIGINT or SIGTERM cancels the context; after it the signals have their default
// action again.
func run(a *app, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return a.execute(ctx, args, in, out, errOut)
}
