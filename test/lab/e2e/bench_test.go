package e2e

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

// quick makes a run short: what these tests look at shows in seconds.
func quick(b *v1alpha1.NFSBenchmark) { seconds(5)(b) }

// seconds sets the measured window, after a baseline and a warm-up of a second.
func seconds(duration int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		baseline, warmup := int32(1), int32(1)
		b.Spec.Run = bench.Run{DurationSeconds: duration, WarmupSeconds: &warmup, BaselineSeconds: &baseline, CooldownSeconds: new(int32), Repetitions: 1}
	}
}

// raw changes the load.
func raw(change func(*bench.RawWorkload)) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { change(b.Spec.Workload.Raw) }
}

// directory sets where the files are.
func directory(name string) gen.Mod {
	return raw(func(w *bench.RawWorkload) { w.Directory = name })
}

// fileSize sets the size of each job's file.
func fileSize(size string) gen.Mod {
	return raw(func(w *bench.RawWorkload) { w.FileSize = resource.MustParse(size) })
}

// create makes the benchmark and dumps all about it should the test fail.
func (c *cluster) create(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	if err := c.Create(t.Context(), b); err != nil {
		t.Fatalf("create benchmark %s: %v", b.Name, err)
	}
	return b
}

// get reads the benchmark anew.
func (c *cluster) get(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	now := &v1alpha1.NFSBenchmark{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(b), now); err != nil {
		t.Fatalf("read benchmark %s: %v", b.Name, err)
	}
	return now
}

// patience is how long a test waits for one thing. It is there for what hangs: no outcome
// depends on it.
const patience = 15 * time.Minute

// poll repeats look until it says that it is done, and fails the test when that
// takes too long. It says why in the words of the last look.
func poll(t *testing.T, look func() (done bool, state string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		done, state := look()
		if done {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", patience, state)
		}
	}
}

// until waits for a state of a run under way. One that ends in another state is
// not waited for.
func (c *cluster) until(t *testing.T, b *v1alpha1.NFSBenchmark, what string, reached func(*v1alpha1.NFSBenchmark) bool) *v1alpha1.NFSBenchmark {
	t.Helper()
	return c.watch(t, b, what, func(b *v1alpha1.NFSBenchmark) bool {
		if !reached(b) && b.Status.Phase.IsFinished() {
			t.Fatalf("%s ended without %s: %s", b.Name, what, state(b))
		}
		return reached(b)
	})
}

// watch waits for a state of the benchmark, and holds every status on the way
// to the rules.
func (c *cluster) watch(t *testing.T, b *v1alpha1.NFSBenchmark, what string, reached func(*v1alpha1.NFSBenchmark) bool) *v1alpha1.NFSBenchmark {
	t.Helper()
	var now *v1alpha1.NFSBenchmark
	known := map[string]bool{}
	poll(t, func() (bool, string) {
		before := now
		now = c.get(t, b)
		for _, p := range problems(before, now) {
			if !known[p] {
				t.Errorf("status of %s: %s", now.Name, p)
			}
			known[p] = true
		}
		return reached(now), what + " of " + now.Name + "; it is " + state(now)
	})
	return now
}

// problems lists what is wrong with a status once the operator has seen the spec.
func problems(before, now *v1alpha1.NFSBenchmark) []string {
	if now.Status.ObservedGeneration != now.Generation {
		return nil
	}
	if before != nil && before.Status.ObservedGeneration == 0 {
		before = nil
	}
	return statuscheck.Problems(before, now)
}

// reasonOf is why the benchmark stands where it stands.
func reasonOf(b *v1alpha1.NFSBenchmark) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Reason
	}
	return ""
}

func state(b *v1alpha1.NFSBenchmark) string {
	return string(b.Status.Phase) + "/" + reasonOf(b) + ": " + b.Status.Message
}

// phase waits for a phase.
func (c *cluster) phase(t *testing.T, b *v1alpha1.NFSBenchmark, p v1alpha1.Phase) *v1alpha1.NFSBenchmark {
	t.Helper()
	now := c.until(t, b, "phase "+string(p), func(b *v1alpha1.NFSBenchmark) bool { return b.Status.Phase == p })
	if p == v1alpha1.PhaseSucceeded {
		measured(t, now)
	}
	return now
}

// measured says for the table of times how long the load of a benchmark was measured.
func measured(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	t.Attr("measured-seconds", strconv.Itoa(int(b.Spec.Run.DurationSeconds*max(b.Spec.Run.Repetitions, 1))*max(len(b.Status.Steps), 1)))
}

