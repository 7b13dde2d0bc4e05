package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/oracle/slobconf"
)

// newSLOBCommand returns the command that groups the subcommands for files of a SLOB kit.
func newSLOBCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slob",
		Short: "Read the configuration of a SLOB kit",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.RequireSubcommand,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "import SLOB.CONF",
		Short: "Print a slob.conf as the workload.slob of an NFSBenchmark",
		Long: `Print a slob.conf of SLOB 2.5 as a fragment of an NFSBenchmark: workload.slob and
run.durationSeconds, with a comment for what SLOB takes by default and for what
has no counterpart. SLOB.CONF may be - for standard input. The file is read, not
executed, and passwords are not printed.`,
		Example: `  nfsbench slob import ./slob.conf
  kubectl exec db -- cat /SLOB/slob.conf | nfsbench slob import -`,
		Args: oneFile("SLOB.CONF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := cli.ReadInput(cmd.Context(), cmd.InOrStdin(), args[0], "slob.conf", maxSLOBConfBytes)
			if err != nil {
				return cli.BadInput(err)
			}
			conf, err := slobconf.Parse(bytes.NewReader(src))
			if err != nil {
				return cli.BadInputf("read %s: %w", cli.DisplayName(args[0]), err)
			}
			text, err := conf.YAML()
			if err != nil {
				return cli.BadInputf("read %s: %w", cli.DisplayName(args[0]), err)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	})
	return cmd
}

// maxSLOBConfBytes is far above any real file.
const maxSLOBConfBytes = 1 << 20

// oneFile requires one argument, which the usage calls name.
func oneFile(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%d files are named; give one %s, or - for standard input", len(args), name)
		}
		return nil
	}
}
