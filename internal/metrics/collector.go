// Package metrics exports the results and the progress of benchmarks and suites to Prometheus.
//
// The package keeps no values: each scrape reads the manager's cache, so that deleted objects are missing from the
// next scrape, and a restarted manager exports the same values as before. Labels are bounded: they come from the
// names and the spec of objects, and the number of exported objects is limited, see Limits.
//
// All metrics are gauges: a counter of a process would outlive its object. docs/observability.md lists them.
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
	// readTimeout bounds the read from the cache in a scrape. The cache answers at once, except before it is filled.
	readTimeout = 5 * time.Second

	kindBenchmark = "NFSBenchmark"
	kindSuite     = "NFSBenchmarkSuite"
)

// Limits bound what is exported.
type Limits struct {
	// Benchmarks bounds the finished benchmarks, and also the unfinished ones; the newest of each count. Namespaces take
	// turns.
	Benchmarks int
	// MaxAge bounds the time since the end of a benchmark.
	MaxAge time.Duration
	// Suites bounds the suites; the newest count. With zero the collector does not list suites, so that their CRD need
	// not exist.
	Suites int
	// Lines bounds the lines of cells, and also of comparisons, of each suite.
	Lines int
}

// DefaultLimits returns the defaults of the chart.
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

// NewCollector makes a collector that reads from the manager's cache. It exports nothing until leads is closed,
// because only one of several managers exports; leads is nil for a manager that is alone.
func NewCollector(reader client.Reader, c clock.PassiveClock, limits Limits, leads <-chan struct{}) *Collector {
	return &Collector{reader: reader, clock: c, limits: limits, leads: leads, descs: newDescs()}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector. If the objects of a kind cannot be read, nfsbench_exporter_success of the
// kind is 0, and the rest of the scrape stays complete.
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
	if one(ctx, s) != nil { // not logged, because each scrape would repeat it
		success = 0
	}
	s.send("exporter_success", success, kind)
}

func (c *Collector) benchmarks(ctx context.Context, s sink) error {
	list := &v1alpha1.NFSBenchmarkList{}
	// Do not copy thousands of objects: the collector only reads them.
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	type group struct{ namespace, phase string }
	count := map[group]int{} // exported and omitted benchmarks
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

// chooseBenchmarks returns the newest finished and the newest unfinished benchmarks, at most limits.Benchmarks of
// each. It omits benchmarks that ended more than MaxAge ago.
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

// endOf returns the end of a benchmark; without a completion time, its creation.
func endOf(b *v1alpha1.NFSBenchmark) time.Time {
	if t := b.Status.CompletionTime; t != nil {
		return t.Time
	}
	return b.CreationTimestamp.Time
}

// newest sorts items by the time that at returns, newest first. Namespaces take turns, so that none fills the limit
// alone: the newest of each comes before the second of any. Names order items of the same time, so that each scrape
// chooses the same items.
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
