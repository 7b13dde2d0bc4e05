package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
)

// verb builds a command that changes one object by a patch.
func verb(a *app, cmd *cobra.Command, kind string,
	act func(context.Context, *cluster, found) (string, error),
) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = completeNames(a, kind, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.connect(a)
		if err != nil {
			return err
		}
		f, err := c.findKind(cmd.Context(), args[0], kind)
		if err != nil {
			return err
		}
		said, err := act(cmd.Context(), c, f)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), said)
		}
		return err
	}
	return cmd
}

func (c *cluster) findKind(ctx context.Context, arg, kind string) (found, error) {
	if kind != suiteKind {
		return c.find(ctx, arg)
	}
	s, err := c.findSuite(ctx, arg)
	return found{suite: s}, err
}

// patch sets members of an object, where nil removes one.
func (c *cluster) patch(ctx context.Context, object client.Object, members map[string]any) error {
	raw, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, raw))
}

func spec(members map[string]any) map[string]any { return map[string]any{"spec": members} }

func newSuspendCommand(a *app) *cobra.Command {
	var schedule bool
	cmd := &cobra.Command{
		Use:   "suspend NAME|suite/NAME",
		Short: "Hold back a benchmark, or start no more benchmarks of a suite",
		Long: `A benchmark that has not begun is held back. Of a suite, the benchmark under way
ends and no other starts; with --schedule the current run continues, and no new
scheduled run starts. 'resume' undoes both.`,
		Example: `  kubectl nfsbench suspend suite/protocols
  kubectl nfsbench suspend suite/nightly --schedule`,
	}
	cmd.Flags().BoolVar(&schedule, "schedule", false, "hold back scheduled runs only")
	return verb(a, cmd, anyKind, func(ctx context.Context, c *cluster, f found) (string, error) {
		if b := f.benchmark; b != nil {
			switch {
			case schedule:
				return "", cli.BadInputf("%q is a benchmark and has no schedule: leave out --schedule", b.Name)
			case b.Status.Phase.IsFinished():
				return "", cli.BadInputf("%q is over (%s): there is nothing to hold back", b.Name, b.Status.Phase)
			case b.Status.StartTime != nil:
				return "", cli.BadInputf("%q is under way and a measurement cannot pause: 'kubectl nfsbench stop %s' ends it "+
					"and keeps what was measured", b.Name, b.Name)
			}
			return b.Name + " is held back", c.patch(ctx, b, spec(map[string]any{"suspend": true}))
		}
		if !schedule {
			return f.ref() + " starts nothing more after the benchmark under way", c.patch(ctx, f.suite,
				spec(map[string]any{"suspend": true}))
		}
		if f.suite.Spec.Schedule == nil {
			return "", cli.BadInputf("%s has no schedule: leave out --schedule", f.ref())
		}
		return f.ref() + " starts no new scheduled runs", c.patch(ctx, f.suite,
			spec(map[string]any{"schedule": map[string]any{"suspend": true}}))
	})
}

func newResumeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume NAME|suite/NAME",
		Short:   "Continue a suspended benchmark or suite",
		Example: `  kubectl nfsbench resume suite/protocols`,
	}
	return verb(a, cmd, anyKind, func(ctx context.Context, c *cluster, f found) (string, error) {
		if b := f.benchmark; b != nil {
			if b.Status.Phase.IsFinished() {
				return "", cli.BadInputf("%q is over (%s), and a benchmark never runs twice: %s", b.Name, b.Status.Phase,
					again(b.Name))
			}
			return b.Name + " continues", c.patch(ctx, b, spec(map[string]any{"suspend": false}))
		}
		members := map[string]any{"suspend": false, "shutdown": nil}
		if f.suite.Spec.Schedule != nil {
			members["schedule"] = map[string]any{"suspend": false}
		}
		return f.ref() + " continues", c.patch(ctx, f.suite, spec(members))
	})
}

// again is how one runs the same once more.
func again(name string) string {
	return fmt.Sprintf("'kubectl get nfsb %s -o yaml | kubectl nfsbench run -f - --generate-name' runs the same under "+
		"another name", name)
}

func newStopCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop NAME|suite/NAME",
		Short: "End a run early and keep what was measured",
		Example: `  kubectl nfsbench stop demo
  kubectl nfsbench stop suite/protocols`,
	}
	return verb(a, cmd, anyKind, func(ctx context.Context, c *cluster, f found) (string, error) {
		if b := f.benchmark; b != nil {
			if b.Status.Phase.IsFinished() {
				return "", cli.BadInputf("%q is over already (%s)", b.Name, b.Status.Phase)
			}
			return b.Name + " stops", c.patch(ctx, b, spec(map[string]any{"suspend": true}))
		}
		if s := f.suite.Status; f.suite.Spec.Schedule == nil && s.Phase.IsFinished() {
			return "", cli.BadInputf("%s is over already (%s)", f.ref(), s.Phase)
		}
		said := f.ref() + " stops its run"
		if f.suite.Spec.Schedule != nil {
			said += ", and runs no other until 'kubectl nfsbench resume " + f.ref() + "'"
		}
		return said, c.patch(ctx, f.suite, spec(map[string]any{"shutdown": string(v1alpha1.ShutdownStop)}))
	})
}

