package main

import (
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
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
