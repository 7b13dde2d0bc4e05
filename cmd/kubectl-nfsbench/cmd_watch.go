package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
)

// maxMisses bounds the failed reads in a row before a watch gives up: a laptop changes its network, an API server
// restarts.
const maxMisses = 60

func newWatchCommand(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "watch NAME|suite/NAME",
		Short: "Show the progress of a run until its end",
		Long: `Show the phase, the progress, the speed and the time left of a run, and its
result at the end, of a suite also those of the benchmark under way. Where the
output is no terminal, a line is written for each change.

Ctrl-C stops the display, not the run.

Exit codes: 0 the run succeeded; 1 it did not; 3 it succeeded, and its verdict is Fail,
Regressed or Inconclusive; 130 left with Ctrl-C.`,
		Example: `  kubectl nfsbench watch demo
  kubectl nfsbench watch suite/protocols
  kubectl nfsbench watch demo --timeout 10m || echo "not good"`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(a, anyKind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			return a.watch(cmd, c, args[0], timeout, cli.Destination{})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "longest time to watch (default: until the end)")
	return cmd
}

// watch follows a run to its end, prints its result, and writes its report if to names a file. The error carries the
// exit code.
func (a *app) watch(cmd *cobra.Command, c *cluster, name string, timeout time.Duration, to cli.Destination) error {
	first, err := c.find(cmd.Context(), name)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	last, err := a.follow(ctx, c, first, newProgress(cmd.ErrOrStderr(), a.now))
	where := last.ref()
	if c.explicit {
		where += " -n " + c.namespace
	}
	switch {
	case cmd.Context().Err() != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "Left. The run goes on: 'kubectl nfsbench watch %s' looks at it again, 'kubectl "+
			"nfsbench stop %s' ends it.\n", where, where)
		return cli.Coded(cli.ExitLeft, errors.New("left"))
	case ctx.Err() != nil:
		return fmt.Errorf("%s is not done after %s, and goes on: 'kubectl nfsbench watch %s' looks at it again", last.ref(),
			timeout, where)
	case err != nil:
		return err
	}
	if to.Given() {
		if err := a.report(cmd, c, last, to); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "no report: %v\n", err) // a run that failed early has no result
		}
	}
	return a.conclude(cmd, c, last)
}

// follow polls a run until it is over or the context ends. It returns the last state that it read.
func (a *app) follow(ctx context.Context, c *cluster, f found, show func(sight)) (found, error) {
	tick := time.NewTicker(a.every)
	defer tick.Stop()
	for misses := 0; ; {
		s := f.sight()
		if current := f.current(); current != "" && !s.over {
			var b v1alpha1.NFSBenchmark // may be deleted by now
			if c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: current}, &b) == nil {
				s.current = new(found{benchmark: &b}.sight())
			}
		}
		show(s)
		if s.over {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return f, nil
		case <-tick.C:
		}
		next, err := c.again(ctx, f)
		switch {
		case err == nil:
			f, misses = next, 0
		case ctx.Err() != nil:
			return f, nil
		case apierrors.IsNotFound(err):
			return f, fmt.Errorf("%s was deleted while it was watched", f.ref())
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || misses == maxMisses:
			return f, err
		default:
			misses++
		}
	}
}

// again reads the object of f again. A new benchmark with the same name counts as not found.
func (c *cluster) again(ctx context.Context, f found) (found, error) {
	next := found{benchmark: &v1alpha1.NFSBenchmark{}}
	if f.suite != nil {
		next = found{suite: &v1alpha1.NFSBenchmarkSuite{}, run: f.run}
	}
	err := c.Get(ctx, client.ObjectKeyFromObject(f.object()), next.object())
	if b := next.benchmark; err == nil && b != nil && b.UID != f.benchmark.UID {
		err = apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("nfsbenchmarks").GroupResource(), b.Name)
	}
	return next, err
}

// conclude writes the page of a run that is over, and returns the error that sets the exit code.
func (a *app) conclude(cmd *cobra.Command, c *cluster, f found) error {
	if err := writeStatus(cmd.OutOrStdout(), f, true); err != nil {
		return err
	}
	if f.benchmark != nil {
		return benchmarkEnd(f.benchmark)
	}
	if f.suite.Status.Run != nil {
		a.writeTable(cmd, c, f.suite)
	}
	return suiteEnd(f.suite)
}

// benchmarkEnd returns the error that sets the exit code. The page has the reason of a failure.
func benchmarkEnd(b *v1alpha1.NFSBenchmark) error {
	if b.Status.Phase != v1alpha1.PhaseSucceeded {
		return fmt.Errorf("%s ended as %s", b.Name, b.Status.Phase)
	}
	return cli.VerdictError(b.Name, b.Status.Verdict)
}

func suiteEnd(s *v1alpha1.NFSBenchmarkSuite) error {
	st := s.Status
	phase := st.Phase
	if phase == v1alpha1.SuiteScheduled && len(st.History) > 0 && st.Run != nil && st.History[0].Run == st.Run.Name {
		phase = st.History[0].Phase
	}
	switch {
	case phase == v1alpha1.SuiteFailed || phase == v1alpha1.SuiteCancelled:
		return fmt.Errorf("suite/%s ended as %s: %s", s.Name, phase, st.Message)
	case st.Verdict == v1alpha1.SuiteRegressed:
		return cli.Coded(cli.ExitVerdict, errors.New("suite/"+s.Name+" is worse than the accepted run (verdict Regressed)"))
	}
	return cli.VerdictError("suite/"+s.Name, bench.Verdict(st.Verdict))
}
