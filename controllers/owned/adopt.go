package owned

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
)

// Adopt checks that is, an existing object, can serve as want. The object must belong to the benchmark. In the
// namespace of the benchmark its content must equal what the API server makes of want: anybody who may create such
// objects can name the benchmark as their owner, and can change the operator's objects. To get the expected content
// Adopt creates want in a dry run, under a generated name.
//
// Adopt remembers the content that it compared, and compares again only when the content changes. For a run under way
// it accepts at first sight an object that is older than this process: another release may have made the object with
// different content.
func (o *Objects) Adopt(ctx context.Context, b *v1alpha1.NFSBenchmark, want, is client.Object) error {
	err := checkOurs(b, is)
	if err != nil || !isTenants(b, is) {
		return err
	}
	if err := checkExtent(want, is); err != nil {
		return err
	}
	content, err := contentOf(want, is)
	if err != nil {
		return err
	}
	same, seen := o.compared.has(is.GetUID(), content)
	if same {
		return nil
	}
	if seen || b.Status.StartTime == nil || !is.GetCreationTimestamp().Time.Before(o.began) {
		field, err := o.difference(ctx, want, content)
		if err != nil {
			return err
		}
		if field != "" {
			return invalid(v1alpha1.ReasonNameTaken, "%s %q is not what this benchmark makes: %s differs; delete it and "+
				"create the benchmark again, or give it another name", KindOf(is), is.GetName(), field)
		}
	}
	o.compared.add(is.GetUID(), content)
	return nil
}

// checkExtent refuses an object that is far larger than want: the comparison costs fifty times the object's size.
func checkExtent(want, is client.Object) error {
	made, err := pass.SpecBytes(want)
	if err != nil {
		return fmt.Errorf("measure %s %q: %w", KindOf(want), want.GetName(), err)
	}
	if found, err := pass.SpecBytes(is); err != nil || found > made+pass.MaxCachedBytes {
		return invalid(v1alpha1.ReasonNameTaken, "%s %q is not what this benchmark makes, but far larger; delete it and "+
			"create the benchmark again, or give it another name", KindOf(is), is.GetName())
	}
	return nil
}

// difference returns the path of the first field in which content differs from what the API server makes of want; "" if
// no field differs.
func (o *Objects) difference(ctx context.Context, want client.Object, content map[string]any) (string, error) {
	made := want.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	made.SetName("")
	made.SetGenerateName(want.GetName() + "-")
	if err := o.client.Create(ctx, made, client.DryRunAll, pass.FieldOwner); err != nil {
		return "", fmt.Errorf("compare %s %q, which is there, with what this benchmark makes: %w", KindOf(want),
			want.GetName(), err)
	}
	expected, err := contentOf(want, made)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(firstDifference("", expected, content), "."), nil
}

// contentOf returns the content of obj without its status, without the fields that want leaves open and the cluster
// fills in, and with only those labels and annotations that want has.
func contentOf(want, obj client.Object) (map[string]any, error) {
	open, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, fmt.Errorf("convert %s %q: %w", KindOf(want), want.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %s %q: %w", KindOf(obj), obj.GetName(), err)
	}
	content = maps.Clone(content)
	for _, key := range []string{"apiVersion", "kind", "status"} {
		delete(content, key)
	}
	content["metadata"] = map[string]any{
		"labels":      chosen(want.GetLabels(), obj.GetLabels()),
		"annotations": chosen(want.GetAnnotations(), obj.GetAnnotations()),
	}
	for _, path := range filledIn(obj) {
		if _, given, _ := unstructured.NestedFieldNoCopy(open, path...); !given {
			unstructured.RemoveNestedField(content, path...)
		}
	}
	return content, nil
}

// chosen returns the entries of is whose keys want has.
func chosen(want, is map[string]string) map[string]any {
	out := map[string]any{}
	for key := range want {
		if value, ok := is[key]; ok {
			out[key] = value
		}
	}
	return out
}

// filledIn returns the paths of the fields that the cluster fills in with a different value for each object.
func filledIn(obj client.Object) [][]string {
	switch obj.(type) {
	case *corev1.Pod:
		return [][]string{{"spec", "nodeName"}}
	case *corev1.Service:
		return [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}}
	case *corev1.ServiceAccount:
		return [][]string{{"secrets"}, {"imagePullSecrets"}} // OpenShift adds these
	case *corev1.PersistentVolumeClaim:
		return [][]string{{"spec", "volumeName"}}
	case *batchv1.Job:
		out := [][]string{{"spec", "selector"}, {"spec", "template", "metadata", "creationTimestamp"}}
		for _, label := range []string{
			batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name", // the last two before 1.27
		} {
			out = append(out, []string{"spec", "template", "metadata", "labels", label})
		}
		return out
	default:
		return nil
	}
}

// firstDifference returns the path of the first field, in the order of names, that differs; "" if no field differs.
func firstDifference(at string, a, b any) string {
	x, y := fieldsOf(a), fieldsOf(b)
	if x == nil || y == nil {
		if reflect.DeepEqual(a, b) {
			return ""
		}
		return at
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(x)), maps.Keys(y))
	slices.Sort(names)
	for _, name := range names {
		if found := firstDifference(at+name, x[name], y[name]); found != "" {
			return found
		}
	}
	return ""
}

// fieldsOf returns the fields of an object or the elements of a list, keyed by path segment; nil for a scalar.
func fieldsOf(v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			out["."+name] = field
		}
	case []any:
		for i, element := range v {
			out[fmt.Sprintf("[%d]", i)] = element
		}
	default:
		return nil
	}
	return out
}

// maxCompared bounds the objects that a manager remembers: enough for a thousand benchmarks.
const maxCompared = 16_384

// compared remembers which contents of which objects were what the operator makes. It is safe for
// concurrent use.
type compared struct {
	mu sync.Mutex
	of map[types.UID][sha256.Size]byte
}

// has reports whether the object had the same content when it was added, and whether it was added at all.
func (c *compared) has(uid types.UID, content map[string]any) (same, seen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, seen := c.of[uid]
	return seen && known == sumOf(content), seen
}

func (c *compared) add(uid types.UID, content map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= maxCompared {
		c.of = map[types.UID][sha256.Size]byte{} // each object then costs another dry run
	}
	c.of[uid] = sumOf(content)
}

func sumOf(content map[string]any) [sha256.Size]byte {
	text, _ := json.Marshal(content) // no error: content has strings, numbers, lists and maps only
	return sha256.Sum256(text)
}
