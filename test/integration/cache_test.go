package integration

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// podRequests keeps the queries of requests for all pods.
type podRequests struct {
	next http.RoundTripper

	mu      sync.Mutex
	queries []string
}

func (r *podRequests) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/pods") {
		r.mu.Lock()
		r.queries = append(r.queries, req.URL.RawQuery)
		r.mu.Unlock()
	}
	return r.next.RoundTrip(req)
}

// TestTheCacheTakesObjectsOneByOne: a manager that starts reads all pods with the label of the operator, which anybody
// can give to pods. In one answer, 80 pods of 1 MiB took 173 MiB; in a stream, 8 MiB.
func TestTheCacheTakesObjectsOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.ns, Name: "one", Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "x", Image: "x"}}
	if err := w.c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	requests, cfg := &podRequests{}, rest.CopyConfig(restConfig)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { requests.next = next; return requests })
	options := benchmark.CacheOptions([]string{w.ns}, "")
	options.Scheme = scheme
	c, err := cache.New(cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetInformer(t.Context(), pod, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Start(t.Context()) }()
	c.WaitForCacheSync(t.Context())
	list := &corev1.PodList{}
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	requests.mu.Lock()
	defer requests.mu.Unlock()
	for _, q := range requests.queries {
		if !strings.Contains(q, "watch=true") {
			t.Errorf("a request for all pods at once: %s", q)
		}
	}
	if len(requests.queries) == 0 || !strings.Contains(requests.queries[0], "sendInitialEvents=true") {
		t.Errorf("no stream of the pods: %q", requests.queries)
	}
}
