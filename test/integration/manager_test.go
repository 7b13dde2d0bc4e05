package integration

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAManagerRunsABenchmark is the one test with a running manager: its
// watches and its cache wake the reconciler, and see what they must.
func TestAManagerRunsABenchmark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.c = onClock(apiClient(t), w.clock) // the manager writes, too
	no := true
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Cache: benchmark.CacheOptions([]string{w.ns}, w.ns), Client: benchmark.ClientOptions(),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: &no},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := benchmark.NewReconciler(benchmark.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("nfsbench"), Clock: clock.RealClock{},
		Images: manifest.Images{NFSBench: "nfsbench:test", PullPolicy: corev1.PullIfNotPresent}, LeaseNamespace: w.ns, Policy: gen.AnyExport,
	})
	if err := r.SetupWithManager(mgr, 2); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.create("demo", gen.Embedded("1Gi", 1), gen.Kernel)
	w.eventually("the run succeeds and is cleaned up", func() bool {
		w.clock.SetTime(time.Now())
		w.robot("demo")
		b := w.get("demo")
		return b.Status.Phase == v1alpha1.PhaseSucceeded && len(w.ours()) == 1
	})
	w.eventually("the cache holds a part of it", func() bool {
		b := &v1alpha1.NFSBenchmark{}
		err := mgr.GetCache().Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "demo"}, b)
		return err == nil && b.Status.Resolved == nil && b.Status.ResultRef != nil
	})
	w.delete("demo")
	w.eventually("nothing is left", func() bool {
		w.robot("demo")
		return w.get("demo") == nil && len(w.ours()) == 0
	})
}

// patience is what only an API server that hangs exceeds.
const patience = 10 * time.Minute

// eventually waits for what a running manager brings about.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return
		}
	}
	w.Fatalf("it does not come to this: %s; %+v; left %q", what, w.get("demo"), w.ours())
}
