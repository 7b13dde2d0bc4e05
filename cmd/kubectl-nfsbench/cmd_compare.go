package main

import (
	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
)

func newCompareCommand(a *app) *cobra.Command {
	var o cli.Compare
	cmd := &cobra.Command{
		Use:   "compare A B | compare suite/NAME",
		Short: "Compare two results with statistics",
		Long: `Compare two benchmarks, repetition by repetition, or two runs of suites, cell by
cell; A is the baseline. A suite alone is compared within itself, as its
spec.compare says, or as --baseline does.
` + cli.CompareRules,
		Example: `  kubectl nfsbench compare nfs dnfs
  kubectl nfsbench compare nfs dnfs --metric P99Latency --alpha 0.01 -o dnfs.html
  kubectl nfsbench compare suite/protocols
  kubectl nfsbench compare suite/protocols --baseline client=nfs
  kubectl nfsbench compare suite/nightly@nightly-1780000000 suite/nightly`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeNames(a, anyKind, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Parse(); err != nil {
				return err
			}
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			var in []cli.Recorded
			for _, arg := range args {
				f, err := c.find(cmd.Context(), arg)
				if err != nil {
					return err
				}
				r, _, err := c.recorded(cmd, f)
				if err != nil {
					return err
				}
				r.Arg = arg
				in = append(in, r)
			}
			return o.Write(cmd, in, a.pageOptions())
		},
	}
	o.Register(cmd)
	return cmd
}
