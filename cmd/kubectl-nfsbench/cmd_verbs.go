package main

import (
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

// change returns the patch of a verb for an object, in which a nil member removes a field, and a message for the
// user. It returns an error if the verb does not apply now.
type change func(f found) (members map[string]any, said string, err error)

// verb builds a command that changes one object by a patch.
func verb(a *app, cmd *cobra.Command, kind string, of change) *cobra.Command {
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
		members, said, err := of(f)
		if err != nil {
			return cli.BadInput(err)
		}
		raw, err := json.Marshal(members)
		if err != nil {
			return err
		}
		if err := c.Patch(cmd.Context(), f.object(), client.RawPatch(types.MergePatchType, raw)); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), said)
		return nil
	}
	return cmd
}

func newStopCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop NAME|suite/NAME",
		Short: "End a run early and keep what was measured",
		Example: `  kubectl nfsbench stop demo
  kubectl nfsbench stop suite/protocols`,
	}
	spec := func(member string, v any) map[string]any { return map[string]any{"spec": map[string]any{member: v}} }
	return verb(a, cmd, anyKind, func(f found) (map[string]any, string, error) {
		if b := f.benchmark; b != nil {
			if b.Status.Phase.IsFinished() {
				return nil, "", fmt.Errorf("%q is over already (%s)", b.Name, b.Status.Phase)
			}
			return spec("suspend", true), b.Name + " stops", nil
		}
		stop, said := spec("shutdown", v1alpha1.ShutdownStop), f.ref()+" stops its run"
		switch s := f.suite; {
		case s.Spec.Schedule != nil:
			said += fmt.Sprintf(", and runs no other until 'kubectl patch nfsbs %s --type merge -p "+
				`'{"spec":{"shutdown":null}}''`, s.Name)
		case s.Status.Phase.IsFinished():
			return nil, "", fmt.Errorf("%s is over already (%s)", f.ref(), s.Status.Phase)
		}
		return stop, said, nil
	})
}

// ask returns a patch that sets an annotation with a request. The patch also removes spec.shutdown, which would end
// the new run at once.
func ask(s *v1alpha1.NFSBenchmarkSuite, annotation, value string) map[string]any {
	members := map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: value}}}
	if s.Spec.Shutdown != "" {
		members["spec"] = map[string]any{"shutdown": nil}
	}
	return members
}

func newRerunCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rerun SUITE",
		Short: "Start a new run of a suite without a schedule",
		Long: `Start a new run of a suite as it is. The results of the runs before are kept.
A benchmark is never run again; see 'kubectl nfsbench run --help'.`,
		Example: `  kubectl nfsbench rerun suite/protocols`,
	}
	return verb(a, cmd, suiteKind, func(f found) (map[string]any, string, error) {
		switch s := f.suite; {
		case s.Spec.Schedule != nil:
			return nil, "", fmt.Errorf("%s has a schedule: 'argo cron list' shows when it runs next; only a suite without "+
				"spec.schedule can be run again on request", f.ref())
		case s.Status.Phase == v1alpha1.SuiteRunning:
			return nil, "", underWay(f)
		}
		return ask(f.suite, v1alpha1.AnnotationRerun, a.now().UTC().Format(time.RFC3339)), f.ref() + " runs again", nil
	})
}

func underWay(f found) error {
	return fmt.Errorf("%s is under way: wait for its end, or 'kubectl nfsbench stop %s'", f.ref(), f.ref())
}

func newResubmitCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resubmit SUITE",
		Short:   "Continue the newest run of a suite where it ended",
		Long:    `Continue the newest run: what has succeeded is not run again.`,
		Example: `  kubectl nfsbench resubmit suite/protocols`,
	}
	return verb(a, cmd, suiteKind, func(f found) (map[string]any, string, error) {
		switch s := f.suite.Status; {
		case s.Run == nil:
			return nil, "", fmt.Errorf("%s has not run yet: there is no run to continue", f.ref())
		case s.Run.CompletionTime == nil:
			return nil, "", underWay(f)
		case s.Phase == v1alpha1.SuiteSucceeded:
			return nil, "", fmt.Errorf("all benchmarks of %s have succeeded: 'kubectl nfsbench rerun %s' runs them again",
				f.ref(), f.ref())
		}
		return ask(f.suite, v1alpha1.AnnotationResubmit, a.now().UTC().Format(time.RFC3339)),
			f.ref() + " continues where it ended", nil
	})
}

func newAcceptCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accept SUITE@RUN",
		Short: "Accept a run as the one that later runs are compared with",
		Long: `Accept the numbers of a run. It becomes the baseline of regressions, so that the
ones it shows are acknowledged. 'kubectl nfsbench report SUITE@RUN' shows them.`,
		Example: `  kubectl nfsbench accept suite/nightly@nightly-1780000000`,
	}
	return verb(a, cmd, suiteKind, func(f found) (map[string]any, string, error) {
		var runs []string
		for _, h := range f.suite.Status.History {
			runs = append(runs, h.Run)
		}
		switch {
		case f.suite.Spec.Schedule == nil:
			return nil, "", fmt.Errorf("%s has no schedule, and only scheduled runs are compared with an accepted one: use "+
				"'kubectl nfsbench compare'", f.ref())
		case !slices.Contains(runs, f.run):
			return nil, "", fmt.Errorf("%s keeps no finished run %q; write SUITE@RUN with one of %s", f.ref(), f.run,
				cli.Listed(runs))
		}
		return ask(f.suite, v1alpha1.AnnotationAcceptRun, f.run), f.ref() + ": later runs are compared with " + f.run, nil
	})
}
