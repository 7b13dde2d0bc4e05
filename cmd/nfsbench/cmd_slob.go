package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/oracle/slobconf"
)

// newSLOBCommand groups what can be done with the files of a SLOB kit.
func newSLOBCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slob",
		Short: "Reads the configuration of a SLOB kit",
		Args:  cobra.ArbitraryArgs,
		RunE:  requireSubcommand,
	}
	cmd.AddCommand(newSLOBImportCommand(a))
	return cmd
}

func newSLOBImportCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:   "import SLOB.CONF",
		Short: "Prints a slob.conf as the workload.slob of an NFSBenchmark",
		Long: `Prints a slob.conf of SLOB 2.5 as a fragment of an NFSBenchmark: workload.slob and
run.durationSeconds, with a comment for what SLOB takes by default and for what
has no counterpart. SLOB.CONF may be - for standard input. The file is read, not
executed, and passwords are not printed.`,
		Example: `  nfsbench slob import ./slob.conf
  kubectl exec db -- cat /SLOB/slob.conf | nfsbench slob import -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d files are named; give one SLOB.CONF, or - for standard input", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := readSLOBConf(cmd, args[0])
			if err != nil {
				return badInput(err)
			}
			conf, err := slobconf.Parse(bytes.NewReader(src))
			if err != nil {
				return badInput(fmt.Errorf("read %s: %w", displayName(args[0]), err))
			}
			text, err := conf.YAML()
			if err != nil {
				return badInput(fmt.Errorf("read %s: SLOB would refuse it: %w", displayName(args[0]), err))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
}

// maxSLOBConfBytes is far above any real file.
const maxSLOBConfBytes = 1 << 20

// readSLOBConf reads a file, or standard input for the name "-".
func readSLOBConf(cmd *cobra.Command, name string) ([]byte, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	src, err := readAll(cmd.Context(), io.LimitReader(in, maxSLOBConfBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", displayName(name), err)
	}
	if len(src) > maxSLOBConfBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB, so it is no slob.conf; name another file", displayName(name))
	}
	return src, nil
}
