package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// maxOranfstabBytes is far above any real file. It limits the memory for a mistyped name, such as the name of a data
// file.
const maxOranfstabBytes = 1 << 20

// newOranfstabCommand returns the command that groups the subcommands for oranfstab files.
func newOranfstabCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "oranfstab",
		Short: "Check oranfstab, the file that configures Oracle Direct NFS",
		Long: `Check oranfstab, the file that configures Oracle Direct NFS.

Oracle reads $ORACLE_HOME/dbs/oranfstab, else /etc/oranfstab, and does not say
what is wrong with it: it hangs at startup, or uses the kernel NFS client.`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.RequireSubcommand,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "lint FILE...",
		Short: "Find mistakes in oranfstab files",
		Long: `Find mistakes in oranfstab files. For each it prints the place and what to write
instead. FILE may be - for standard input. Errors break a rule that Oracle documents;
warnings are legal or not documented, and have cost people time.

Exit codes: 0 no errors, 1 errors, 2 a file cannot be read.`,
		Example: `  nfsbench oranfstab lint /etc/oranfstab
  kubectl get configmap db -o jsonpath='{.data.oranfstab}' | nfsbench oranfstab lint -`,
		Args: cli.AtLeastOne("FILE"),
		RunE: lintFiles,
	})
	return cmd
}

// lintFiles reads all files before any result is printed, so that exit code 2
// means that nothing was done.
func lintFiles(cmd *cobra.Command, names []string) error {
	var b strings.Builder
	all := 0
	for _, name := range names {
		src, err := cli.ReadInput(cmd.Context(), cmd.InOrStdin(), name, "oranfstab", maxOranfstabBytes)
		if err != nil {
			return cli.BadInput(err)
		}
		file, problems, errs := cli.DisplayName(name), oranfstab.Lint(src), 0
		for _, p := range problems {
			if p.Severity == oranfstab.Error {
				errs++
			}
			fmt.Fprintf(&b, "%s:%s [%s]\n", file, p, p.Code)
		}
		fmt.Fprintf(&b, "%s: %s, %s\n", file, human.Count(errs, "error"), human.Count(len(problems)-errs, "warning"))
		all += errs
	}
	fmt.Fprint(cmd.OutOrStdout(), b.String())
	if all > 0 {
		return fmt.Errorf("found %s; correct them before Oracle reads the file", human.Count(all, "error"))
	}
	return nil
}
