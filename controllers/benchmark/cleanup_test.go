package benchmark

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kuberevents "k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// reconcilerWith has a cluster in memory that holds these objects, where it is noon.
func reconcilerWith(t *testing.T, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, networkingv1.AddToScheme, rbacv1.AddToScheme,
		storagev1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&corev1.PersistentVolumeClaim{}, &v1alpha1.NFSBenchmark{}).
		WithIndex(&corev1.Event{}, "involvedObject.kind", nothing).WithIndex(&corev1.Event{}, "involvedObject.name", nothing).
		WithIndex(&corev1.Event{}, "type", nothing)
	for field, values := range Indexes() {
		builder = builder.WithIndex(&v1alpha1.NFSBenchmark{}, field, values)
	}
	c := builder.Build()
	return NewReconciler(Options{
		Client: c, Reader: c, Recorder: &kuberevents.FakeRecorder{}, Clock: testclock.NewFakePassiveClock(noon), LeaseNamespace: "operator",
	})
}

func nothing(client.Object) []string { return nil }

func TestOnlyWhatIsOursIsDeleted(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}}
	configMap := func(name, owner string, finalizers ...string) *corev1.ConfigMap {
		m := metav1.ObjectMeta{Namespace: "ns", Name: name, Finalizers: finalizers}
		if owner != "" {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark", Name: "demo", UID: "1", Controller: new(true)}}
			m.OwnerReferences[0].UID = "1"
			if owner != "1" {
				m.OwnerReferences[0].UID = "2"
			}
		}
		return &corev1.ConfigMap{ObjectMeta: m}
	}
	for _, c := range []struct {
		reason string
		object *corev1.ConfigMap // nil = there is none
		gone   bool              // is what DeleteOurs says
		stays  bool              // in the cluster
	}{
		{"ours", configMap("x", "1"), true, false},
		{"ours, and somebody holds on to it", configMap("x", "1", "example.com/hold"), false, true},
		{"of another benchmark", configMap("x", "2"), true, true},
		{"of nobody", configMap("x", ""), true, true},
		{"none", nil, true, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if c.object != nil {
				objects = append(objects, c.object)
			}
			r := reconcilerWith(t, objects...)
			x := configMap("x", "")
			gone, err := r.DeleteOurs(t.Context(), b, x)
			if err != nil || gone != c.gone {
				t.Errorf("DeleteOurs: %t, %v; want %t", gone, err, c.gone)
			}
			err = r.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, &corev1.ConfigMap{})
			if client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) == c.stays {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestOnlyARunThatCameToItsFilesHasAnyToRemove(t *testing.T) {
	at := func(span string) []runfile.Progress {
		return []runfile.Progress{{Event: runfile.Event{Span: span}}}
	}
	result := func(kinds ...string) *runfile.Result {
		c := runfile.ClientResult{}
		for _, k := range kinds {
			c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: k})
		}
		return &runfile.Result{Clients: []runfile.ClientResult{c}}
	}
	cases := map[string]struct {
		reason string
		scope  scope
		want   bool
	}{
		"nothing heard":             {"no pod has started", scope{}, false},
		"connecting":                {"the export was not reached yet", scope{loadPart: loadPart{progress: at(runfile.SpanConnect)}}, false},
		"filling":                   {"files are being made", scope{loadPart: loadPart{progress: at(runfile.SpanFill)}}, true},
		"ended at the mount":        {"a refused mount leaves nothing", scope{loadPart: loadPart{progress: at(runfile.SpanDone), result: result(runfile.SpanConnect, runfile.SpanDone)}}, false},
		"ended in the fill":         {"a full export holds what was written", scope{loadPart: loadPart{progress: at(runfile.SpanDone), result: result(runfile.SpanConnect, runfile.SpanFill, runfile.SpanDone)}}, true},
		"ended, its result is lost": {"it may have filled", scope{loadPart: loadPart{progress: at(runfile.SpanDone), result: &runfile.Result{}}}, true},
		"crashed while it filled":   {"its progress stays where it was", scope{loadPart: loadPart{progress: at(runfile.SpanFill), result: result(runfile.SpanConnect)}}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := filesTouched(&tc.scope); got != tc.want {
				t.Errorf("filesTouched is %v: %s", got, tc.reason)
			}
		})
	}
}
