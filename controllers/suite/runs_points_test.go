package suite

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestPointsAreReadFromTheResult(t *testing.T) {
	t.Parallel()
	want := []runfile.SuitePoint{{Step: "Users=8", Metrics: map[string]float64{runfile.MetricP95Latency: 5}, WirePercent: new(94.3), Knee: true}}
	var packed, huge bytes.Buffer
	if err := runfile.WriteSuitePoints(&packed, runfile.SuitePoints{Points: want}); err != nil {
		t.Fatal(err)
	}
	if err := runfile.WriteSuitePoints(&huge, runfile.SuitePoints{Points: []runfile.SuitePoint{{Step: strings.Repeat("8", runfile.MaxSuitePointsBytes)}}}); err != nil {
		t.Fatal(err)
	}
	with := func(key string, value []byte) []runtime.Object {
		return []runtime.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "result"}, BinaryData: map[string][]byte{key: value},
		}}
	}
	here := with(runfile.KeySuitePoints, packed.Bytes())
	ref := &v1alpha1.ResultReference{Name: "result"}
	cases := map[string]struct {
		ref          *v1alpha1.ResultReference
		cache, there []runtime.Object
		points       []runfile.SuitePoint
		lost         string
	}{
		"there":           {ref, nil, here, want, ""},
		"without":         {ref, here, with("client-0.result", nil), nil, `has no key points.json.gz`},
		"deleted":         {ref, here, nil, nil, `ConfigMap "result" with its result has no key points.json.gz`},
		"no result":       {nil, here, here, nil, "it has no result"},
		"damaged":         {ref, here, with(runfile.KeySuitePoints, []byte("{")), nil, `ConfigMap "result" with its result is damaged: read points`},
		"more than it is": {ref, here, with(runfile.KeySuitePoints, huge.Bytes()), nil, "is damaged: read points"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReconciler(Options{
				Client: fake.NewClientBuilder().WithRuntimeObjects(tc.cache...).Build(),
				Reader: fake.NewClientBuilder().WithRuntimeObjects(tc.there...).Build(),
			})
			b := one(good, "a", 1, 0)
			b.Namespace, b.Status.ResultRef = "bench", tc.ref
			got := runfile.SuiteResult{Phase: string(v1alpha1.PhaseSucceeded)}
			err := r.addPoints(t.Context(), &b, &got)
			if err != nil || (got.Message == "") != (tc.lost == "") || !strings.Contains(got.Message, tc.lost) {
				t.Errorf("message %q, error %v; want %q", got.Message, err, tc.lost)
			}
			if diff := cmp.Diff(tc.points, got.Points); diff != "" {
				t.Error(diff)
			}
			failed := runfile.SuiteResult{Phase: string(v1alpha1.PhaseFailed), Message: "no space"}
			if err := r.addPoints(t.Context(), &b, &failed); err != nil || failed.Points != nil || failed.Message != "no space" {
				t.Errorf("a benchmark that failed has numbers: %+v, %v", failed, err)
			}
		})
	}
}
