package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

// script changes what the looks see, one step a look; the last stays.
func (s *shell) script(steps ...func(client.Object)) {
	n := 0
	s.onGet = func(o client.Object) {
		steps[min(n, len(steps)-1)](o)
		n++
	}
}

func benchmarkStep(phase v1alpha1.Phase, change func(*v1alpha1.NFSBenchmarkStatus)) func(client.Object) {
	return func(o client.Object) {
		if b, ok := o.(*v1alpha1.NFSBenchmark); ok {
			b.Status.Phase = phase
			if change != nil {
				change(&b.Status)
			}
		}
	}
}

func TestWatchOfABenchmarkSaysEachChangeAndEndsWithTheSummary(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("demo"))
	measuring := benchmarkStep(v1alpha1.PhaseRunning, func(st *v1alpha1.NFSBenchmarkStatus) {
		st.Progress = &v1alpha1.ProgressStatus{Step: "Measure", Repetition: 2, Percent: 41, ETASeconds: new(int64(75)), ThroughputMegabytesPerSecond: new(int64(512))}
	})
	s.script(
		benchmarkStep("", nil),
		benchmarkStep(v1alpha1.PhaseQueued, func(st *v1alpha1.NFSBenchmarkStatus) {
			st.Queue = &v1alpha1.QueueStatus{Position: 1, Behind: "bench/other"}
		}),
		measuring, measuring, measuring,
		benchmarkStep(v1alpha1.PhaseSucceeded, func(st *v1alpha1.NFSBenchmarkStatus) {
			st.Verdict, st.Validity = bench.VerdictPass, bench.ValiditySuspect
			st.Summary = &v1alpha1.Summary{Workload: "Read 1Mi", Protocol: "NFSv3", ThroughputBytesPerSecond: new(int64(512_340_000)), IOPS: new(int64(488)), P99Latency: "2.10 ms"}
			st.Findings = []bench.Finding{{Code: "ShortWindow", Severity: bench.SeverityWarning, Message: "too short"}, {Code: "Fine", Severity: bench.SeverityInfo, Message: "no"}}
			st.ResultRef = &v1alpha1.ResultReference{Name: "r"}
			st.Message = "512.3 MB/s, 488 IOPS. Nothing that was counted was full. Good enough: not asked (spec.expect). Trust: limited, the windows were short."
		}),
	)
	o := s.run("watch", "demo").mustEnd(t, cli.ExitOK)
	want := []string{
		"12:00:00  demo    0 %  Created  waiting for the operator",
		"12:00:00  demo    0 %  Queued 1.  behind bench/other",
		"12:00:00  demo   41 %  Running Measure 2  512 MB/s  1m15s left",
		"12:00:00  demo  100 %  Succeeded",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(o.err), "\n")); diff != "" {
		t.Errorf("progress:\n%s", diff)
	}
	summary := `demo  Succeeded  verdict Pass  numbers Suspect
512.3 MB/s, 488 IOPS. Nothing that was counted was full. Good enough: not asked
(spec.expect). Trust: limited, the windows were short.

storage   10.0.1.61, 10.0.2.61:/vol/oradata
protocol  NFSv3
workload  Read 1Mi
latency   p99 2.10 ms

WARNING   ShortWindow
          too short

'kubectl nfsbench report demo' shows all of it.
`
	if diff := cmp.Diff(summary, o.out); diff != "" {
		t.Errorf("summary:\n%s", diff)
	}
}

func TestTheEndOfAWatchIsInItsExitCode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		phase  v1alpha1.Phase
		verd   bench.Verdict
		code   int
		says   string
	}{
		"pass":         {"all is well", v1alpha1.PhaseSucceeded, bench.VerdictPass, cli.ExitOK, ""},
		"inconclusive": {"a pipeline goes on with what is known to be good", v1alpha1.PhaseSucceeded, bench.VerdictInconclusive, cli.ExitVerdict, "is not known (verdict Inconclusive)"},
		"fail":         {"it ran, and was not good", v1alpha1.PhaseSucceeded, bench.VerdictFail, cli.ExitVerdict, "verdict Fail"},
		"failed":       {"it did not run", v1alpha1.PhaseFailed, bench.VerdictNotEvaluated, cli.ExitFailed, "demo ended as Failed"},
		"cancelled":    {"nor did it to its end", v1alpha1.PhaseCancelled, bench.VerdictFail, cli.ExitFailed, "demo ended as Cancelled"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t, gen.Benchmark("demo"))
			s.script(benchmarkStep(c.phase, func(st *v1alpha1.NFSBenchmarkStatus) { st.Verdict, st.Message = c.verd, "no such export" }))
			s.run("watch", "demo").mustEnd(t, c.code).mustSay(t, c.says)
			s = newShell(t)
			s.script(func(o client.Object) {
				if o.GetName() == "demo" {
					benchmarkStep(c.phase, func(st *v1alpha1.NFSBenchmarkStatus) { st.Verdict = c.verd })(o)
				}
			})
			s.run("run", "demo", "--claim", "x", "--watch").mustEnd(t, c.code).mustSay(t, "created")
		})
	}
}

