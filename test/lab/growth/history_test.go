package growth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

// history follows every change of benchmarks and of their pods, in the order in
// which the API server made them, and notes what must never be.
type history struct {
	mu       sync.Mutex
	seen     int
	runs     map[string]*run            // by name of the benchmark
	pods     map[string]map[string]bool // names of pods that exist, by target
	problems []string
}

// run is one benchmark.
type run struct {
	name    string
	target  string
	wave    string // those that were applied together
	seen    int    // number of the event that showed it first
	created time.Time
	started bool
	ended   bool // has a result
	clean   bool // and nothing but its result is left
	last    *v1alpha1.NFSBenchmark
}

// ahead reports whether r is to run before o, were both waiting: by age, then by
// name, as creation times have whole seconds.
func (r *run) ahead(o *run) bool {
	if !r.created.Equal(o.created) {
		return r.created.Before(o.created)
	}
	return r.name < o.name
}

// labelWritten marks a benchmark that the test wrote as one that has ended.
const labelWritten = "growth.nfsbench.io/written"

// targetOf is the first part of a benchmark's name.
func targetOf(name string) string { return name[:strings.IndexByte(name, '-')] }

// follow begins the history. onPod hears of every change of a load pod.
func follow(t *testing.T, k *cluster, onPod func(*corev1.Pod)) *history {
	t.Helper()
	h := &history{runs: map[string]*run{}, pods: map[string]map[string]bool{}}
	h.watch(t, k.c, &v1alpha1.NFSBenchmarkList{}, nil, func(kind watch.EventType, obj runtime.Object) {
		h.benchmark(kind, obj.(*v1alpha1.NFSBenchmark)) //nolint:forcetypeassert // asked for these
	})
	load := client.MatchingLabels{manifest.LabelComponent: manifest.ComponentLoad}
	h.watch(t, k.c, &corev1.PodList{}, load, func(kind watch.EventType, obj runtime.Object) {
		pod := obj.(*corev1.Pod) //nolint:forcetypeassert // asked for these
		h.pod(kind, pod)
		onPod(pod)
	})
	return h
}

// watch shows every change of a kind of objects. A connection that breaks is
// made anew from the last change that was seen, so that none is missed.
func (h *history) watch(t *testing.T, c client.WithWatch, list client.ObjectList, which client.ListOption, see func(watch.EventType, runtime.Object)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		from := ""
		for ctx.Err() == nil {
			opts := &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: from}}
			if which != nil {
				which.ApplyToList(opts)
			}
			w, err := c.Watch(ctx, list, opts)
			if err != nil {
				time.Sleep(time.Second)
				continue
			}
			for e := range w.ResultChan() {
				if status, ok := e.Object.(*metav1.Status); ok {
					h.problem("the watch of %T broke off after %q, what came later was not seen: %s", list, from, status.Message)
					return
				}
				from = e.Object.(client.Object).GetResourceVersion() //nolint:forcetypeassert // all but a Status is one
				see(e.Type, e.Object)
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

func (h *history) problem(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(format, args...)
}

func (h *history) add(format string, args ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, args...))
}

// err is what was seen that must not be.
func (h *history) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []error
	for _, p := range h.problems[:min(len(h.problems), 20)] {
		all = append(all, errors.New(p))
	}
	if n := len(h.problems) - len(all); n > 0 {
		all = append(all, fmt.Errorf("and %d more", n))
	}
	return errors.Join(all...)
}

// pod notes which targets have load pods. A target has those of one benchmark
// at most, from their creation until they are gone.
func (h *history) pod(kind watch.EventType, p *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	target := targetOf(benchmarkOf(p))
	here := h.pods[target]
	if here == nil {
		here = map[string]bool{}
		h.pods[target] = here
	}
	if kind == watch.Deleted {
		delete(here, p.Name)
		return
	}
	here[p.Name] = true
	if len(here) > 1 {
		h.add("target %s is used by several pods at once: %v", target, here)
	}
}

// benchmarkOf is the name of the benchmark that a load pod belongs to.
func benchmarkOf(p *corev1.Pod) string {
	return strings.TrimPrefix(p.Labels[manifest.LabelBenchmark], "nfsb-")
}

// benchmark notes who starts and who ends.
func (h *history) benchmark(kind watch.EventType, b *v1alpha1.NFSBenchmark) {
	if b.Labels[labelWritten] != "" {
		return // it never ran
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen++
	r := h.runs[b.Name]
	if r == nil {
		target, rest, _ := strings.Cut(b.Name, "-")
		wave, _, _ := strings.Cut(rest, "-")
		r = &run{name: b.Name, target: target, wave: wave, seen: h.seen, created: b.CreationTimestamp.Time}
		h.runs[b.Name] = r
	}
	if kind == watch.Deleted {
		h.add("%s is gone", b.Name)
		return
	}
	h.lint(r, b)
	if b.Status.StartTime != nil && !r.started {
		h.start(r)
	}
	r.ended = b.Status.Phase.IsFinished()
	r.clean = r.ended && isTrue(b, v1alpha1.ConditionCleanedUp)
	r.last = b
}

func (h *history) lint(r *run, b *v1alpha1.NFSBenchmark) {
	if b.Status.Phase == "" {
		return
	}
	if r.clean && isBehind(b) { // the spec was changed after the end, and the operator has not seen it yet
		return
	}
	before := r.last
	if before != nil && before.Status.Phase == "" {
		before = nil
	}
	for _, p := range statuscheck.Problems(before, b) {
		h.add("status of %s: %s", b.Name, p)
	}
}

// isBehind reports whether the status is that of an earlier spec.
func isBehind(b *v1alpha1.NFSBenchmark) bool { return b.Status.ObservedGeneration < b.Generation }

// start checks that it was the turn of r: nobody else uses its target, and
// nobody is ahead of it who could have been known when it was let go. The first
// of a wave may have been let go before those ahead of it were created.
func (h *history) start(r *run) {
	first := true
	for _, o := range h.runs {
		first = first && (o.target != r.target || o.wave != r.wave || !o.started)
	}
	for _, o := range h.runs {
		if o == r || o.target != r.target || o.ended {
			continue
		}
		known := !first || o.seen < r.seen
		switch {
		case o.started:
			h.add("%s starts while %s still uses their target", r.name, o.name)
		case known && o.ahead(r):
			h.add("%s starts before %s, which is ahead of it", r.name, o.name)
		}
	}
	r.started = true
}

// count is how many benchmarks are like that.
func (h *history) count(like func(*run) bool) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, r := range h.runs {
		if like(r) {
			n++
		}
	}
	return n
}

func isTrue(b *v1alpha1.NFSBenchmark, condition string) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, condition)
}
