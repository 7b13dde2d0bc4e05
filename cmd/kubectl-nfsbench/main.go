// Command kubectl-nfsbench is the plugin of kubectl for benchmarks and suites: it
// starts and watches them, and reads, compares and shows their results. It
// needs no rights beyond those of its user.
package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/internal/cli"
)

// version is set by the linker for releases: -X main.version=v1.2.3.
var version string

// completer is the name by which kubectl looks for the completion of this plugin.
const completer = "kubectl_complete-nfsbench"

func main() {
	logf.SetLogger(logr.Discard()) // the client's own log is not for people
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	os.Exit(newApp().execute(context.Background(), args, os.Stdin, os.Stdout, os.Stderr))
}

// app holds what all commands share.
type app struct {
	flags   *genericclioptions.ConfigFlags
	connect func(*app) (*cluster, error)
	now     func() time.Time
	every   time.Duration // interval between two reads of a run
}

func newApp() *app {
	return &app{flags: genericclioptions.NewConfigFlags(true), connect: connect, now: time.Now, every: time.Second}
}

// execute runs one command line and returns its exit code.
func (a *app) execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	return cli.Execute(ctx, newRootCommand(a), explain, args, in, out, errOut)
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:         "kubectl-nfsbench",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl nfsbench"},
		Short:       "Run, watch, compare and report benchmarks of Oracle over NFS",
		Long: `Run, watch, compare and report benchmarks of Oracle over NFS.

NAME is that of an NFSBenchmark, or of an NFSBenchmarkSuite where there is no
benchmark of that name. nfsb/NAME and suite/NAME say which; suite/NAME@RUN is one
run of a suite.

Exit codes: 0 done; 1 the run failed, or what was asked for could not be done;
2 nothing was done because a flag, a name or a file is wrong; 3 the run came to
its end with the verdict Fail, Regressed or Inconclusive; 130 left with Ctrl-C.`,
		Example: `  kubectl nfsbench run demo --embedded 1Gi --duration 30s --watch
  kubectl nfsbench report demo -o demo.html
  kubectl nfsbench compare before after`,
		Version: cli.Version(version),
		Args:    cobra.ArbitraryArgs, // so that RunE can explain an unknown command
		RunE:    cli.RequireSubcommand,
	}
	root.SetVersionTemplate("{{.DisplayName}} {{.Version}}\n")
	fs := root.PersistentFlags()
	a.flags.AddFlags(fs)
	// The rare flags of kubectl work, but the help hides them.
	shown := map[string]bool{"namespace": true, "context": true, "kubeconfig": true, "request-timeout": true}
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !shown[f.Name] })
	root.AddCommand(
		newRunCommand(a), newWatchCommand(a), newStatusCommand(a), newReportCommand(a), newCompareCommand(a),
		newStopCommand(a), newRerunCommand(a), newResubmitCommand(a), newAcceptCommand(a), newDoctorCommand(a),
	)
	return root
}
