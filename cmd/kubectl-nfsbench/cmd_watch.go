package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
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

Exit codes: 0 the run succeeded, and its verdict is neither Fail nor Regressed;
1 it did not succeed; 3 the verdict is Fail or Regressed; 130 left with Ctrl-C.`,
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
			return a.watch(cmd, c, args[0], timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "longest time to watch (default: until the end)")
	return cmd
}

// watch follows a run to its end and prints its result. The error carries the
// exit code.
func (a *app) watch(cmd *cobra.Command, c *cluster, name string, timeout time.Duration) error {
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
	switch {
	case cmd.Context().Err() != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "Left. The run goes on: 'kubectl nfsbench watch %s' looks at it again, 'kubectl "+
			"nfsbench stop %s' ends it.\n", last.ref(), last.ref())
		return cli.Coded(cli.ExitLeft, errors.New("left"))
	case ctx.Err() != nil:
		return fmt.Errorf("%s is not done after %s, and goes on: 'kubectl nfsbench watch %s' looks at it again", last.ref(),
			timeout, last.ref())
	case err != nil:
		return err
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

// conclude writes the summary and returns the error that sets the exit code.
func (a *app) conclude(cmd *cobra.Command, c *cluster, f found) error {
	if b := f.benchmark; b != nil {
		writeBenchmark(cmd.OutOrStdout(), b)
		switch {
		case b.Status.Phase != v1alpha1.PhaseSucceeded:
			return fmt.Errorf("%s ended as %s: %s", b.Name, b.Status.Phase, b.Status.Message)
		case b.Status.Verdict == bench.VerdictFail:
			return cli.Coded(cli.ExitVerdict, fmt.Errorf("%s missed what was expected of it (verdict Fail)", b.Name))
		}
		return nil
	}
	writeSuite(cmd.OutOrStdout(), f.suite)
	if f.suite.Status.Run != nil {
		a.writeTable(cmd, c, f.suite)
	}
	return suiteEnd(f.suite)
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
	case st.Verdict == v1alpha1.SuiteFail:
		return cli.Coded(cli.ExitVerdict, errors.New("suite/"+s.Name+" missed what was expected of it (verdict Fail)"))
	case st.Verdict == v1alpha1.SuiteRegressed:
		return cli.Coded(cli.ExitVerdict, errors.New("suite/"+s.Name+" is worse than the accepted run (verdict Regressed)"))
	}
	return nil
}

// writeBenchmark writes the outcome of a benchmark from its status.
func writeBenchmark(w io.Writer, b *v1alpha1.NFSBenchmark) {
	st := b.Status
	fmt.Fprintf(w, "%s  %s", b.Name, st.Phase)
	if st.Verdict != "" {
		fmt.Fprintf(w, "  verdict %s", st.Verdict)
	}
	if st.Validity != "" {
		fmt.Fprintf(w, "  numbers %s", st.Validity)
	}
	fmt.Fprintln(w)
	if s := st.Summary; s != nil {
		writeNumbers(w, s)
	} else if st.Message != "" {
		fmt.Fprintln(w, st.Message)
	}
	writeFindings(w, st.Findings)
	if st.ResultRef != nil {
		fmt.Fprintf(w, "'kubectl nfsbench report %s' shows all of it.\n", b.Name)
	}
}

func writeNumbers(w io.Writer, s *v1alpha1.Summary) {
	if s.Workload != "" || s.Protocol != "" {
		fmt.Fprintf(w, "%s, %s\n", s.Workload, s.Protocol)
	}
	var line []string
	add := func(format string, v *int64) {
		if v != nil {
			line = append(line, fmt.Sprintf(format, *v))
		}
	}
	if v := s.ThroughputBytesPerSecond; v != nil {
		line = append(line, human.Throughput(*v))
	}
	add("%d IOPS", s.IOPS)
	if s.MeanLatency != "" {
		line = append(line, "mean "+s.MeanLatency)
	}
	if s.P99Latency != "" {
		line = append(line, "p99 "+s.P99Latency)
	}
	if s.WirePercent != nil {
		line = append(line, fmt.Sprintf("%d %% of the wire", *s.WirePercent))
	}
	if len(line) > 0 {
		fmt.Fprintln(w, strings.Join(line, "  "))
	}
}

// writeFindings writes the findings above severity Info.
func writeFindings(w io.Writer, findings []bench.Finding) {
	for _, f := range findings {
		if f.Severity != bench.SeverityInfo {
			fmt.Fprintf(w, "%s %s: %s\n", f.Severity, f.Code, f.Message)
		}
	}
}

// writeSuite writes the outcome of a suite's newest run, without its table.
func writeSuite(w io.Writer, s *v1alpha1.NFSBenchmarkSuite) {
	st := s.Status
	fmt.Fprintf(w, "suite/%s  %s", s.Name, st.Phase)
	if st.Verdict != "" {
		fmt.Fprintf(w, "  verdict %s", st.Verdict)
	}
	fmt.Fprintln(w)
	if r := st.Run; r != nil {
		fmt.Fprintf(w, "run %s: %d succeeded, %d failed, %d retried\n", r.Name, r.Succeeded, r.Failed, r.Retried)
		for _, f := range r.Failures {
			fmt.Fprintf(w, "failed %s: %s\n", f.Benchmark, f.Message)
		}
	}
	if st.Message != "" {
		fmt.Fprintln(w, st.Message)
	}
	writeFindings(w, st.Findings)
}
