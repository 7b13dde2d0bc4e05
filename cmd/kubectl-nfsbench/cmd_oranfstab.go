package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
)

func newOranfstabCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "oranfstab NAME",
		Short: "Print the oranfstab that a benchmark used",
		Long: `Prints the oranfstab of a benchmark and nothing else, so that it can be kept as
the file of a database. Look at its local addresses before: they are those of the
pod.`,
		Example: `  kubectl nfsbench oranfstab demo
  kubectl nfsbench oranfstab demo > $ORACLE_HOME/dbs/oranfstab`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(a, benchmarkKind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			b, err := c.findBenchmark(cmd.Context(), args[0], "whose benchmarks have an oranfstab each")
			if err != nil {
				return err
			}
			tab, err := c.oranfstab(cmd.Context(), b)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), strings.TrimRight(tab, "\n")+"\n")
			return err
		},
	}
}

// oranfstab takes that of the status, which is there early; the result has it too.
func (c *cluster) oranfstab(ctx context.Context, b *v1alpha1.NFSBenchmark) (string, error) {
	if b.Spec.Protocol.Client == v1alpha1.ClientKernel {
		return "", fmt.Errorf("%q uses the kernel's mount, which needs no oranfstab: its mount options are in status.resolved.mountOptions", b.Name)
	}
	if r := b.Status.Resolved; r != nil && r.Oranfstab != "" {
		return r.Oranfstab, nil
	}
	if b.Status.ResultRef != nil {
		res, err := archive.Result(ctx, c, b)
		if err != nil {
			return "", err
		}
		if tab, err := res.Plan.Engine.Oranfstab(); err != nil || tab != "" {
			return tab, err
		}
	}
	if b.Status.Phase.IsFinished() {
		return "", fmt.Errorf("%q ended as %s before it had an oranfstab: %s", b.Name, b.Status.Phase, b.Status.Message)
	}
	return "", fmt.Errorf("%q has no oranfstab yet: it is written when the paths are known; now it is %s", b.Name, phaseOf(b))
}

func phaseOf(b *v1alpha1.NFSBenchmark) string {
	if b.Status.Phase == "" {
		return "new"
	}
	return string(b.Status.Phase)
}
