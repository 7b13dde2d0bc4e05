package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

func newListCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List suites and benchmarks",
		Long: `Lists suites and then benchmarks, with their progress and results.
Those that suites have made are counted with their suite and not listed.`,
		Example: `  kubectl nfsbench list
  kubectl nfsbench list -A`,
		Aliases: []string{"ls"},
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			if all {
				c.namespace = ""
			}
			return a.list(cmd.Context(), c, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	return cmd
}

func (a *app) list(ctx context.Context, c *cluster, w io.Writer) error {
	var suites v1alpha1.NFSBenchmarkSuiteList
	if err := c.List(ctx, &suites, client.InNamespace(c.namespace)); err != nil {
		return err
	}
	var benchmarks v1alpha1.NFSBenchmarkList
	if err := c.List(ctx, &benchmarks, client.InNamespace(c.namespace)); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	fmt.Fprintln(t, c.column("NAMESPACE")+"NAME\tPHASE\tVERDICT\tDONE\tMB/S\tP99\tAGE")
	n := 0
	for i := range suites.Items {
		s := &suites.Items[i]
		n++
		done := ""
		if s.Status.Run != nil && s.Status.Matrix != nil {
			done = fmt.Sprintf("%d/%d", s.Status.Run.Finished, s.Status.Matrix.Benchmarks)
		}
		fmt.Fprintf(t, "%ssuite/%s\t%s\t%s\t%s\t\t\t%s\n", c.column(s.Namespace), s.Name, s.Status.Phase, s.Status.Verdict, done, a.age(s.CreationTimestamp.Time))
	}
	for i := range benchmarks.Items {
		b := &benchmarks.Items[i]
		if b.Labels[v1alpha1.LabelSuite] != "" {
			continue
		}
		n++
		fmt.Fprintf(t, "%s%s\t%s\t%s\t%s\t%s\t%s\n", c.column(b.Namespace), b.Name, b.Status.Phase, b.Status.Verdict, doneOf(b), numbersOf(b), a.age(b.CreationTimestamp.Time))
	}
	if n == 0 {
		where := fmt.Sprintf("namespace %q: -A shows all namespaces", c.namespace)
		if c.namespace == "" {
			where = "this cluster: 'kubectl nfsbench run --help' says how to start one"
		}
		fmt.Fprintf(w, "There are no benchmarks and no suites in %s.\n", where)
		return nil
	}
	return t.Flush()
}

// column is the column of the namespace, where several are listed.
func (c *cluster) column(text string) string {
	if c.namespace != "" {
		return ""
	}
	return text + "\t"
}

func doneOf(b *v1alpha1.NFSBenchmark) string {
	if p := b.Status.Progress; p != nil && !b.Status.Phase.IsFinished() {
		return fmt.Sprintf("%d %%", p.Percent)
	}
	return ""
}

func numbersOf(b *v1alpha1.NFSBenchmark) string {
	s := b.Status.Summary
	if s == nil || s.ThroughputBytesPerSecond == nil {
		return "\t"
	}
	return fmt.Sprintf("%.1f\t%s", float64(*s.ThroughputBytesPerSecond)/1e6, s.P99Latency)
}

func (a *app) age(created time.Time) string {
	if created.IsZero() {
		return ""
	}
	return duration.HumanDuration(a.now().Sub(created))
}
