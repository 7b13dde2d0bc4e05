package collect

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// shortestPatience is the shortest time without a sample of the client after which the collector counts as
// hung.
const shortestPatience = 30 * time.Second

// stale is the age at which the last report of the loader is no longer current. The loader sends an event
// each second, and replaces its load file every few seconds.
const stale = 15 * time.Second

// live is the latest state of a running load.
type live struct {
	event   *runfile.Event      // nil: no recent event of the loader
	sample  *runfile.LoadSample // nil: there is no load, or none that is counted per second
	host    *runfile.ObservedWindow
	storage []runfile.StorageWindow
}

// setEvent stores the last event of the loader.
func (s *Session) setEvent(e runfile.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.event = &e
}

// setLoad stores the last second of a load. The load may change afterwards.
func (s *Session) setLoad(l *runfile.Load) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(l.Samples); n > 0 {
		s.second = new(l.Samples[n-1])
	}
}

// live computes the changes between the last two samples of each series. Its cost does not grow with the run.
func (s *Session) live() live {
	var out live
	now := s.wallTime()
	s.mu.Lock()
	if s.event != nil && !s.event.Time.Before(now.Add(-stale)) {
		out.event = s.event
		if s.second != nil && !s.second.Time.Before(now.Add(-stale)) {
			out.sample = s.second
		}
	}
	hosts := s.hosts.latest(2)
	readings := make([][]Reading, 0, len(s.readings))
	for i := range s.readings {
		readings = append(readings, s.readings[i].latest(2))
	}
	s.mu.Unlock()
	if len(hosts) == 2 && now.Sub(hosts[1].Time) < max(stale, 3*s.opt.interval()) {
		out.host = &runfile.ObservedWindow{}
		fillHostWindow(out.host, hosts)
	}
	for _, r := range readings {
		if len(r) < 2 {
			continue
		}
		source := r[0].Sample.Source
		if now.Sub(r[1].At) < max(stale, 3*s.opt.sourceInterval(source)) {
			out.storage = append(out.storage, storageWindow(source, r))
		}
	}
	return out
}

const (
	perMicros = 1e6
	perMille  = 1e3
	perCent   = 1e2
)

// Metrics serves the live metrics to Prometheus. It must not disturb the load: a scrape reads the last two
// existing samples, and more frequent scrapes get the same answer again.
func (s *Session) Metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newLiveCollector(s))
	every := &cachedGatherer{gatherer: registry, now: s.opt.Now, every: max(s.opt.interval(), time.Second)}
	return promhttp.HandlerFor(every, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

// cachedGatherer gathers again only after an interval. It is safe for concurrent use.
type cachedGatherer struct {
	gatherer prometheus.Gatherer
	now      func() time.Time
	every    time.Duration

	mu       sync.Mutex
	at       time.Time
	families []*dto.MetricFamily
	err      error
}

// Gather implements prometheus.Gatherer.
func (g *cachedGatherer) Gather() ([]*dto.MetricFamily, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); g.at.IsZero() || now.Sub(g.at) >= g.every {
		g.at = now
		g.families, g.err = g.gatherer.Gather()
	}
	return g.families, g.err
}

// liveCollector converts live to metrics.
type liveCollector struct {
	session *Session
	paths   []bench.ResolvedPath // by the number of the channel

	progress, throughput, iops, latency *prometheus.Desc
	path, clientCPU                     *prometheus.Desc
	storageCPU, storagePath             *prometheus.Desc
}

func newLiveCollector(s *Session) *liveCollector {
	run := s.opt.Plan.Run
	own := prometheus.Labels{"namespace": run.Namespace, "name": run.Name, "client": strconv.Itoa(int(s.opt.Client))}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("nfsbench_live_"+name, help, labels, own)
	}
	return &liveCollector{
		session:  s,
		paths:    s.opt.Plan.Engine.Channels,
		progress: desc("progress_ratio", "How far the run is, and the step that this client is at.", "step"),
		throughput: desc("throughput_bytes_per_second",
			"File data of the last second, by direction; both where they are not distinguished.", "direction"),
		iops: desc("iops", "I/Os of the last second, by direction; both where they are not distinguished.",
			"direction"),
		latency: desc("latency_seconds", "Latency of the I/Os of the last second, by mean, p50, p99 and max.",
			"direction", "stat"),
		path: desc("path_throughput_bytes_per_second", "File data of the last second through each channel.", "channel",
			"path", "direction"),
		clientCPU: desc("client_cpu_ratio", "Busy share of this client's node."),
		storageCPU: desc("storage_cpu_ratio", "Busy share of each storage node between the last two samples.",
			"source", "node"),
		storagePath: desc("storage_path_throughput_bytes_per_second",
			"What the storage counted at each of its addresses, whoever sent it.", "source", "path", "direction"),
	}
}

