package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

const clock = "2026-11-22T12:00:00Z"

func TestVerbsChangeWhatTheySay(t *testing.T) {
	t.Parallel()
	scheduled := func(x *v1alpha1.NFSBenchmarkSuite) { x.Spec.Schedule = &v1alpha1.Schedule{Cron: "0 2 * * 0"} }
	stopped := func(x *v1alpha1.NFSBenchmarkSuite) {
		x.Spec.Shutdown, x.Status.Phase = v1alpha1.ShutdownStop, v1alpha1.SuiteCancelled
		x.Status.Run.CompletionTime = &metav1.Time{Time: time.Unix(0, 0)}
	}
	running := func(x *v1alpha1.NFSBenchmarkSuite) { x.Status.Phase = v1alpha1.SuiteRunning }
	cases := map[string]struct {
		args []string
		from func(*v1alpha1.NFSBenchmarkSuite)
		says string
		is   func(*v1alpha1.NFSBenchmarkSuite) bool
	}{
		"stop":               {[]string{"stop", "s"}, running, "stops its run\n", func(x *v1alpha1.NFSBenchmarkSuite) bool { return x.Spec.Shutdown == v1alpha1.ShutdownStop }},
		"stop of a schedule": {[]string{"stop", "s"}, scheduled, "runs no other until", func(x *v1alpha1.NFSBenchmarkSuite) bool { return x.Spec.Shutdown == v1alpha1.ShutdownStop }},
		"rerun": {[]string{"rerun", "s"}, stopped, "runs again", func(x *v1alpha1.NFSBenchmarkSuite) bool {
			return x.Annotations[v1alpha1.AnnotationRerun] == clock && x.Spec.Shutdown == ""
		}},
		"resubmit": {[]string{"resubmit", "suite/s"}, stopped, "continues where it ended", func(x *v1alpha1.NFSBenchmarkSuite) bool {
			return x.Annotations[v1alpha1.AnnotationResubmit] == clock && x.Annotations[v1alpha1.AnnotationRerun] == ""
		}},
		"accept": {[]string{"accept", "suite/s@s-7"}, func(x *v1alpha1.NFSBenchmarkSuite) {
			scheduled(x)
			x.Status.History = []v1alpha1.SuiteHistoryEntry{{Run: "s-8"}, {Run: "s-7"}}
		}, "compared with s-7", func(x *v1alpha1.NFSBenchmarkSuite) bool { return x.Annotations[v1alpha1.AnnotationAcceptRun] == "s-7" }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t, suiteOf("s", c.from))
			s.run(c.args...).mustEnd(t, cli.ExitOK).mustSay(t, c.says)
			var x v1alpha1.NFSBenchmarkSuite
			s.get("s", &x)
			if !c.is(&x) {
				t.Errorf("it is now %+v %v", x.Spec, x.Annotations)
			}
		})
	}
}

func TestVerbsOfABenchmark(t *testing.T) {
	t.Parallel()
	waiting, under, over := gen.Benchmark("waiting"), gen.Benchmark("under"), gen.Benchmark("over")
	under.Status.Phase, under.Status.StartTime = v1alpha1.PhaseRunning, &metav1.Time{Time: time.Unix(0, 0)}
	over.Status.Phase = v1alpha1.PhaseSucceeded
	s := newShell(t, waiting, under, over)
	suspended := func(name string) bool {
		var b v1alpha1.NFSBenchmark
		s.get(name, &b)
		return b.Spec.Suspend
	}
	s.run("stop", "under").mustEnd(t, cli.ExitOK)
	if suspended("waiting") || !suspended("under") {
		t.Error("another was stopped, or this one was not")
	}
	s.run("stop", "over").mustEnd(t, cli.ExitBadInput).mustSay(t, "over already (Succeeded)")
	s.run("rerun", "nfsb/over").mustEnd(t, cli.ExitBadInput).mustSay(t, "this command needs a suite")
}

func TestVerbsThatMakeNoSenseSaySo(t *testing.T) {
	t.Parallel()
	scheduled := suiteOf("scheduled", func(x *v1alpha1.NFSBenchmarkSuite) {
		x.Spec.Schedule = &v1alpha1.Schedule{Cron: "0 2 * * 0"}
		x.Status.History = []v1alpha1.SuiteHistoryEntry{{Run: "scheduled-1"}}
	})
	running := suiteOf("running", func(x *v1alpha1.NFSBenchmarkSuite) { x.Status.Phase = v1alpha1.SuiteRunning })
	fresh := suiteOf("fresh", func(x *v1alpha1.NFSBenchmarkSuite) { x.Status = v1alpha1.NFSBenchmarkSuiteStatus{} })
	done := suiteOf("done", func(x *v1alpha1.NFSBenchmarkSuite) { x.Status.Run.CompletionTime = &metav1.Time{Time: time.Unix(0, 0)} })
	s := newShell(t, scheduled, running, fresh, done)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rerun", "scheduled"}, "'argo cron list' shows when it runs next"},
		{[]string{"rerun", "running"}, "is under way"},
		{[]string{"resubmit", "running"}, "is under way"},
		{[]string{"resubmit", "fresh"}, "has not run yet"},
		{[]string{"resubmit", "done"}, "'kubectl nfsbench rerun suite/done'"},
		{[]string{"stop", "done"}, "over already (Succeeded)"},
		{[]string{"accept", "done@done-1"}, "only scheduled runs"},
		{[]string{"accept", "scheduled@scheduled-2"}, `keeps no finished run "scheduled-2"; write SUITE@RUN with one of scheduled-1`},
		{[]string{"accept", "suite/scheduled"}, `keeps no finished run ""`},
	} {
		s.run(c.args...).mustEnd(t, cli.ExitBadInput).mustSay(t, c.want)
	}
	for _, name := range []string{"scheduled", "running", "fresh", "done"} {
		var x v1alpha1.NFSBenchmarkSuite
		s.get(name, &x)
		if len(x.Annotations) > 0 || x.Spec.Suspend || x.Spec.Shutdown != "" {
			t.Errorf("%s was changed all the same: %v", name, x.Annotations)
		}
	}
	s.run("accept", "suite/scheduled@scheduled-1").mustEnd(t, cli.ExitOK)
}
