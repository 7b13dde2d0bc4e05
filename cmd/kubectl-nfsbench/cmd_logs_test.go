package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// loadPod is the pod of one client, as the Job makes it of the manifest.
func loadPod(t *testing.T, b *v1alpha1.NFSBenchmark, index int) *corev1.Pod {
	t.Helper()
	template := manifest.LoadJob(b, runfile.Plan{Clients: 2}, "", manifest.Images{NFSBench: "x"}).Spec.Template
	p := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
	p.Namespace, p.Name = b.Namespace, fmt.Sprintf("%s-%d-abcde", b.Name, index)
	p.Labels["batch.kubernetes.io/job-completion-index"] = fmt.Sprint(index)
	return p
}

// says answers each log with two lines that name it.
func says(_ context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(fmt.Sprintf("%s/%s %s\nfollow %v", namespace, pod, o.Container, o.Follow))), nil
}

func TestLogsAreThoseOfTheClientsThatAreMeant(t *testing.T) {
	t.Parallel()
	b, other := gen.Benchmark("demo", gen.UID("1")), gen.Benchmark("other", gen.UID("2"))
	s := newShell(t, b, other, loadPod(t, b, 10), loadPod(t, b, 2), loadPod(t, other, 0))
	s.logs = says
	cases := map[string]struct {
		args []string
		want string
	}{
		"all":       {nil, "[client-2/loader] bench/demo-2-abcde loader\n[client-2/loader] follow false\n[client-10/loader] bench/demo-10-abcde loader\n[client-10/loader] follow false\n"},
		"one":       {[]string{"--client", "10"}, "bench/demo-10-abcde loader\nfollow false\n"},
		"container": {[]string{"-c", "collector", "--client", "2"}, "bench/demo-2-abcde collector\nfollow false\n"},
		"follow":    {[]string{"-f", "--client", "2"}, "bench/demo-2-abcde loader\nfollow true\n"},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, s.run(append([]string{"logs", "demo"}, c.args...)...).mustEnd(t, exitOK).out); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	s.run("logs", "demo", "-c", "database").mustEnd(t, exitBadInput).mustSay(t, `no pod of "demo" has a container "database"; there is loader, collector`)
	s.run("logs", "demo", "--client", "5").mustEnd(t, exitBadInput).mustSay(t, `"demo" has no client 5`)
}

func TestLogsOfASuiteAreThoseOfTheBenchmarkUnderWay(t *testing.T) {
	t.Parallel()
	b := gen.Benchmark("s-1-nfs-r1-0", gen.UID("1"))
	x := suiteOf("s", func(x *v1alpha1.NFSBenchmarkSuite) { x.Status.Run.Current = b.Name })
	s := newShell(t, b, x, suiteOf("idle", nil), loadPod(t, b, 0))
	s.logs = says
	s.run("logs", "suite/s").mustEnd(t, exitOK).mustSay(t, "bench/s-1-nfs-r1-0-0-abcde loader")
	s.run("logs", "suite/idle").mustEnd(t, exitBadInput).mustSay(t, "no benchmark under way", "-l nfsbench.io/suite=idle")
}

func TestFollowingWaitsForAContainerToStart(t *testing.T) {
	t.Parallel()
	b := gen.Benchmark("demo", gen.UID("1"))
	s := newShell(t, b, loadPod(t, b, 0), loadPod(t, b, 1))
	var asked atomic.Int32
	s.logs = func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		if asked.Add(1) < 6 {
			return nil, apierrors.NewBadRequest(`container "loader" in pod is waiting to start: PodInitializing`)
		}
		return says(ctx, namespace, pod, o)
	}
	o := s.run("logs", "demo", "-f").mustEnd(t, exitOK)
	o.mustSay(t, "[client-0/loader] bench/demo-0-abcde loader\n", "[client-1/loader] bench/demo-1-abcde loader\n")
	asked.Store(0)
	s.run("logs", "demo").mustEnd(t, exitFailed).mustSay(t, "log of container loader of pod demo-0-abcde", "waiting to start")
}

