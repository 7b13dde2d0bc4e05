package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func newReportCommand(a *app) *cobra.Command {
	var to cli.Destination
	cmd := &cobra.Command{
		Use:   "report NAME|suite/NAME[@RUN]",
		Short: "Write the report of a run",
		Long: `Fetch the result of a benchmark, or the record of a suite's run, judge it
again, and write it as text or as one HTML file that needs no network and prints
well. It needs get on the ConfigMap that status.resultRef names; for a suite,
list on configmaps.

Read your Oracle licence before you publish numbers.`,
		Example: `  kubectl nfsbench report demo
  kubectl nfsbench report demo -o demo.html
  kubectl nfsbench report suite/protocols -o protocols.html
  kubectl nfsbench report suite/nightly@nightly-1780000000 -o report.txt`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(a, anyKind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := to.Parse(); err != nil {
				return err
			}
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			f, err := c.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.report(cmd, c, f, to)
		},
	}
	to.Register(cmd)
	return cmd
}

func (a *app) pageOptions() report.PageOptions {
	return report.PageOptions{Generated: a.now(), Version: cli.Version(version)}
}

func (a *app) report(cmd *cobra.Command, c *cluster, f found, to cli.Destination) error {
	in, records, err := c.recorded(cmd, f)
	if err != nil {
		return err
	}
	options := a.pageOptions()
	if to.Format == cli.FormatHTML {
		options.Reproduce = c.reproduce(cmd.Context(), f)
	}
	var g *compare.Table
	if in.Run != nil {
		g = regressionOf(f.suite, *in.Run, records)
	}
	return to.WriteReport(cmd, in, g, options)
}

// recorded reads the result of a benchmark, or all records of a suite and among them the run that f names. It warns
// of records that it leaves out.
func (c *cluster) recorded(cmd *cobra.Command, f found) (cli.Recorded, []runfile.SuiteRun, error) {
	if f.suite == nil {
		res, err := archive.Result(cmd.Context(), c, f.benchmark)
		return cli.Recorded{Name: f.benchmark.Name, Result: res}, nil, err
	}
	records, leftOut, err := archive.Records(cmd.Context(), c, f.suite)
	if err != nil {
		return cli.Recorded{}, nil, err
	}
	for _, what := range leftOut {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", what)
	}
	run, err := chooseRun(records, f)
	return cli.Recorded{Run: &run}, records, err
}

// chooseRun returns the run that f names, or the newest run.
func chooseRun(records []runfile.SuiteRun, f found) (runfile.SuiteRun, error) {
	var names []string
	for _, r := range records {
		if f.run == "" || r.Run == f.run {
			return r, nil
		}
		names = append(names, r.Run)
	}
	switch {
	case len(records) == 0 && f.suite.Status.Run == nil:
		return runfile.SuiteRun{}, fmt.Errorf("suite/%s has not run yet: %s", f.suite.Name,
			strings.Join(strings.Fields(suiteSight(f.suite).words()), " "))
	case len(records) == 0:
		return runfile.SuiteRun{}, fmt.Errorf("suite/%s has no record yet: 'kubectl nfsbench watch suite/%s' waits for "+
			"its end", f.suite.Name, f.suite.Name)
	default:
		return runfile.SuiteRun{}, cli.BadInputf("suite/%s has no record of a run %q; %s", f.suite.Name, f.run,
			human.Others(f.run, names))
	}
}

// regressionOf compares a scheduled run with the accepted run. It returns nil if the suite declares no regression
// check or has no other accepted run.
func regressionOf(s *v1alpha1.NFSBenchmarkSuite, run runfile.SuiteRun, records []runfile.SuiteRun) *compare.Table {
	if run.Settings.Regression == nil {
		return nil
	}
	name := acceptedRun(s)
	var accepted *runfile.SuiteRun
	var history []runfile.SuiteRun
	for i, r := range records {
		if r.Run == name && r.Run != run.Run {
			accepted = &records[i]
		}
		if r.Started.Before(run.Started) && !wasRegressed(s, r.Run) {
			history = append(history, r)
		}
	}
	if accepted == nil {
		return nil
	}
	g := compare.Run(compare.Request{
		Run: &run, Accepted: accepted, History: history, SuiteSignificance: *run.Settings.Regression,
	})
	return &g
}

func acceptedRun(s *v1alpha1.NFSBenchmarkSuite) string {
	for _, h := range s.Status.History {
		if h.Accepted {
			return h.Run
		}
	}
	return s.Annotations[v1alpha1.AnnotationAcceptRun]
}

func wasRegressed(s *v1alpha1.NFSBenchmarkSuite, run string) bool {
	for _, h := range s.Status.History {
		if h.Run == run {
			return h.Verdict == v1alpha1.SuiteRegressed
		}
	}
	return false
}

// reproduce returns the manifest that creates the object again. It returns an empty string on an error, because the
// report is useful without the manifest.
func (c *cluster) reproduce(ctx context.Context, f found) string {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(f.kind()))
	if err := c.Get(ctx, client.ObjectKeyFromObject(f.object()), u); err != nil {
		return ""
	}
	text, err := yaml.Marshal(asNew(u).Object)
	if err != nil {
		return ""
	}
	return string(text)
}

// writeTable adds the table of the newest run to the summary of a suite. On an error it writes a note, because users
// may lack the right to read ConfigMaps.
func (a *app) writeTable(cmd *cobra.Command, c *cluster, s *v1alpha1.NFSBenchmarkSuite) {
	in, _, err := c.recorded(cmd, found{suite: s, run: s.Status.Run.Name})
	if err == nil {
		err = cli.WriteTable(cmd.OutOrStdout(), compare.Run(compare.Request{Run: in.Run}))
	}
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "The table cannot be shown: %v\n", explain(err))
	}
}
