package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// version is set by the linker for releases: -X main.version=v1.2.3.
var version string

// app is what every command shares.
type app struct {
	flags   *genericclioptions.ConfigFlags
	connect func(*app) (*cluster, error)
	now     func() time.Time
	every   time.Duration // between two looks at a run
}

func newApp() *app {
	return &app{flags: genericclioptions.NewConfigFlags(true), connect: connect, now: time.Now, every: time.Second}
}

// subcommands lists the constructors of the commands, in the order of the help.
func subcommands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newRunCommand,
		newWatchCommand,
		newReportCommand,
		newCompareCommand,
		newOranfstabCommand,
		newSuspendCommand,
		newResumeCommand,
		newStopCommand,
		newRerunCommand,
		newResubmitCommand,
		newAcceptCommand,
		newVersionCommand,
	}
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:         "kubectl-nfsbench",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl nfsbench"},
		Short:       "Runs, watches, compares and reports benchmarks of Oracle over NFS",
		Long: `Runs, watches, compares and reports benchmarks of Oracle over NFS.

NAME is that of an NFSBenchmark, or of an NFSBenchmarkSuite where there is no
benchmark of that name. nfsb/NAME and suite/NAME say which; suite/NAME@RUN is one
run of a suite.

Exit codes: 0 done; 1 the run failed, or what was asked for could not be done;
2 nothing was done because a flag, a name or a file is wrong; 3 the run came to
its end with the verdict Fail or Regressed; 130 left with Ctrl-C.`,
		Example: `  kubectl nfsbench run demo --embedded 1Gi --duration 30s --watch
  kubectl nfsbench report demo -o demo.html
  kubectl nfsbench compare before after`,
		Version:       versionText(),
		SilenceErrors: true, // printError prints them, once
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // so that RunE can explain an unknown command
		RunE:          requireSubcommand,
	}
	root.SetVersionTemplate("{{.DisplayName}} {{.Version}}\n")
	a.flags.AddFlags(root.PersistentFlags())
	hideRareFlags(root.PersistentFlags())
	for _, newCommand := range subcommands() {
		root.AddCommand(newCommand(a))
	}
	return root
}

// hideRareFlags keeps the help short. The flags work all the same, as in kubectl.
func hideRareFlags(fs *pflag.FlagSet) {
	shown := map[string]bool{"namespace": true, "context": true, "kubeconfig": true, "request-timeout": true}
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !shown[f.Name] })
}

// execute runs one command line and returns its exit code.
func (a *app) execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRootCommand(a)
	markRunErrors(root)
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

func requireSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return badInput(fmt.Errorf("there is no command %q; did you mean %q?", args[0], near[0]))
	}
	return badInput(fmt.Errorf("there is no command %q; 'kubectl nfsbench --help' lists the commands", args[0]))
}

func newVersionCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this plugin",
		Example: `  kubectl nfsbench version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(cmd.OutOrStdout(), "kubectl nfsbench %s\n", versionText())
			return nil
		},
	}
}

// versionText prefers the release, then what the toolchain recorded.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(development build)"
	}
	return info.Main.Version
}
