package pass

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lister answers requests for ConfigMaps from a slice of JSON, as the API server does.
func lister(t *testing.T, items []string) client.Reader {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, limit, next := 0, len(items), ""
		_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		to := min(from+limit, len(items))
		if to < len(items) {
			next = fmt.Sprintf(`"continue":"%d"`, to)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{%s},"items":[%s]}`,
			next, strings.Join(items[from:to], ","))
	}))
	t.Cleanup(srv.Close)
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	cfg := &rest.Config{Host: srv.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	r, err := NewReader(cfg, client.Options{Scheme: scheme.Scheme, Mapper: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func configMap(i int, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":"cm-%d"%s}}`, i, more)
}

func TestPagesGiveEachItemOnceAndAsItIs(t *testing.T) {
	var items, want, got []string
	for i := range 2*pageItems + 3 {
		more := ""
		if i%3 == 0 {
			more = `,"labels":{"third":"yes"}`
		}
		items = append(items, configMap(i, more))
		want = append(want, fmt.Sprintf("cm-%d %v", i, i%3 == 0))
	}
	list := &corev1.ConfigMapList{}
	add := func() error {
		for _, m := range list.Items {
			got = append(got, fmt.Sprintf("%s %v", m.Name, m.Labels["third"] == "yes"))
		}
		return nil
	}
	if err := Pages(t.Context(), lister(t, items), list, len(items), add); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	err := Pages(t.Context(), lister(t, items), list, len(items)-1, add)
	if err == nil || !strings.Contains(err.Error(), "more than 102") {
		t.Errorf("one more than allowed: %v", err)
	}
}

// counted counts the lists.
type counted struct {
	client.Reader
	lists int
}

func (c *counted) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, o...)
}

// TestAFewLargeObjectsTakeFewRequests: somebody who may create pods must not keep all workers busy with a list of them.
func TestAFewLargeObjectsTakeFewRequests(t *testing.T) {
	const all, most = 5000, 250
	large := fmt.Sprintf(`,"annotations":{"a":"%s"}`, strings.Repeat("x", 256<<10))
	var items []string
	for i := range all {
		more := ""
		if i < 10 {
			more = large
		}
		items = append(items, configMap(i, more))
	}
	list, read, from := &corev1.ConfigMapList{}, 0, &counted{Reader: lister(t, items)}
	count := func() error { read += len(list.Items); return nil }
	if err := Pages(t.Context(), from, list, all, count); err != nil || read != all || from.lists > most {
		t.Errorf("%d of %d in %d requests, more than %d, %v", read, all, from.lists, most, err)
	}
}

// TestPagesOfLargeObjectsAreSmall: fifty large ones do not fit into an answer, and one does.
func TestPagesOfLargeObjectsAreSmall(t *testing.T) {
	large := fmt.Sprintf(`,"annotations":{"a":"%s"}`, strings.Repeat("x", 1<<20))
	list, read := &corev1.ConfigMapList{}, 0
	count := func() error { read += len(list.Items); return nil }
	if err := Pages(t.Context(), lister(t, []string{configMap(1, large), configMap(2, large), configMap(3, "")}), list, 9, count); err != nil || read != 3 {
		t.Errorf("%d of 3, %v", read, err)
	}
	larger := fmt.Sprintf(`,"annotations":{"a":"%s"}`, strings.Repeat("x", maxPageBytes))
	err := Pages(t.Context(), lister(t, []string{configMap(1, larger)}), list, 9, count)
	if err == nil || !strings.Contains(err.Error(), errAnswer.Error()) {
		t.Errorf("one that is too large: %v", err)
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	note := fmt.Sprintf(`,"annotations":{"a":"%s"}`, strings.Repeat("x", 1<<20))
	var items []string
	for i := range maxAnswerBytes >> 20 {
		items = append(items, configMap(i, note))
	}
	list := &corev1.ConfigMapList{}
	if err := lister(t, items).List(t.Context(), list); err == nil || !strings.Contains(err.Error(), errAnswer.Error()) {
		t.Errorf("%d bytes: %v", maxAnswerBytes, err)
	}
	if err := lister(t, items[1:]).List(t.Context(), list); err != nil || len(list.Items) != len(items)-1 {
		t.Errorf("1 MiB less: %d items, %v", len(list.Items), err)
	}
}
