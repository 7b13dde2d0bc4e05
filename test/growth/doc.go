// Package growth holds the test of many benchmarks at once: hundreds of them on
// a real API server, run by the real manager, the real controllers and scheduler
// of Kubernetes, and pods that kwok fakes. It counts what a benchmark costs and
// sees that the cost does not grow with their number.
//
// The test plays one part only: that of the collectors, who publish progress and
// results.
package growth
