// Package growth holds the test of many benchmarks at once: hundreds of them on
// a real API server, run by the real manager, the real controllers and scheduler
// of Kubernetes, and pods that kwok fakes. It counts what a benchmark costs and
// sees that the cost does not grow with their number.
//
// At its end a thousand benchmarks lie there finished, some of them in suites, and
// twenty run: what the manager takes then is bounded.
//
// The test plays two parts: that of the collectors, who publish progress and results,
// and that of Argo's controller.
package growth
