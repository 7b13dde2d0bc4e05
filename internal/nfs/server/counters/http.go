package counters

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves GET /counters, /metrics, /healthz and /readyz.
func (s *Set) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(s))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) {
		b, err := json.MarshalIndent(s.Document(), "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(append(b, '\n')) // the client went away: nobody is left to tell
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.ready.Load()) })
	return mux
}

func answer(w http.ResponseWriter, ok bool) {
	text := "ok\n"
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "not serving\n"
	}
	_, _ = w.Write([]byte(text)) // as above
}

// collector translates a Document into metrics when it is scraped, so that both views
// come from the same counters.
type collector struct {
	set        *Set
	operations *prometheus.Desc
	bytes      *prometheus.Desc
	opened     *prometheus.Desc
	refused    *prometheus.Desc
	active     *prometheus.Desc
	errors     *prometheus.Desc
	cpu        *prometheus.Desc
	resident   *prometheus.Desc
	start      *prometheus.Desc
}

func newCollector(s *Set) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("nfsbench_server_"+name, help, labels, nil)
	}
	return &collector{
		set:        s,
		operations: desc("operations_total", "NFS procedures executed.", "listener", "operation"),
		bytes:      desc("bytes_total", "File data moved, without protocol.", "listener", "direction"),
		opened:     desc("connections_total", "Connections accepted.", "listener"),
		refused:    desc("connections_refused_total", "Connections turned away because there were too many.", "listener"),
		active:     desc("connections", "Connections open now.", "listener"),
		errors:     desc("errors_total", "Calls not understood (rpc) and answers with an error status (nfs).", "listener", "layer"),
		cpu:        desc("cpu_seconds_total", "User and system time of the process."),
		resident:   desc("resident_bytes", "Resident memory of the process."),
		start:      desc("start_time_seconds", "Start of the process in seconds since 1970."),
	}
}

// Describe sends what Collect may send.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect sends the counters as they are now.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	doc := c.set.Document()
	const nano = 1e9
	send(c.start, prometheus.GaugeValue, float64(doc.StartTime.UnixNano())/nano)
	if doc.CPUSeconds != nil {
		send(c.cpu, prometheus.CounterValue, *doc.CPUSeconds)
	}
	if doc.ResidentBytes != nil {
		send(c.resident, prometheus.GaugeValue, float64(*doc.ResidentBytes))
	}
	for _, l := range doc.Listeners {
		for op, n := range l.Operations {
			send(c.operations, prometheus.CounterValue, float64(n), l.Address, op)
		}
		send(c.bytes, prometheus.CounterValue, float64(l.ReadBytes), l.Address, "read")
		send(c.bytes, prometheus.CounterValue, float64(l.WrittenBytes), l.Address, "write")
		send(c.opened, prometheus.CounterValue, float64(l.ConnectionsAccepted), l.Address)
		send(c.refused, prometheus.CounterValue, float64(l.ConnectionsRefused), l.Address)
		send(c.active, prometheus.GaugeValue, float64(l.ConnectionsActive), l.Address)
		send(c.errors, prometheus.CounterValue, float64(l.RPCErrors), l.Address, "rpc")
		send(c.errors, prometheus.CounterValue, float64(l.NFSErrors), l.Address, "nfs")
	}
}
