// Package deliver sends finished benchmarks and runs of suites to the bucket of an S3 server that
// an administrator chose.
package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const (
	// poll is the time between two passes. The cache answers them.
	poll = 10 * time.Second
	// longestPause is the time between two passes after many failures.
	longestPause = 10 * time.Minute
	// sendTimeout bounds one delivery.
	sendTimeout = time.Minute
)

// Run is a benchmark, or one run of a suite, that has ended.
type Run struct {
	// Benchmark is as the cache has it, without most of its spec; nil for a run of a suite.
	Benchmark *v1alpha1.NFSBenchmark
	Suite     *v1alpha1.NFSBenchmarkSuite
	SuiteRun  string // its name
	Ended     time.Time
}

func (r Run) object() client.Object {
	if r.Benchmark != nil {
		return r.Benchmark
	}
	return r.Suite
}

func (r Run) kind() string {
	if r.Benchmark != nil {
		return "NFSBenchmark"
	}
	return "NFSBenchmarkSuite"
}

// key tells runs apart in memory and in the annotation of the object.
func (r Run) key() string {
	if r.Benchmark != nil {
		return string(r.Benchmark.UID)
	}
	return fmt.Sprintf("%s@%d", r.SuiteRun, r.Ended.Unix()) // a run that was resubmitted ends again
}

// Options are what a Courier needs.
type Options struct {
	// Send sends a run. It may send one more than once, after a failure or a restart.
	Send     func(context.Context, Run) error
	Cache    client.Reader // has benchmarks and, with Suites, suites
	Writer   client.Writer
	Recorder events.EventRecorder
	Clock    clock.Clock
	Suites   bool
}

// Courier sends runs, and marks those that it has sent by an annotation. It is a Runnable of the
// manager that leads, beside the controllers: a server that hangs delays nothing else.
type Courier struct {
	Options

	failures map[string]int // by key of a run
}

// New makes a Courier.
func New(o Options) *Courier { return &Courier{Options: o, failures: map[string]int{}} }

// AddTo lets a manager deliver to the bucket of a Config, if it has one.
func AddTo(mgr manager.Manager, config Config, suites bool) error {
	if config.S3 == nil {
		return nil
	}
	return mgr.Add(New(Options{
		Send: NewBucket(config, mgr.GetAPIReader()).Send, Cache: mgr.GetCache(), Writer: mgr.GetClient(),
		Recorder: mgr.GetEventRecorder("nfsbench"), Clock: clock.RealClock{}, Suites: suites,
	}))
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *Courier) NeedLeaderElection() bool { return true }

// Start sends runs until ctx ends. After a failure it waits longer and longer.
func (c *Courier) Start(ctx context.Context) error {
	pause := poll
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(pause):
		}
		if err := c.Pass(ctx); err == nil {
			pause = poll
		} else {
			pause = min(2*pause, longestPause)
			log.FromContext(ctx).Error(err, "Results wait for the bucket", "pause", pause)
		}
	}
}

// Pass sends all runs that were not sent, and ends at the first failure. Runs that failed before come
// last, so that one that the bucket never takes does not hold up the others.
func (c *Courier) Pass(ctx context.Context) error {
	runs, err := c.waiting(ctx)
	if err != nil {
		return fmt.Errorf("list finished runs: %w", err)
	}
	failures := map[string]int{} // of those that still exist
	for _, r := range runs {
		if n := c.failures[r.key()]; n > 0 {
			failures[r.key()] = n
		}
	}
	c.failures = failures
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(failures[a.key()], failures[b.key()]), a.Ended.Compare(b.Ended))
	})
	for _, r := range runs {
		if err := c.deliver(ctx, r); err != nil {
			return fmt.Errorf("%s %s/%s: %w", r.kind(), r.object().GetNamespace(), r.object().GetName(), err)
		}
	}
	return nil
}

func (c *Courier) deliver(ctx context.Context, r Run) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := c.Send(ctx, r); err != nil {
		if c.failures[r.key()]++; c.failures[r.key()] == 1 {
			c.Recorder.Eventf(r.object(), nil, corev1.EventTypeWarning, "DeliveryFailed", "Deliver",
				"The result could not be sent to the bucket of this cluster's administrator. The operator tries again; "+
					"its log has the reason.")
		}
		return err
	}
	delete(c.failures, r.key())
	mark := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationDelivered, marks(r))
	target := r.object().DeepCopyObject().(client.Object) //nolint:errcheck,forcetypeassert // a copy is what it was
	if err := c.Writer.Patch(ctx, target, client.RawPatch(types.MergePatchType, mark)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note that it was sent: %w", err)
	}
	if r.Suite != nil { // the next run of the same suite adds to it in this pass
		r.Suite.Annotations = target.GetAnnotations()
	}
	return nil
}

// marks is the annotation after r was sent: the UID of a benchmark, so that a copy of its manifest
// says nothing, or the runs of a suite, of those that its history still has.
func marks(r Run) string {
	if r.Benchmark != nil {
		return r.key()
	}
	sent := []string{r.key()}
	for _, h := range runsOf(r.Suite) {
		if h.SuiteRun != r.SuiteRun && isSent(r.Suite, h.key()) {
			sent = append(sent, h.key())
		}
	}
	return strings.Join(sent, ",")
}

func isSent(o client.Object, key string) bool {
	return slices.Contains(strings.Split(o.GetAnnotations()[v1alpha1.AnnotationDelivered], ","), key)
}

// waiting are the runs that the bucket has not got.
func (c *Courier) waiting(ctx context.Context) ([]Run, error) {
	var runs []Run
	add := func(r Run) {
		if !isSent(r.object(), r.key()) {
			runs = append(runs, r)
		}
	}
	benchmarks := &v1alpha1.NFSBenchmarkList{}
	if err := c.Cache.List(ctx, benchmarks, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range benchmarks.Items {
		b := &benchmarks.Items[i]
		// The clean-up is the last phase that changes a result.
		if b.Status.CompletionTime == nil || !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionCleanedUp) {
			continue
		}
		add(Run{Benchmark: b, Ended: b.Status.CompletionTime.Time})
	}
	if !c.Suites {
		return runs, nil
	}
	suites := &v1alpha1.NFSBenchmarkSuiteList{}
	if err := c.Cache.List(ctx, suites); err != nil { // copies: their annotations change
		return nil, err
	}
	for i := range suites.Items {
		for _, r := range runsOf(&suites.Items[i]) {
			add(r)
		}
	}
	return runs, nil
}

// wholeOf is a benchmark as the API server has it: the cache has a part of one that has ended. It is
// nil if the benchmark is gone; another may have its name.
func wholeOf(ctx context.Context, server client.Reader, b *v1alpha1.NFSBenchmark) (*v1alpha1.NFSBenchmark, error) {
	whole := &v1alpha1.NFSBenchmark{}
	if err := server.Get(ctx, client.ObjectKeyFromObject(b), whole); err != nil || whole.UID != b.UID {
		return nil, client.IgnoreNotFound(err)
	}
	return whole, nil
}

// runsOf are the runs in the history of a suite that have ended and have a verdict, where they need one.
func runsOf(s *v1alpha1.NFSBenchmarkSuite) []Run {
	var runs []Run
	for _, h := range s.Status.History {
		if h.CompletionTime == nil || h.Verdict == "" && h.Phase == v1alpha1.SuiteSucceeded {
			continue
		}
		runs = append(runs, Run{Suite: s, SuiteRun: h.Run, Ended: h.CompletionTime.Time})
	}
	return runs
}
