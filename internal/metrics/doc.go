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
