package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// lasting sets the measured window and nothing else.
func lasting(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.DurationSeconds = seconds }
}

func baseline(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.BaselineSeconds = &seconds }
}

// running waits for the pods of a run and gives the inside of each.
func (c *cluster) running(t *testing.T, b *v1alpha1.NFSBenchmark, n int) []inside {
	t.Helper()
	var pods []corev1.Pod
	poll(t, func() (bool, string) {
		pods = c.loadPods(t, b)
		return len(pods) == n, fmt.Sprintf("%d load pods, not %d; the benchmark is %s", len(pods), n, state(c.get(t, b)))
	})
	var out []inside
	for _, p := range pods {
		out = append(out, inside{p})
	}
	return out
}

// inside is what a pod does, as its node sees it.
type inside struct{ corev1.Pod }

// dir is the run directory of the pod on this machine.
func (i inside) dir() string {
	for _, root := range []string{filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "kubelet"), "/var/lib/kubelet"} {
		dir := filepath.Join(root, "pods", string(i.UID), "volumes", "kubernetes.io~empty-dir", "run")
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return ""
}

// events are those that the loader has written.
func (i inside) events(t *testing.T) []runfile.Event {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.dir(), runfile.EventsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out []runfile.Event
	for line := range bytes.Lines(text) {
		var e runfile.Event
		if json.Unmarshal(line, &e) == nil { // the last line may be half written
			out = append(out, e)
		}
	}
	return out
}

// spans are those that the loader has begun, in order.
func (i inside) spans(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, e := range i.events(t) {
		if len(out) == 0 || out[len(out)-1] != e.Span {
			out = append(out, e.Span)
		}
	}
	return out
}

// began is when the loader said that it began a span.
func (i inside) began(t *testing.T, span string) time.Time {
	t.Helper()
	events := i.events(t)
	n := slices.IndexFunc(events, func(e runfile.Event) bool { return e.Span == span })
	if n < 0 {
		t.Fatalf("the loader of pod %s has begun no %s: %v", i.Name, span, i.spans(t))
	}
	return events[n].Time
}

// await waits until the loader is in a span, which must last until it is seen.
func (i inside) await(t *testing.T, span string) {
	t.Helper()
	poll(t, func() (bool, string) {
		seen := i.spans(t)
		here := len(seen) > 0 && seen[len(seen)-1] == span
		if !here && slices.Contains(seen, span) {
			t.Fatalf("the loader of pod %s is not caught in %s: %v", i.Name, span, seen)
		}
		return here, fmt.Sprintf("the loader of pod %s is not in %s: %v", i.Name, span, seen)
	})
}

// hold stops the process of the loader in a span: it goes no further until the process goes on. A window has
// carried something then.
func (i inside) hold(t *testing.T, span string) (pid int) {
	t.Helper()
	pid = i.process(t, "load") // before the span, which a search for it would shorten
	i.await(t, span)
	if span == runfile.SpanMeasure {
		i.measured(t)
	}
	send(t, pid, syscall.SIGSTOP)
	return pid
}

// collected is what the collector keeps of one look, for a successor: at the client, or at a source.
type collected struct {
	Host    *runfile.HostSample
	Reading *collect.Reading
}

// sampled waits until the collector has kept at least n samples that are wanted.
func (i inside) sampled(t *testing.T, what string, n int, wanted func(collected) bool) {
	t.Helper()
	poll(t, func() (bool, string) {
		text, err := os.ReadFile(filepath.Join(i.dir(), collect.JournalFile))
		found := 0
		for line := range bytes.Lines(text) {
			var s collected
			if json.Unmarshal(line, &s) == nil && wanted(s) { // the last line may be half written
				found++
			}
		}
		return found >= n, fmt.Sprintf("the collector of pod %s has %d samples %s, not %d (%v)", i.Name, found, what, n, err)
	})
}

// sampledAfter waits until the collector has looked at the client after a moment.
func (i inside) sampledAfter(t *testing.T, at time.Time) {
	t.Helper()
	i.sampled(t, "since "+at.Format(time.TimeOnly), 1, func(s collected) bool { return s.Host != nil && s.Host.Time.After(at) })
}