// finished waits for the end of a run, whichever.
func (c *cluster) finished(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	return c.until(t, b, "the end", func(b *v1alpha1.NFSBenchmark) bool { return b.Status.Phase.IsFinished() })
}

// succeeded waits for a run to end well and to have cleaned up.
func (c *cluster) succeeded(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	c.phase(t, b, v1alpha1.PhaseSucceeded)
	return c.cleanedUp(t, b)
}

// cleanedUp waits until the run has removed what it made.
func (c *cluster) cleanedUp(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	return c.watch(t, b, "clean-up", func(b *v1alpha1.NFSBenchmark) bool {
		return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	})
}

// patch changes the benchmark as kubectl patch does.
func (c *cluster) patch(t *testing.T, b *v1alpha1.NFSBenchmark, merge string) {
	t.Helper()
	if err := c.Patch(t.Context(), b.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(merge))); err != nil {
		t.Fatalf("patch %s with %s: %v", b.Name, merge, err)
	}
}

// suspend stops the load of a benchmark.
func (c *cluster) suspend(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	c.patch(t, b, `{"spec":{"suspend":true}}`)
}

// remove deletes the benchmark and waits until it is gone.
func (c *cluster) remove(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	if err := c.Delete(t.Context(), b); err != nil {
		t.Fatalf("delete %s: %v", b.Name, err)
	}
	poll(t, func() (bool, string) {
		now := &v1alpha1.NFSBenchmark{}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(b), now)
		return apierrors.IsNotFound(err), b.Name + " is still there: " + state(now)
	})
}

// results reads the result file of each client, as a user's program would.
func (c *cluster) results(t *testing.T, b *v1alpha1.NFSBenchmark) []runfile.Result {
	t.Helper()
	ref := b.Status.ResultRef
	if ref == nil {
		t.Fatalf("%s has no resultRef: %s", b.Name, state(b))
	}
	cm := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: ref.Name}, cm); err != nil {
		t.Fatalf("read the result: %v", err)
	}
	var out []runfile.Result
	for i := range max(b.Spec.Clients, 1) {
		key := runfile.ResultKey(i)
		r, err := runfile.ReadResult(bytes.NewReader(cm.BinaryData[key]))
		if err != nil {
			t.Fatalf("key %s of ConfigMap %s: %v", key, cm.Name, err)
		}
		if len(r.Clients) != 1 {
			t.Fatalf("key %s holds %d clients, not one", key, len(r.Clients))
		}
		out = append(out, r)
	}
	return out
}

// judged is the whole result of a run, read as the plugin reads it, and what is judged
// of it.
func judged(t *testing.T, b *v1alpha1.NFSBenchmark) (runfile.Result, judge.Judgement) {
	t.Helper()
	res, err := archive.Result(t.Context(), newCluster(t), b)
	if err != nil {
		t.Fatal(err)
	}
	j := judge.Judge(res)
	if j.Summary == nil {
		t.Fatalf("%s has no numbers: %s", b.Name, state(b))
	}
	return res, j
}

// blocksVerified demands that blocks were read back, and were what was written.
func blocksVerified(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	res, _ := judged(t, b)
	for _, c := range res.Clients {
		if v := c.Load.Verification; v == nil || v.BlocksChecked == 0 || v.BlocksWrong != 0 {
			t.Errorf("blocks of client %d were not verified: %+v", c.Index, v)
		}
	}
}

// loadPods are the pods that generate the load of a run.
func (c *cluster) loadPods(t *testing.T, b *v1alpha1.NFSBenchmark) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	err := c.List(t.Context(), list, client.InNamespace(b.Namespace), client.MatchingLabels(manifest.Labels(b, manifest.ComponentLoad)))
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// eventReasons are the reasons of the events about an object, sorted.
func (c *cluster) eventReasons(t *testing.T, b *v1alpha1.NFSBenchmark) []string {
	t.Helper()
	list, err := c.typed.EventsV1().Events(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, e := range list.Items {
		if about(e, b) {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

func about(e eventsv1.Event, b *v1alpha1.NFSBenchmark) bool { return e.Regarding.UID == b.UID }

// finding is the finding of that code, or nil.
func finding(b *v1alpha1.NFSBenchmark, code string) *bench.Finding {
	for i, f := range b.Status.Findings {
		if f.Code == code {
			return &b.Status.Findings[i]
		}
	}
	return nil
}

// mustSay fails the test when a sentence lacks one of the words that its
// reader needs.
func mustSay(t *testing.T, sentence string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(strings.ToLower(sentence), strings.ToLower(w)) {
			t.Errorf("%q is not in: %s", w, sentence)
		}
	}
}
