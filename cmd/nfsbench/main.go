// Command nfsbench measures what Oracle would get from NFS storage, without
// Kubernetes: it generates load, collects counters, serves a test export and
// checks oranfstab files. The pods of the operator run the same binary.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes the command line args and returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	return cli.Execute(context.Background(), newRootCommand(), nil, args, in, out, errOut)
}

// version is set by the linker for releases: -X main.version=v1.2.3.
//
//nolint:gochecknoglobals // the linker can set nothing but a variable
var version string

// app holds what all subcommands share. Commands read it in RunE: the flags are not parsed earlier.
type app struct {
	log *slog.Logger     // to stderr, as --log-level and --log-format say
	now func() time.Time // the only clock; cmd passes it to all other packages
}

// newRootCommand returns the whole command tree. A subcommand must not define
// PersistentPreRunE: cobra would then skip the root's, which sets up logging.
func newRootCommand() *cobra.Command {
	a := &app{log: slog.New(slog.DiscardHandler), now: clock()}
	var level, format string
	root := &cobra.Command{
		Use:   "nfsbench",
		Short: "Benchmark Oracle over NFS",
		Long: `nfsbench benchmarks Oracle over NFS: how fast is this storage for Oracle, over
this protocol and these paths, and can the number be believed?

Exit codes: 0 done, 1 the run failed or what was checked is not good,
2 nothing was done because a flag or an input file is wrong, 3 the load missed
what was expected of it, or whether it did is not known, 130 ended with Ctrl-C, with what was measured until then.`,
		Version: cli.Version(version),
		Args:    cobra.ArbitraryArgs, // so that RunE can explain an unknown command
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(cmd.ErrOrStderr(), level, format)
			if err != nil {
				return err
			}
			a.log = log
			return nil
		},
		RunE: cli.RequireSubcommand,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.PersistentFlags().StringVar(&level, "log-level", "info", "least level to log: debug, info, warn or error")
	root.PersistentFlags().StringVar(&format, "log-format", "text", "how to log to stderr: text or json")
	root.AddCommand(
		newOranfstabCommand(), newLoadCommand(a), newCleanCommand(a), newServeCommand(a),
		newCollectCommand(a), newSurveyCommand(a), newReportCommand(a), newCompareCommand(a), newSLOBCommand(),
		newDatabaseCommand(a), newInstallCommand(a), newPermissionsCommand(a),
	)
	return root
}

// newLogger makes the logger that the flags ask for.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	switch strings.ToLower(level) {
	case "debug", "info", "warn", "error":
		if err := least.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("read --log-level: %w", err)
		}
	default:
		return nil, fmt.Errorf("--log-level is %q; use debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: least}
	switch strings.ToLower(format) {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	default:
		return nil, fmt.Errorf("--log-format is %q; use text or json", format)
	}
}
