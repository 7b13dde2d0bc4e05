package integration

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// TestTheCacheTakesLargeObjectsOneByOne: a manager that starts reads all pods with the label of the operator, which
// anybody can give to pods. Not parallel, because it measures the memory of the process.
func TestTheCacheTakesLargeObjectsOneByOne(t *testing.T) { //nolint:paralleltest // as above
	const pods, bytes = 80, 1 << 20
	w := newWorld(t)
	t.Cleanup(func() {
		_ = w.c.DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace(w.ns), client.GracePeriodSeconds(0)) //nolint:usetesting // the test's own context is over
	})
	for i := range pods {
		large := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: fmt.Sprintf("large-%d", i), Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
		}}
		large.Spec.Containers = []corev1.Container{{Name: "x", Image: "x", Env: []corev1.EnvVar{{Name: "A", Value: strings.Repeat("a", bytes)}}}}
		if err := w.c.Create(t.Context(), large); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	limit := debug.SetMemoryLimit(int64(before) + pods*bytes/4) //nolint:gosec // far below 2^63
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })           // as the chart has one: garbage does not count
	options := benchmark.CacheOptions([]string{w.ns}, "")
	options.Scheme = scheme
	c, err := cache.New(restConfig, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	synced := make(chan error, 1)
	go func() { _ = c.Start(ctx) }()
	go func() {
		_, err := c.GetInformer(ctx, &corev1.Pod{})
		c.WaitForCacheSync(ctx)
		synced <- err
	}()
	for tick := time.Tick(5 * time.Millisecond); ; {
		select {
		case <-tick:
			most = max(most, heap())
			continue
		case err := <-synced:
			if err != nil {
				t.Fatal(err)
			}
		}
		break
	}
	list := &corev1.PodList{}
	if err := c.List(ctx, list); err != nil || len(list.Items) != pods {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	if most > before+pods*bytes/2 {
		t.Errorf("%d pods of %d KiB took %d KiB at once", pods, bytes>>10, (most-before)>>10)
	}
	t.Logf("%d pods of %d KiB: %d KiB more at most", pods, bytes>>10, (max(most, before)-before)>>10)
}
