package main

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

func TestMetricsArePushedUnderTheirNames(t *testing.T) {
	t.Parallel()
	pushed := make(chan map[string]float64, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		raw, _ := io.ReadAll(body)
		request := &collector.ExportMetricsServiceRequest{}
		if err := proto.Unmarshal(raw, request); err != nil || r.URL.Path != "/v1/metrics" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		got := map[string]float64{}
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					for _, point := range m.GetGauge().GetDataPoints() {
						got[m.Name+"{"+point.Attributes[0].GetValue().GetStringValue()+"}"] = point.GetAsDouble()
					}
				}
			}
		}
		pushed <- got
	}))
	defer server.Close()
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "nfsbench_benchmark_iops"}, []string{"name"})
	registry.MustRegister(gauge)
	gauge.WithLabelValues("demo").Set(7)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- push(ctx, options{otlpEndpoint: server.URL, otlpInterval: time.Hour}, registry)
	}()
	cancel() // the last push does not wait for the interval
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := <-pushed; got["nfsbench_benchmark_iops{demo}"] != 7 {
		t.Errorf("pushed: %v", got)
	}
}
