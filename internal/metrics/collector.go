// Package metrics exports the results of benchmarks and suites to Prometheus, and how
// far those under way are.
//
// Nothing is kept here: each scrape reads the manager's cache, so that what was
// deleted is gone from the next scrape, and a manager that was restarted tells
// the same as the one before. Labels are bounded: they come from the names and
// the spec of objects, and the number of exported objects is limited, see Limits.
//
// A time series would outlive its object forever if it were a counter of a
// process; here all are gauges. docs/observability.md lists them.
package metrics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const (
	// readTimeout bounds a scrape's look into the cache, which answers at once
	// but where it has not been filled yet.
	readTimeout = 5 * time.Second

	kindBenchmark = "NFSBenchmark"
	kindSuite     = "NFSBenchmarkSuite"
)

// Limits bound what is exported.
type Limits struct {
	// Benchmarks that have ended, and as many that have not, the newest of each. Namespaces take turns.
	Benchmarks int
	// MaxAge of the end of a benchmark.
	MaxAge time.Duration
	// Suites, the newest. Zero leaves suites out altogether, and does not look
	// for any: their CRD need not be there.
	Suites int
	// Lines of cells, and as many of comparisons, of each suite.
	Lines int
}

// DefaultLimits are those that the chart has too.
func DefaultLimits() Limits {
	return Limits{Benchmarks: 200, MaxAge: 14 * 24 * time.Hour, Suites: 50, Lines: 64}
}

// Collector reads benchmarks and suites when it is scraped. It may be scraped by
// several goroutines at once.
type Collector struct {
	reader client.Reader
	clock  clock.PassiveClock
	limits Limits
	leads  <-chan struct{}
	descs  descs
}

// NewCollector makes a collector that reads from the manager's cache. Until
// leads is closed it exports nothing, because of several managers only one
// shall; nil is for a manager that is alone.
func NewCollector(reader client.Reader, c clock.PassiveClock, limits Limits, leads <-chan struct{}) *Collector {
	return &Collector{reader: reader, clock: c, limits: limits, leads: leads, descs: newDescs()}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector. What cannot be read is said by
// nfsbench_exporter_success, and the rest of the scrape stays whole.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	if c.leads != nil {
		select {
		case <-c.leads:
		default:
			return
		}
	}
	// The interface has no context to derive from.
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	s := sink{ch: ch, descs: c.descs, told: map[string]bool{}}
	c.read(ctx, s, kindBenchmark, c.benchmarks)
	if c.limits.Suites > 0 {
		c.read(ctx, s, kindSuite, c.suites)
	}
}

func (c *Collector) read(ctx context.Context, s sink, kind string, one func(context.Context, sink) error) {
	success := 1.0
	if one(ctx, s) != nil { // a scrape cannot say more, and the log would repeat it at each
		success = 0
	}
	s.send("exporter_success", success, kind)
}

func (c *Collector) benchmarks(ctx context.Context, s sink) error {
	list := &v1alpha1.NFSBenchmarkList{}
	// Thousands would be copied for a few numbers; they are only read here.
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	type group struct{ namespace, phase string }
	count := map[group]int{} // exported and omitted ones
	for i := range list.Items {
		count[group{list.Items[i].Namespace, phaseOf(&list.Items[i])}]++
	}
	for g, n := range count {
		s.send("benchmarks", float64(n), g.namespace, g.phase)
	}
	chosen, omitted := chooseBenchmarks(list.Items, c.limits, c.clock.Now())
	s.send("benchmarks_omitted", float64(omitted.byLimit), "limit")
	s.send("benchmarks_omitted", float64(omitted.byAge), "age")
	for _, b := range chosen {
		exportBenchmark(s, b)
	}
	return nil
}

func (c *Collector) suites(ctx context.Context, s sink) error {
	list := &v1alpha1.NFSBenchmarkSuiteList{}
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	all := make([]*v1alpha1.NFSBenchmarkSuite, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	newest(all, func(s *v1alpha1.NFSBenchmarkSuite) time.Time {
		if r := s.Status.Run; r != nil && r.StartTime != nil {
			return r.StartTime.Time
		}
		return s.CreationTimestamp.Time
	})
	s.send("suites_omitted", float64(max(0, len(all)-c.limits.Suites)))
	for _, suite := range upTo(all, c.limits.Suites) {
		exportSuite(s, suite, c.limits.Lines)
	}
	return nil
}

// omission counts what is not exported.
type omission struct{ byLimit, byAge int }

// chooseBenchmarks gives the newest that have ended and the newest that have
// not, at most as many of each as the limit, and none that ended too long ago.
func chooseBenchmarks(
	items []v1alpha1.NFSBenchmark, limits Limits, now time.Time,
) ([]*v1alpha1.NFSBenchmark, omission) {
	var (
		ended, other []*v1alpha1.NFSBenchmark
		left         omission
	)
	for i := range items {
		b := &items[i]
		switch {
		case !b.Status.Phase.IsFinished():
			other = append(other, b)
		case now.Sub(endOf(b)) > limits.MaxAge:
			left.byAge++
		default:
			ended = append(ended, b)
		}
	}
	newest(ended, endOf)
	newest(other, func(b *v1alpha1.NFSBenchmark) time.Time { return b.CreationTimestamp.Time })
	left.byLimit = max(0, len(ended)-limits.Benchmarks) + max(0, len(other)-limits.Benchmarks)
	return slices.Concat(upTo(ended, limits.Benchmarks), upTo(other, limits.Benchmarks)), left
}

// endOf is when a benchmark ended; one that never began ended when it was made.
func endOf(b *v1alpha1.NFSBenchmark) time.Time {
	if t := b.Status.CompletionTime; t != nil {
		return t.Time
	}
	return b.CreationTimestamp.Time
}

// newest puts those first that at says are newest. Namespaces take turns, so that none fills the limit alone:
// the newest of each comes before the second of any. Names order those of the same time, so that each scrape
// chooses alike.
func newest[T client.Object](items []T, at func(T) time.Time) {
	slices.SortFunc(items, func(a, b T) int {
		return cmp.Or(
			at(b).Compare(at(a)),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()),
		)
	})
	turn, of := map[client.Object]int{}, map[string]int{}
	for _, item := range items {
		turn[item] = of[item.GetNamespace()]
		of[item.GetNamespace()]++
	}
	slices.SortStableFunc(items, func(a, b T) int { return cmp.Compare(turn[a], turn[b]) })
}

func upTo[T any](items []T, limit int) []T { return items[:min(len(items), limit)] }
