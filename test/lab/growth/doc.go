// Package growth measures many benchmarks at once: hundreds of them on
// a real API server, run by the real manager, the real controllers and scheduler
// of Kubernetes, and pods that kwok fakes. Its cost must not grow with their number.
// At its end a thousand benchmarks are finished, some of them in suites, and twenty
// run: what the manager takes then is bounded. The test publishes progress and results
// for the collectors, and plays Argo's controller.
package growth
