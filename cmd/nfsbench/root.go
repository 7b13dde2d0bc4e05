package main

import (
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases: -X main.version=v1.2.3.
//
//nolint:gochecknoglobals // the linker can set nothing but a variable
var version string

// app is what every subcommand shares. Commands read it in their RunE, not
// while they are built: the flags are not parsed before that.
type app struct {
	log *slog.Logger     // to stderr, as --log-level and --log-format say
	now func() time.Time // the only clock; everything below cmd is handed it
}

// subcommands lists the constructors of the commands, in the order of the help.
func subcommands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newOranfstabCommand,
		newLoadCommand,
		newCleanCommand,
		newServeCommand,
		newCollectCommand,
		newSurveyCommand,
		newReportCommand,
		newCompareCommand,
		newSLOBCommand,
		newDatabaseCommand,
		newInstallCommand,
		newPermissionsCommand,
	}
}

// newRootCommand returns the whole command tree. A subcommand must not define
// PersistentPreRunE: cobra would then skip the root's, which sets up logging.
func newRootCommand() *cobra.Command {
	a := &app{log: slog.New(slog.DiscardHandler), now: clock()}
	var level, format string
	root := &cobra.Command{
		Use:   "nfsbench",
		Short: "Benchmarks Oracle over NFS",
		Long: `nfsbench benchmarks Oracle over NFS: how fast is this storage for Oracle, over
this protocol and these paths, and can the number be believed?

Exit codes: 0 done, 1 the run failed or what was checked is not good,
2 nothing was done because a flag or an input file is wrong.`,
		Version:       versionText(),
		SilenceErrors: true, // printError prints them, once
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // so that RunE can explain an unknown command
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(cmd.ErrOrStderr(), level, format)
			if err != nil {
				return err
			}
			a.log = log
			return nil
		},
		RunE: requireSubcommand,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.PersistentFlags().StringVar(&level, "log-level", "info", "least level to log: debug, info, warn or error")
	root.PersistentFlags().StringVar(&format, "log-format", "text", "how to log to stderr: text or json")
	for _, newCommand := range subcommands() {
		root.AddCommand(newCommand(a))
	}
	markRunErrors(root)
	return root
}

// requireSubcommand is the RunE of a command that only groups others: it shows
// the help, or explains an unknown subcommand. Set Args to cobra.ArbitraryArgs
// with it, or cobra refuses the unknown subcommand in its own words.
func requireSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return badInput(unknownCommand(cmd, args[0]))
}

func unknownCommand(cmd *cobra.Command, arg string) error {
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := cmd.SuggestionsFor(arg); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %q?", arg, near[0])
	}
	return fmt.Errorf("there is no command %q; '%s --help' lists the commands", arg, cmd.CommandPath())
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
