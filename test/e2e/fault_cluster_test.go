package e2e

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestTheAPIServerMayBeAwayDuringARun stops it for 30 s while one run fills its
// files, one measures all the time, and one comes to its end.
func TestTheAPIServerMayBeAwayDuringARun(t *testing.T) {
	f := newFarm(t, "away", 233, 3)
	pid := apiServer(t, f.cluster)
	long, ends, fills := f.plot(t), f.plot(t), f.plot(t)
	measuring, ending, filling := long.run(t, lasting(40)), ends.run(t, lasting(10)), fills.run(t, fileSize("384Mi"))
	last, slow := f.running(t, ending, 1)[0], f.running(t, filling, 1)[0]
	f.running(t, measuring, 1)[0].await(t, runfile.SpanMeasure)
	slow.await(t, runfile.SpanFill)
	last.await(t, runfile.SpanMeasure)

	send(t, pid, syscall.SIGSTOP)
	stopped := time.Now()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	time.Sleep(30 * time.Second)
	seen := last.spans(t)
	send(t, pid, syscall.SIGCONT)
	if len(seen) == 0 || seen[len(seen)-1] != runfile.SpanDone {
		t.Errorf("no run came to its end while the API server was away: %v", seen)
	}
	back := time.Now()
	t.Logf("the API server was away for %v", back.Sub(stopped).Round(time.Second))

	poll(t, endsWithin, func() (bool, string) {
		b := &v1alpha1.NFSBenchmark{}
		err := f.Get(t.Context(), client.ObjectKeyFromObject(ending), b)
		return err == nil && b.Status.Phase.IsFinished(), "it is not told that the run has ended"
	})
	t.Logf("the end of a run in that time was told after %v", time.Since(back).Round(time.Second))
	for _, b := range []*v1alpha1.NFSBenchmark{ending, measuring, filling} {
		f.undisturbed(t, b)
	}
	for _, p := range []*plot{long, ends, fills} {
		p.noFiles(t)
	}
}

// apiServer finds the process of the API server, or skips the test where it is
// not on this machine.
func apiServer(t *testing.T, c *cluster) int {
	t.Helper()
	u, err := url.Parse(c.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		args, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(args, []byte("kube-apiserver\x00")) || !bytes.Contains(args, []byte("--secure-port\x00"+u.Port()+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Skip("needs an API server that is a process of this machine: `CLUSTER=local make test`")
	return 0
}

// TestARunWhoseNodeIsDrainedFailsAndSaysSo does what kubectl drain does to load
// pods: one that fills its files, and one that measures.
func TestARunWhoseNodeIsDrainedFailsAndSaysSo(t *testing.T) {
	f := newFarm(t, "drain", 234, 2)
	fills, measures := f.plot(t), f.plot(t)
	filling := fills.run(t, fileSize("512Mi"))
	measuring := measures.run(t, lasting(60))
	early, late := f.running(t, filling, 1)[0], f.running(t, measuring, 1)[0]
	early.await(t, runfile.SpanFill)
	late.await(t, runfile.SpanMeasure)
	time.Sleep(3 * time.Second) // a partial result that is worth keeping

	f.cordon(t, early.Spec.NodeName)
	for _, p := range []inside{early, late} {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
		if err := f.typed.PolicyV1().Evictions(p.Namespace).Evict(t.Context(), eviction); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []*v1alpha1.NFSBenchmark{filling, measuring} {
		failed := f.finished(t, b, endsWithin)
		wantFailure(t, failed, v1alpha1.ReasonPodLost, "evicted", "kubectl drain", "run the benchmark again", "partial")
		f.cleanedUp(t, b)
		f.startedOnce(t, b)
	}
	partialResult(t, f.cluster, f.get(t, measuring), runfile.FailureCancelled)
	fills.noFiles(t)
	measures.noFiles(t)
}

// cordon keeps new pods from a node until the end of the test.
func (f *farm) cordon(t *testing.T, name string) {
	t.Helper()
	set := func(ctx context.Context, yes string) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		return f.Patch(ctx, node, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":`+yes+`}}`)))
	}
	t.Cleanup(func() {
		if err := set(context.WithoutCancel(t.Context()), "null"); err != nil {
			t.Errorf("let pods on node %s again: %v", name, err)
		}
	})
	if err := set(t.Context(), "true"); err != nil {
		t.Fatal(err)
	}
}
