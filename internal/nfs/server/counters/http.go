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
	mux.HandleFunc("GET /counters", s.serveDocument)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.ready.Load()) })
	return mux
}

func (s *Set) serveDocument(w http.ResponseWriter, _ *http.Request) {
	b, err := json.MarshalIndent(s.Document(), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(b, '\n')) // the client went away: nobody is left to tell
}

func answer(w http.ResponseWriter, ok bool) {
	text := "ok\n"
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "not serving\n"
	}
	_, _ = w.Write([]byte(text)) // as above
}
