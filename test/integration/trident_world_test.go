package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

// tridentWorld is Trident in a namespace of its own, and the array behind it.
type tridentWorld struct {
	*standin.Controller

	ns         string
	management string
	backend    trident.BackendSpec // that the policy lists, by the name of the namespace
	volumes    *fakeArray
}

// fakeArray keeps a list of volumes.
type fakeArray struct {
	mu      sync.Mutex
	lif     string
	volumes map[string]string // name: pool
	history []string
}

func (a *fakeArray) CreateVolume(_ context.Context, name string, _ int64, pool, _ string) (junction, dataLIF string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, is := a.volumes[name]; !is {
		a.volumes[name] = pool
		a.history = append(a.history, name+" on "+pool)
	}
	return "/exports/" + name, a.lif, nil
}

func (a *fakeArray) DeleteVolume(_ context.Context, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, is := a.volumes[name]; !is {
		return errors.New("no such volume " + name)
	}
	delete(a.volumes, name)
	return nil
}

// withTrident gives a world its Trident, with the Secret that an administrator
// makes for it.
func withTrident(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	ns := newNamespace(t, w.c)
	a := &fakeArray{lif: newAddress(), volumes: map[string]string{}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ontap"},
		StringData: map[string]string{"username": "vsadmin", "password": "xyzzy-2026"},
	}
	if err := w.c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.array = &tridentWorld{ns: ns, management: newAddress(), volumes: a, Controller: standin.New(standin.Options{
		Client: w.c, Namespace: ns, Claims: w.ns, Array: a, DataLIF: a.lif, Bind: true, Now: w.clock.Now,
		Pools: []string{"aggr10", "aggr1", "aggr2"},
	})}
	w.array.backend = trident.BackendSpec{
		ManagementLIF: w.array.management, SVM: "svm1", CredentialsSecretName: secret.Name, ExportPolicy: "pods",
	}
	w.r.TridentNamespace = ns
	w.deployed(corev1.ConditionTrue, 1)
	return w
}

// deployed gives Trident's controller its Deployment, which says that it is available or not, and has
// so many pods, in which Trident runs. One of 0 replicas is available.
func (w *world) deployed(available corev1.ConditionStatus, pods int32) {
	w.Helper()
	w.undeployed()
	labels := map[string]string{trident.ControllerLabel: trident.Controller}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.array.ns, Name: trident.Deployment},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "trident-main", Image: "trident"}}},
			},
		},
	}
	if err := w.c.Create(w.Context(), d); err != nil {
		w.Fatal(err)
	}
	d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = pods, pods, pods
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentAvailable, Status: available, Message: "Deployment does not have minimum availability.",
		LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}}
	if err := w.c.Status().Update(w.Context(), d); err != nil {
		w.Fatal(err)
	}
	for i := range pods {
		p := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
		p.Namespace, p.Name = d.Namespace, fmt.Sprintf("%s-%d", d.Name, i)
		if err := w.c.Create(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		w.controller(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
}

// undeployed removes Trident's controller.
func (w *world) undeployed() {
	w.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.array.ns, Name: trident.Deployment}}
	if err := errors.Join(client.IgnoreNotFound(w.c.Delete(w.Context(), d)), w.c.DeleteAllOf(w.Context(), &corev1.Pod{},
		client.InNamespace(w.array.ns), client.GracePeriodSeconds(0))); err != nil {
		w.Fatal(err)
	}
}

// controller is what Trident's container does in its pod.
func (w *world) controller(state corev1.ContainerState) {
	w.Helper()
	p := &corev1.Pod{}
	if err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.array.ns, Name: trident.Deployment + "-0"}, p); err != nil {
		w.Fatal(err)
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: trident.ControllerContainer, State: state}}
	if err := w.c.Status().Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// busy lets Trident work on a backend of somebody else, whose management LIF, which it gives,
// accepts connections and sends nothing.
func (w *world) busy(labels map[string]string) string {
	w.Helper()
	other := w.array.backend
	other.ManagementLIF = newAddress()
	w.array.SetFaults(standin.Faults{Mute: other.ManagementLIF})
	err := w.c.Create(w.Context(), trident.NewBackendConfig(w.array.ns, "aaa-other", labels, other))
	if apierrors.IsAlreadyExists(err) {
		err = w.c.Create(w.Context(), trident.NewBackendConfig(w.array.ns, "aab-other", labels, other))
	}
	if err != nil {
		w.Fatal(err)
	}
	for w.array.step(w) != "" { //nolint:revive // until it is at work
	}
	return other.ManagementLIF
}