// annotate asks for something with the time as the new value. What held the suite
// back is taken away in the same patch, or it would end the new run at once.
func (c *cluster) annotate(ctx context.Context, s *v1alpha1.NFSBenchmarkSuite, annotation, value string) error {
	members := map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: value}}}
	if s.Spec.Shutdown != "" {
		members["spec"] = map[string]any{"shutdown": nil}
	}
	return c.patch(ctx, s, members)
}

func newRerunCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rerun SUITE",
		Short: "Start a new run of a suite without a schedule",
		Long: `Start a new run of a suite as it is. The results of the runs before are kept.
A benchmark is never run again; see 'kubectl nfsbench run --help'.`,
		Example: `  kubectl nfsbench rerun suite/protocols`,
	}
	return verb(a, cmd, suiteKind, func(ctx context.Context, c *cluster, f found) (string, error) {
		switch s := f.suite; {
		case s.Spec.Schedule != nil:
			return "", cli.BadInputf("%s has a schedule: 'argo cron list' shows when it runs next; only a suite without "+
				"spec.schedule can be run again on request", f.ref())
		case s.Status.Phase == v1alpha1.SuiteRunning:
			return "", cli.BadInputf("%s is under way: wait for its end, or 'kubectl nfsbench stop %s'", f.ref(), f.ref())
		}
		return f.ref() + " runs again", c.annotate(ctx, f.suite, v1alpha1.AnnotationRerun, a.now().UTC().Format(time.RFC3339))
	})
}

func newResubmitCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resubmit SUITE",
		Short:   "Continue the newest run of a suite where it ended",
		Long:    `Continue the newest run: what has succeeded is not run again.`,
		Example: `  kubectl nfsbench resubmit suite/protocols`,
	}
	return verb(a, cmd, suiteKind, func(ctx context.Context, c *cluster, f found) (string, error) {
		switch s := f.suite.Status; {
		case s.Run == nil:
			return "", cli.BadInputf("%s has not run yet: there is no run to continue", f.ref())
		case s.Run.CompletionTime == nil:
			return "", cli.BadInputf("%s is under way: wait for its end, or 'kubectl nfsbench stop %s'", f.ref(), f.ref())
		case s.Phase == v1alpha1.SuiteSucceeded:
			return "", cli.BadInputf("all benchmarks of %s have succeeded: 'kubectl nfsbench rerun %s' runs them again",
				f.ref(), f.ref())
		}
		return f.ref() + " continues where it ended", c.annotate(ctx, f.suite, v1alpha1.AnnotationResubmit,
			a.now().UTC().Format(time.RFC3339))
	})
}

func newAcceptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "accept RUN SUITE | accept SUITE@RUN",
		Short: "Accept a run as the one that later runs are compared with",
		Long: `Accept the numbers of a run. It becomes the baseline of regressions, so that the
ones it shows are acknowledged. 'kubectl nfsbench report SUITE@RUN' shows them.`,
		Example: `  kubectl nfsbench accept nightly-1780000000 suite/nightly
  kubectl nfsbench accept suite/nightly@nightly-1780000000`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := parseReference(args[len(args)-1])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				ref.run = args[0]
			}
			if ref.run == "" {
				return cli.BadInputf("which run of %q? Write accept RUN suite/%s", ref.name, ref.name)
			}
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			s, err := c.findSuite(cmd.Context(), args[len(args)-1])
			if err != nil {
				return err
			}
			return c.accept(cmd, s, ref.run)
		},
	}
}

func (c *cluster) accept(cmd *cobra.Command, s *v1alpha1.NFSBenchmarkSuite, run string) error {
	var runs []string
	for _, h := range s.Status.History {
		runs = append(runs, h.Run)
	}
	if s.Spec.Schedule == nil {
		return cli.BadInputf("suite/%s has no schedule, and only scheduled runs are compared with an accepted one: use "+
			"'kubectl nfsbench compare'", s.Name)
	}
	if !slices.Contains(runs, run) {
		return cli.BadInputf("suite/%s keeps no finished run %q; it keeps %s", s.Name, run, cli.Listed(nearest(run, runs, 5)))
	}
	if err := c.annotate(cmd.Context(), s, v1alpha1.AnnotationAcceptRun, run); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "suite/%s: later runs are compared with %s\n", s.Name, run)
	return nil
}
