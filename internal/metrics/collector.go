package metrics

import (
	"context"
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
	// Benchmarks that have ended, and as many that have not, the newest of each.
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
	for _, d := range c.descs.all {
		ch <- d
	}
}

// Collect implements prometheus.Collector. What cannot be read is said by
// nfsbench_exporter_success, and the rest of the scrape stays whole.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	if !c.isLeader() {
		return
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

// isLeader is for a manager that is alone true from the start.
func (c *Collector) isLeader() bool {
	if c.leads == nil {
		return true
	}
	select {
	case <-c.leads:
		return true
	default:
		return false
	}
}

func (c *Collector) read(ctx context.Context, s sink, kind string, one func(context.Context, sink) error) {
	success := 1.0
	if err := one(ctx, s); err != nil {
		// A scrape cannot say more, and the log would repeat it at each.
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
	exportPhases(s, list.Items)
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
	chosen := chooseSuites(list.Items, c.limits.Suites)
	s.send("suites_omitted", float64(len(list.Items)-len(chosen)))
	for _, suite := range chosen {
		exportSuite(s, suite, c.limits.Lines)
	}
	return nil
}
