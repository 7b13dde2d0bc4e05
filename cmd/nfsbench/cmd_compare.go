package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
)

func newCompareCommand(a *app) *cobra.Command {
	var o cli.Compare
	cmd := &cobra.Command{
		Use:   "compare A B | compare RECORD",
		Short: "Compare two results with statistics",
		Long: `Compare two result files, repetition by repetition, or the records of two runs of
a suite, cell by cell; A is the baseline. A record alone is compared within itself,
as its suite says, or as --baseline does.
` + cli.CompareRules,
		Example: `  nfsbench compare nfs.json.gz dnfs.json.gz
  nfsbench compare nfs.json.gz dnfs.json.gz --metric P99Latency --alpha 0.01 -o dnfs.html`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Parse(); err != nil {
				return err
			}
			if len(args) == 2 && args[0] == "-" && args[1] == "-" {
				return cli.BadInput(errors.New("only one of the two files can be standard input"))
			}
			in := make([]cli.Recorded, len(args))
			for i, name := range args {
				var err error
				if in[i], err = readRecorded(cmd, []string{name}); err != nil {
					return cli.BadInput(err)
				}
				in[i].Name = sideName(args, i)
			}
			return o.Write(cmd, in, a.pageOptions())
		},
	}
	o.Register(cmd)
	return cmd
}

// sideName returns the name of a file without folder and extensions, or the whole argument if both files share that
// name.
func sideName(args []string, i int) string {
	base := func(name string) string {
		name, _, _ = strings.Cut(filepath.Base(name), ".json")
		return name
	}
	for n, other := range args {
		if n != i && base(other) == base(args[i]) {
			return args[i]
		}
	}
	return base(args[i])
}