func TestTheEndOfASuiteIsInTheExitCodeToo(t *testing.T) {
	t.Parallel()
	scheduled := &v1alpha1.Schedule{Cron: "0 2 * * 0"}
	done := metav1.NewTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.NFSBenchmarkSuite)
		code   int
	}{
		"succeeded": {"nothing was expected", func(*v1alpha1.NFSBenchmarkSuite) {}, cli.ExitOK},
		"failed":    {"some did not run", func(s *v1alpha1.NFSBenchmarkSuite) { s.Status.Phase = v1alpha1.SuiteFailed }, cli.ExitFailed},
		"fail":      {"some were not good", func(s *v1alpha1.NFSBenchmarkSuite) { s.Status.Verdict = v1alpha1.SuiteFail }, cli.ExitVerdict},
		"regressed": {"between two runs the verdict of the last holds", func(s *v1alpha1.NFSBenchmarkSuite) {
			s.Spec.Schedule, s.Status.Phase, s.Status.Verdict, s.Status.Run.CompletionTime = scheduled, v1alpha1.SuiteScheduled, v1alpha1.SuiteRegressed, &done
		}, cli.ExitVerdict},
		"scheduled and failed": {"the phase of the last run is in the history", func(s *v1alpha1.NFSBenchmarkSuite) {
			s.Spec.Schedule, s.Status.Phase, s.Status.Run.CompletionTime = scheduled, v1alpha1.SuiteScheduled, &done
			s.Status.History = []v1alpha1.SuiteHistoryEntry{{Run: s.Status.Run.Name, Phase: v1alpha1.SuiteFailed}}
		}, cli.ExitFailed},
		"not yet": {"its time has not come, which takes no waiting", func(s *v1alpha1.NFSBenchmarkSuite) {
			s.Spec.Schedule, s.Status.Phase, s.Status.Run = scheduled, v1alpha1.SuiteScheduled, nil
		}, cli.ExitOK},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newShell(t, suiteOf("protocols", c.change)).run("watch", "suite/protocols").mustEnd(t, c.code)
		})
	}
}

func TestWatchOfASuiteShowsTheBenchmarkUnderWayAndItsTable(t *testing.T) {
	t.Parallel()
	s := newShell(t, suiteOf("protocols", nil), gen.Benchmark("protocols-1-nfs-r1-0"), record(t, "protocols", "protocols-1", begun(), 1.2))
	looks := 0
	s.onGet = func(o client.Object) {
		switch x := o.(type) {
		case *v1alpha1.NFSBenchmarkSuite:
			looks++
			if looks < 4 {
				x.Status.Phase = v1alpha1.SuiteRunning
				x.Status.Run.Finished, x.Status.Run.Failed, x.Status.Run.Percent, x.Status.Run.ETASeconds = 3, 1, 25, new(int64(3600))
				x.Status.Run.Current = "protocols-1-nfs-r1-0"
			}
		case *v1alpha1.NFSBenchmark:
			x.Status.Phase = v1alpha1.PhaseRunning
			x.Status.Progress = &v1alpha1.ProgressStatus{Step: "Warmup", Percent: 7}
		}
	}
	o := s.run("watch", "suite/protocols").mustEnd(t, cli.ExitOK)
	o.mustSay(t, "suite/protocols   25 %  Running 3/12, 1 failed  1h0m0s left  |  protocols-1-nfs-r1-0    7 %  Running Warmup", "protocols-1: 12 succeeded", "dnfs")
	if n := strings.Count(o.err, "\n"); n != 2 {
		t.Errorf("%d lines for two states:\n%s", n, o.err)
	}
}