// measured waits until the loader has told what two seconds of the measured window
// carried: there is a partial result that is worth keeping.
func (i inside) measured(t *testing.T) {
	t.Helper()
	i.await(t, runfile.SpanMeasure)
	poll(t, func() (bool, string) {
		n := 0
		for _, e := range i.events(t) {
			if e.Span == runfile.SpanMeasure && e.BytesPerSecond > 0 {
				n++
			}
		}
		return n >= 2, fmt.Sprintf("the loader of pod %s has told of %d measured seconds", i.Name, n)
	})
}

// saved waits until the loader has saved a measured second, as it does every few
// seconds: what a loader that is killed leaves behind.
func (i inside) saved(t *testing.T) {
	t.Helper()
	poll(t, func() (bool, string) {
		var load runfile.Load
		text, err := os.ReadFile(filepath.Join(i.dir(), runfile.LoadFile))
		if err == nil {
			err = json.Unmarshal(text, &load)
		}
		seconds := slices.ContainsFunc(load.Samples, func(s runfile.LoadSample) bool {
			return s.Span == runfile.SpanMeasure && s.Read != nil && s.Read.Bytes > 0
		})
		return seconds, fmt.Sprintf("the loader of pod %s has saved no measured second: %v", i.Name, err)
	})
}

// process waits for the one process of the pod that runs a subcommand.
func (i inside) process(t *testing.T, subcommand string) int {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if pids := processes(t, i.Pod, subcommand); len(pids) == 1 {
			return pids[0]
		}
		if time.Now().After(end) {
			t.Fatalf("no process of pod %s runs nfsbench %s", i.Name, subcommand)
		}
	}
}

// signal sends a signal to a process of the pod.
func (i inside) signal(t *testing.T, subcommand string, s syscall.Signal) {
	t.Helper()
	send(t, i.process(t, subcommand), s)
}

func send(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("signal %v to process %d: %v", s, pid, err)
	}
}

// undisturbed waits for the run to succeed, and demands a result without gaps
// from one load.
func (c *cluster) undisturbed(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	c.phase(t, b, v1alpha1.PhaseSucceeded)
	done := c.cleanedUp(t, b)
	for _, r := range c.results(t, done) {
		cl := r.Clients[0]
		if cl.Load.Partial || cl.Load.Failure != nil || len(cl.Load.Repetitions) != 1 {
			t.Errorf("partial: %v, failure: %+v, %d repetitions", cl.Load.Partial, cl.Load.Failure, len(cl.Load.Repetitions))
		}
		complete(t, cl)
	}
	blocksVerified(t, done)
	c.startedOnce(t, done)
	return done
}

// complete demands that the collector knows what the client did in the idle baseline and in most of
// the measured window, unless it was late because the machine was busy. One that was killed and
// started again must not have lost a window.
func complete(t *testing.T, cl runfile.ClientResult) {
	t.Helper()
	if cl.Observed == nil {
		t.Fatal("nothing was observed")
	}
	restarted := slices.ContainsFunc(cl.Observed.Problems, func(p runfile.CollectionError) bool {
		return p.Source == "collector"
	})
	var kinds []string
	for _, w := range cl.Observed.Windows {
		if w.NodeCPUPermille != nil || !restarted && late(cl.Observed, w) {
			kinds = append(kinds, w.Kind)
		}
	}
	if !slices.Equal(kinds, []string{runfile.SpanBaseline, runfile.SpanMeasure}) {
		t.Errorf("the CPU of the client is known of %v, not of baseline and window; problems: %+v", kinds, cl.Observed.Problems)
	}
}

// late reports whether two samples of a window, or of its edges, are farther apart than they should be.
func late(o *runfile.Observed, w runfile.ObservedWindow) bool {
	interval := time.Duration(o.IntervalMilliseconds) * time.Millisecond
	for i := 1; i < len(o.Samples); i++ {
		before, after := o.Samples[i-1].Time, o.Samples[i].Time
		if after.After(w.Start) && before.Before(w.End) && after.Sub(before) > interval*3/2 {
			return true
		}
	}
	return false
}

// startedOnce demands that the Job has made each pod of the run once.
func (c *cluster) startedOnce(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	list := &corev1.EventList{}
	if err := c.List(t.Context(), list, inNamespace(b)); err != nil {
		t.Fatal(err)
	}
	var made int32
	for _, e := range list.Items {
		if e.Reason == "SuccessfulCreate" && e.InvolvedObject.Name == loadJob(b) {
			made += max(e.Count, 1)
		}
	}
	if made != b.Spec.Clients {
		t.Errorf("%d load pods were made for %d clients", made, b.Spec.Clients)
	}
}
