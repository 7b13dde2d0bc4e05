package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
)

// findConfigMap reads a ConfigMap of the run; nil if it does not exist or belongs to somebody else. It reads past the
// cache, which holds no contents, and once per pass.
func (r *Reconciler) findConfigMap(ctx context.Context, s *scope, name string) (*corev1.ConfigMap, error) {
	if cm := s.configMaps[name]; cm != nil {
		return cm, nil
	}
	cm := &corev1.ConfigMap{ObjectMeta: s.meta(name)}
	found, err := owned.Find(ctx, r.Reader, cm)
	if err != nil || !found || !owned.IsOurs(s.b, cm) && !owned.IsOrphan(s.b, cm) {
		return nil, err
	}
	if s.configMaps == nil {
		s.configMaps = map[string]*corev1.ConfigMap{}
	}
	s.configMaps[name] = cm
	return cm, nil
}

// meta returns the metadata of a child of the benchmark.
func (s *scope) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.b.Namespace, Name: name}
}

// maxEvents bounds the events that one list reads. Their senders limit events too.
const maxEvents = 500

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// deletePatience bounds the wait for objects that are not deleted. After it the operator reports what is left and lets
// the benchmark go: a benchmark that cannot be deleted is worse than an object that must be removed by hand.
const deletePatience = 3 * time.Minute

// patchResult merges keys into the ConfigMap with the results, whose other keys belong to
// the collectors.
func (r *Reconciler) patchResult(ctx context.Context, s *scope, keys map[string]any) error {
	body, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("encode the keys of a ConfigMap: %w", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: s.meta(s.names.Result)}
	if err := r.Client.Patch(ctx, cm, client.RawPatch(types.MergePatchType, body), pass.FieldOwner); err != nil {
		return fmt.Errorf("patch ConfigMap %q: %w", cm.Name, err)
	}
	return nil
}

func isActive(p corev1.Pod) bool { return p.DeletionTimestamp.IsZero() && mayRun(p) }

// withUID returns the benchmark with that UID. Callers must not change it.
func (r *Reconciler) withUID(ctx context.Context, uid string) ([]v1alpha1.NFSBenchmark, error) {
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.MatchingFields{IndexUID: uid}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the benchmark with UID %q: %w", uid, err)
	}
	return list.Items, nil
}

// changeFinalizers adds or removes our finalizer. It reads the benchmark past the cache, which drops other finalizers.
func (r *Reconciler) changeFinalizers(
	ctx context.Context, b *v1alpha1.NFSBenchmark, change func(client.Object, string) bool,
) error {
	live := &v1alpha1.NFSBenchmark{}
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(b), live)
	if err == nil && live.UID == b.UID {
		before := live.DeepCopy()
		change(live, owned.Finalizer)
		err = r.Client.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("change the finalizers: %w", err)
	}
	return nil
}