func TestWhatAUserStopsDoesNotCountAsFailedAlone(t *testing.T) {
	t.Parallel()
	stopped := suiteOf("protocols", func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Status.Phase, s.Status.Run.Failed = v1alpha1.SuiteCancelled, 1
	})
	newShell(t, stopped).run("watch", "suite/protocols").mustSay(t, "Cancelled 12/12, 1 failed or stopped")
}

func TestAWatchWaitsForWhatWasAskedForLast(t *testing.T) {
	t.Parallel()
	asked := suiteOf("s", func(x *v1alpha1.NFSBenchmarkSuite) {
		x.Annotations = map[string]string{v1alpha1.AnnotationRerun: "now"}
	})
	changed := suiteOf("s", func(x *v1alpha1.NFSBenchmarkSuite) { x.Generation, x.Status.ObservedGeneration = 2, 1 })
	handled := suiteOf("s", func(x *v1alpha1.NFSBenchmarkSuite) {
		x.Annotations = map[string]string{v1alpha1.AnnotationRerun: "now"}
		x.Status.Handled = &v1alpha1.HandledAnnotations{Rerun: "now"}
	})
	if isOver(asked) || isOver(changed) || !isOver(handled) {
		t.Errorf("over: asked for a run %v, changed %v, handled %v; want only the last", isOver(asked), isOver(changed), isOver(handled))
	}
}

func TestCtrlCLeavesTheRunAlone(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("demo"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.ctx = ctx
	looks := 0
	s.onGet = func(client.Object) {
		if looks++; looks == 3 {
			cancel()
		}
	}
	s.run("watch", "demo").mustEnd(t, cli.ExitLeft).mustSay(t, "Left. The run goes on: 'kubectl nfsbench watch demo'")
	var b v1alpha1.NFSBenchmark
	s.get("demo", &b)
	if b.Spec.Suspend {
		t.Error("the run was stopped")
	}
	o := newShell(t, gen.Benchmark("demo")).run("watch", "demo", "--timeout", "20ms").mustEnd(t, cli.ExitFailed)
	o.mustSay(t, "demo is not done after 20ms, and goes on")
}

func TestAWatchOfWhatIsDeletedEnds(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("demo", gen.UID("1")))
	looks := 0
	s.onGet = func(o client.Object) {
		if looks++; looks == 2 {
			o.SetUID(types.UID("2")) // somebody made another of that name
		}
	}
	s.run("watch", "demo").mustEnd(t, cli.ExitFailed).mustSay(t, "demo was deleted while it was watched")
}

func TestLinesComeEverySoOftenWhileOnlyNumbersChange(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	show := newProgress(&b, func() time.Time { return now })
	for i := range int32(100) {
		show(sight{name: "x", phase: "Running", percent: i})
		now = now.Add(time.Second)
	}
	if n := strings.Count(b.String(), "\n"); n != 4 {
		t.Errorf("%d lines in 100 s, want one each 30 s:\n%s", n, b.String())
	}
}

// TestWatchShowsNoControlCharacters: messages of a run come from an image of its user.
func TestWatchShowsNoControlCharacters(t *testing.T) {
	t.Parallel()
	const evil = "x\x1b]0;pwned\x07\r\u009b2J\u202e"
	s := newShell(t, gen.Benchmark("demo"))
	s.script(
		benchmarkStep(v1alpha1.PhaseRunning, func(st *v1alpha1.NFSBenchmarkStatus) {
			st.Message, st.Progress = evil, &v1alpha1.ProgressStatus{Step: evil}
		}),
		benchmarkStep(v1alpha1.PhaseFailed, func(st *v1alpha1.NFSBenchmarkStatus) {
			st.Message = evil
			st.Summary = &v1alpha1.Summary{Workload: evil, Protocol: evil, P99Latency: evil}
			st.Findings = []bench.Finding{{Code: evil, Severity: bench.SeverityError, Message: evil}}
		}),
	)
	o := s.run("watch", "demo").mustEnd(t, 1)
	if text := o.out + o.err; strings.ContainsAny(text, "\x1b\x07\r\u009b\u202e") || !strings.Contains(text, "x?]0;pwned") {
		t.Errorf("it shows %q", text)
	}
}