// Describe implements prometheus.Collector.
func (c *liveCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.progress, c.throughput, c.iops, c.latency, c.path, c.clientCPU, c.storageCPU,
		c.storagePath,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *liveCollector) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := c.session.live()
	if e := now.event; e != nil {
		send(c.progress, float64(e.Percent)/perCent, e.Span)
	}
	switch {
	case now.sample != nil:
		c.sendSample(send, now.sample)
	case now.event != nil && (now.event.Span == runfile.SpanWarmup || now.event.Span == runfile.SpanMeasure):
		send(c.throughput, float64(now.event.BytesPerSecond), "both")
		send(c.iops, float64(now.event.OpsPerSecond), "both")
	}
	if h := now.host; h != nil && h.NodeCPUPermille != nil {
		send(c.clientCPU, float64(*h.NodeCPUPermille)/perMille)
	}
	for _, w := range now.storage {
		c.sendStorage(send, w)
	}
}

type sender func(d *prometheus.Desc, v float64, labels ...string)

func (c *liveCollector) sendSample(send sender, s *runfile.LoadSample) {
	for direction, ops := range map[string]*runfile.SampleOps{"read": s.Read, "write": s.Write} {
		if ops == nil {
			continue
		}
		send(c.throughput, float64(ops.Bytes), direction)
		send(c.iops, float64(ops.Count), direction)
		if ops.Count == 0 {
			continue // without I/O there is no latency
		}
		send(c.latency, float64(ops.MeanMicroseconds)/perMicros, direction, "mean")
		send(c.latency, float64(ops.P50Microseconds)/perMicros, direction, "p50")
		send(c.latency, float64(ops.P99Microseconds)/perMicros, direction, "p99")
		send(c.latency, float64(ops.MaxMicroseconds)/perMicros, direction, "max")
	}
	for _, p := range s.Channels {
		channel, path := strconv.Itoa(int(p.ID)), ""
		if i := int(p.ID); i >= 0 && i < len(c.paths) {
			path = c.paths[i].Path
		}
		send(c.path, float64(p.BytesRead), channel, path, "read")
		send(c.path, float64(p.BytesWritten), channel, path, "write")
	}
}

func (c *liveCollector) sendStorage(send sender, w runfile.StorageWindow) {
	for _, n := range w.Nodes {
		if n.CPUPermille != nil {
			send(c.storageCPU, float64(*n.CPUPermille)/perMille, w.Source, n.Name)
		}
	}
	if w.Seconds <= 0 {
		return
	}
	for _, p := range w.Paths {
		if p.ReadBytes != nil {
			send(c.storagePath, float64(*p.ReadBytes)/w.Seconds, w.Source, p.Address, "read")
		}
		if p.WriteBytes != nil {
			send(c.storagePath, float64(*p.WriteBytes)/w.Seconds, w.Source, p.Address, "write")
		}
	}
}

// Health answers 200 while the client is sampled and after Finish. It answers 503 after ten intervals without
// a sample, but not before shortestPatience.
func (s *Session) Health() http.Handler {
	patience := max(10*s.opt.interval(), shortestPatience)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var last time.Time // of the client; zero if it was never sampled
		s.mu.Lock()
		finished := s.finished
		for _, sample := range s.hosts.latest(1) {
			last = sample.Time
		}
		s.mu.Unlock()
		age := s.wallTime().Sub(last)
		if age > patience && !finished {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		// A reader that goes away needs no handling.
		_, _ = fmt.Fprintf(w, "last sample %.0f s ago\n", age.Seconds())
	})
}
