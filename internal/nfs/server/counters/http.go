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
	registry.MustRegister(collector{s})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) {
		b, err := json.MarshalIndent(s.Document(), "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(append(b, '\n')) // the client is gone
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
type collector struct{ set *Set }

// Describe sends what Collect may send.
func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect sends the current counters.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	doc := c.set.Document()
	process := func(name, help string, kind prometheus.ValueType, v float64) {
		desc := prometheus.NewDesc("nfsbench_server_"+name, help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, kind, v)
	}
	const nano = 1e9
	process("start_time_seconds", "Start of the process in seconds since 1970.",
		prometheus.GaugeValue, float64(doc.StartTime.UnixNano())/nano)
	if doc.CPUSeconds != nil {
		process("cpu_seconds_total", "User and system time of the process.", prometheus.CounterValue, *doc.CPUSeconds)
	}
	if doc.ResidentBytes != nil {
		process("resident_bytes", "Resident memory of the process.", prometheus.GaugeValue, float64(*doc.ResidentBytes))
	}
	for _, l := range doc.Listeners {
		// label is the name of the second label, and values holds the counts by its value.
		count := func(name, help, label string, values map[string]uint64) {
			desc := prometheus.NewDesc("nfsbench_server_"+name, help, []string{"listener", label}, nil)
			for value, n := range values {
				ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), l.Address, value)
			}
		}
		count("operations_total", "NFS procedures executed.", "operation", l.Operations)
		count("bytes_total", "File data moved, without protocol.", "direction",
			map[string]uint64{"read": l.ReadBytes, "write": l.WrittenBytes})
		count("errors_total", "Calls not understood (rpc) and answers with an error status (nfs).", "layer",
			map[string]uint64{"rpc": l.RPCErrors, "nfs": l.NFSErrors})
		connections := func(name, help string, kind prometheus.ValueType, n uint64) {
			desc := prometheus.NewDesc("nfsbench_server_"+name, help, []string{"listener"}, nil)
			ch <- prometheus.MustNewConstMetric(desc, kind, float64(n), l.Address)
		}
		connections("connections_total", "Connections accepted.", prometheus.CounterValue, l.ConnectionsAccepted)
		connections("connections_refused_total", "Connections turned away because there were too many.",
			prometheus.CounterValue, l.ConnectionsRefused)
		connections("connections", "Connections open now.", prometheus.GaugeValue, l.ConnectionsActive)
	}
}