func TestWithoutPodsWhatIsKeptIsShown(t *testing.T) {
	t.Parallel()
	b, m := finished(t, "demo", 1)
	b.Status.Message = "ran to its end"
	b.Status.Conditions = []metav1.Condition{{Type: "Succeeded", Status: "True", Reason: "Completed", LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}
	early := gen.Benchmark("early")
	s := newShell(t, b, m, early)
	o := s.run("logs", "demo").mustEnd(t, exitOK)
	o.mustSay(t, "The pods of demo are gone", "ran to its end", "1970-01-01T00:00:00Z  Succeeded=True  Completed", "client-0  Measure 1  10s")
	s.run("logs", "early").mustEnd(t, exitOK).mustSay(t, "early has no pods yet; it is new.")
}

func TestTheOranfstabIsPrintedAndNothingElse(t *testing.T) {
	t.Parallel()
	b, m := finished(t, "demo", 1)
	late, mLate := finished(t, "late", 1)
	want := late.Status.Resolved.Oranfstab
	late.Status.Resolved = nil
	kernel := gen.Benchmark("kernel", gen.Kernel)
	fresh, failed := gen.Benchmark("fresh"), gen.Benchmark("failed")
	failed.Status.Phase, failed.Status.Message = v1alpha1.PhaseFailed, "no path"
	s := newShell(t, b, m, late, mLate, kernel, fresh, failed, suiteOf("s", nil))
	if o := s.run("oranfstab", "demo").mustEnd(t, exitOK); strings.TrimSpace(o.out) != strings.TrimSpace(b.Status.Resolved.Oranfstab) || o.err != "" || !strings.Contains(o.out, "path:") {
		t.Errorf("printed %q and %q", o.out, o.err)
	}
	if o := s.run("oranfstab", "late").mustEnd(t, exitOK); strings.TrimSpace(o.out) != strings.TrimSpace(want) {
		t.Errorf("of the result: %q", o.out)
	}
	s.run("oranfstab", "kernel").mustEnd(t, exitFailed).mustSay(t, "uses the kernel's mount")
	s.run("oranfstab", "fresh").mustEnd(t, exitFailed).mustSay(t, "no oranfstab yet")
	s.run("oranfstab", "failed").mustEnd(t, exitFailed).mustSay(t, "before it had an oranfstab: no path")
	s.run("oranfstab", "suite/s").mustEnd(t, exitBadInput).mustSay(t, "name one of its benchmarks")
}

func TestTheListHasSuitesAndBenchmarksOfTheirOwn(t *testing.T) {
	t.Parallel()
	b, _ := finished(t, "demo", 1)
	b.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	b.Status.Summary = &v1alpha1.Summary{ThroughputBytesPerSecond: new(int64(1_234_567_890)), P99Latency: "2ms"}
	part := gen.Benchmark("s-1-nfs-r1-0")
	part.Labels = map[string]string{v1alpha1.LabelSuite: "s"}
	s := newShell(t, b, part, suiteOf("s", nil), gen.Benchmark("far", gen.In("elsewhere")))
	o := s.run("list").mustEnd(t, exitOK)
	var rows [][]string
	for line := range strings.Lines(o.out) {
		rows = append(rows, strings.Fields(line))
	}
	want := [][]string{
		{"NAME", "PHASE", "VERDICT", "DONE", "MB/S", "P99", "AGE"},
		{"suite/s", "Succeeded", "NotEvaluated", "12/12"},
		{"demo", "Succeeded", "Pass", "1234.6", "2ms", "3h"},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	s.run("list", "-A").mustEnd(t, exitOK).mustSay(t, "NAMESPACE", "elsewhere   far")
	s.run("list", "-n", "empty").mustEnd(t, exitOK).mustSay(t, `no benchmarks and no suites in namespace "empty"`)
}
