package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/nfsbench/nfsbench/internal/metrics"
)

// registerResultMetrics adds the results of benchmarks and suites to the manager's metrics.
func registerResultMetrics(mgr ctrl.Manager, o options) error {
	limits := metrics.DefaultLimits()
	limits.Benchmarks, limits.MaxAge = o.metricsBenchmarks, o.metricsMaxAge
	if !o.suites {
		limits.Suites = 0
	}
	c := metrics.NewCollector(mgr.GetClient(), clock.RealClock{}, limits, mgr.Elected())
	if err := ctrlmetrics.Registry.Register(c); err != nil {
		return fmt.Errorf("add the metrics of results: %w", err)
	}
	return nil
}

// flushTimeout bounds the last push of a manager that ends.
const flushTimeout = 5 * time.Second

// pushMetrics pushes all metrics of the manager that leads to an OpenTelemetry collector. They are
// those that Prometheus scrapes, under the same names.
func pushMetrics(mgr ctrl.Manager, o options) error {
	if o.otlpEndpoint == "" {
		return nil
	}
	if o.otlpInterval <= 0 {
		return errors.New("--otlp-interval must be longer than 0")
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // a RunnableFunc needs the lead
		return push(ctx, o, ctrlmetrics.Registry)
	}))
}

// push pushes until ctx ends, and once more then.
func push(ctx context.Context, o options, from prometheus.Gatherer) error {
	address, err := url.JoinPath(o.otlpEndpoint, "v1", "metrics") // as OTEL_EXPORTER_OTLP_ENDPOINT is used
	if err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(address))
	if err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter,
		metric.WithInterval(o.otlpInterval),
		metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(from))))))
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = provider.Shutdown(last) //nolint:contextcheck // ctx has ended; a collector that is gone changes nothing
	return nil
}