func (a *tridentWorld) step(w *world) string {
	w.Helper()
	did, err := a.Step(w.Context())
	if err != nil {
		w.Fatalf("play Trident: %v", err)
	}
	return did
}

// backend asks for a backend of this world's array.
func (w *world) backend(pools ...string) gen.Mod { return gen.TridentBackend(w.ns, pools...) }

// class makes a StorageClass that exists before the benchmark, with a backend
// that its administrator made, and gives its name.
func (w *world) class(change func(*storagev1.StorageClass)) string {
	w.Helper()
	name := w.ns + "-class"
	config := trident.NewBackendConfig(w.array.ns, name, nil, w.array.backend)
	class := trident.NewClass(name, nil, name, "ontap-nas", nil, []string{"hard", "nfsvers=3"})
	if change != nil {
		change(class)
	}
	for _, o := range []client.Object{config, class} {
		if err := w.c.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
	w.Cleanup(func() { _ = w.c.Delete(context.WithoutCancel(w.Context()), class) })
	for w.array.step(w) != "" { //nolint:revive // until it is bound
	}
	return name
}

// ofTrident reads the objects of one of Trident's kinds.
func (w *world) ofTrident(kind string) []unstructured.Unstructured {
	w.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(trident.Kind(kind + "List"))
	if err := w.c.List(w.Context(), l, client.InNamespace(w.array.ns)); err != nil {
		w.Fatal(err)
	}
	return l.Items
}

// made lists everything that there is of Trident volumes of this world: objects
// of ours, those that Trident made for them, and what is on the array.
func (w *world) made() []string {
	w.Helper()
	if w.array == nil {
		return nil
	}
	var out []string
	for _, kind := range []string{trident.KindBackendConfig, trident.KindBackend, trident.KindVolume} {
		for _, u := range w.ofTrident(kind) {
			out = append(out, kind+" "+u.GetName())
		}
	}
	claims, volumes, classes := &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{}
	if err := errors.Join(w.c.List(w.Context(), claims, client.InNamespace(w.ns)), w.c.List(w.Context(), volumes),
		w.c.List(w.Context(), classes, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy})); err != nil {
		w.Fatal(err)
	}
	for _, c := range claims.Items {
		out = append(out, "PersistentVolumeClaim "+c.Name)
	}
	for _, v := range volumes.Items {
		if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == w.ns {
			out = append(out, "PersistentVolume "+v.Name)
		}
	}
	for _, c := range classes.Items {
		if strings.HasPrefix(c.Name, "nfsbench-"+w.ns+"-") {
			out = append(out, "StorageClass "+c.Name)
		}
	}
	for name := range w.array.volumes.volumes {
		out = append(out, "volume "+name)
	}
	slices.Sort(out)
	return out
}

// wantMade fails the test unless what there is of volumes is of these kinds.
func (w *world) wantMade(kinds ...string) {
	w.Helper()
	var got []string
	for _, m := range w.made() {
		kind, _, _ := strings.Cut(m, " ")
		got = append(got, kind)
	}
	slices.Sort(kinds)
	if !slices.Equal(got, kinds) {
		w.Errorf("there are %q, want one each of %q", w.made(), kinds)
	}
}

// turns lets everybody do all that they can.
func (w *world) turns() {
	w.Helper()
	for range 60 {
		if w.get("demo") != nil {
			w.settle("demo")
		}
		if w.robot("demo") == "" {
			return
		}
	}
	w.Fatal("the run does not come to rest")
}

// turnsAfter lets time pass, and then everybody do what there is to do.
func (w *world) turnsAfter(d time.Duration) {
	w.Helper()
	w.step(d)
	w.turns()
}

// untilBackends lets all take turns until Trident has so many backends.
func (w *world) untilBackends(n int) {
	w.Helper()
	for len(w.ofTrident(trident.KindBackend)) < n {
		w.settle("demo")
		w.robot("demo")
	}
}
