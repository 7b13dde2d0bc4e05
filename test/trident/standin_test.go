package trident

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/internal/trident"
)

const (
	own  = "10.0.0.1" // the management LIF of a backend
	dead = "10.0.0.9" // that of another, which does not answer where a test says so
)

// world is the stand-in with an API, an array that is a list, and a clock.
type world struct {
	*testing.T
	*Controller

	now      time.Time
	policies []string // the export policies of the volumes that were made
}

func (w *world) CreateVolume(_ context.Context, name string, _ int64, _, exportPolicy string) (junction, dataLIF string, err error) {
	w.policies = append(w.policies, exportPolicy)
	return "/" + name, "10.0.1.1", nil
}

func (w *world) DeleteVolume(context.Context, string) error { return nil }

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := &world{T: t, now: time.Now()}
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(trident.Kind(trident.KindBackendConfig))
	o := Options{
		Client: fake.NewClientBuilder().WithScheme(scheme.Scheme).
			WithStatusSubresource(config, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}).Build(),
		Namespace: "trident", Array: w, Bind: true, Now: func() time.Time { return w.now },
	}
	if change != nil {
		change(&o)
	}
	w.Controller = New(o)
	w.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "trident", Name: "ontap"},
		Data:       map[string][]byte{"username": []byte("vsadmin"), "password": []byte("x")},
	})
	return w
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.Client.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}

// backend asks for a backend of a name, and for a class of it.
func (w *world) backend(name, lif string, spec trident.BackendSpec, pools ...string) {
	w.Helper()
	spec.ManagementLIF, spec.SVM, spec.CredentialsSecretName = lif, "svm1", "ontap"
	config := trident.NewBackendConfig("trident", name, nil, spec)
	config.SetUID(types.UID("uid-" + name))
	w.create(config, trident.NewClass(name, nil, name, spec.DriverName(), pools, []string{"-o nfsvers=3"}))
}

// claim asks for a volume of a class, and gives the name that it will have.
func (w *world) claim(class string, annotations map[string]string) string {
	w.Helper()
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: class + "-data", UID: types.UID("claim-of-" + class), Annotations: annotations},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	w.create(pvc)
	return volumeName(pvc)
}

// rest lets Trident do all that there is to do.
func (w *world) rest() {
	w.Helper()
	for range 100 {
		did, err := w.Step(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		if did == "" {
			return
		}
	}
	w.Fatal("Trident does not come to rest")
}

// of reads an object of Trident; nil where there is none.
func (w *world) of(kind, name string) *unstructured.Unstructured {
	w.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(trident.Kind(kind))
	err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: "trident", Name: name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// status is that of a configuration: phase, lastOperationStatus and message.
func (w *world) status(name string) string {
	w.Helper()
	u := w.of(trident.KindBackendConfig, name)
	return text(u, "status", "phase") + "/" + text(u, "status", "lastOperationStatus") + "/" + text(u, "status", "message")
}

// backendOfConfig is the TridentBackend of a configuration; nil where there is none.
func (w *world) backendOfConfig(name string) *unstructured.Unstructured {
	w.Helper()
	u, err := w.backendOf(w.Context(), types.UID("uid-"+name))
	if err != nil {
		w.Fatal(err)
	}
	return u
}

func (w *world) delete(o client.Object) {
	w.Helper()
	if err := w.Client.Delete(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

// told are the events about an object.
func (w *world) told(name string) string {
	w.Helper()
	events := &corev1.EventList{}
	if err := w.Client.List(w.Context(), events); err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, e := range events.Items {
		if e.InvolvedObject.Name == name {
			out = append(out, fmt.Sprint(e.Type, " ", e.Reason, " ", e.Message))
		}
	}
	return strings.Join(out, "\n")
}

// TestTheExportPolicyOfAVolume: no client gets to a volume of ontap-nas before a node has attached
// it, unless the backend names a policy.
func TestTheExportPolicyOfAVolume(t *testing.T) {
	annotated := map[string]string{"trident.netapp.io/exportPolicy": "oracle"}
	for name, tc := range map[string]struct {
		spec        trident.BackendSpec
		annotations map[string]string
		policy      string
		enforced    bool
	}{
		"Automatic":  {trident.BackendSpec{}, nil, "trident_empty", true},
		"Overridden": {trident.BackendSpec{}, annotated, "trident_empty", true},
		"OfBackend":  {trident.BackendSpec{ExportPolicy: "pods"}, nil, "pods", false},
		"OfClaim":    {trident.BackendSpec{ExportPolicy: "pods"}, annotated, "oracle", false},
		"FlexGroup":  {trident.BackendSpec{StorageDriverName: trident.DriverFlexGroup}, nil, "trident-<backend>", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.backend("a", own, tc.spec)
			volume := w.claim("a", tc.annotations)
			w.rest()
			v := w.of(trident.KindVolume, volume)
			if v == nil {
				t.Fatalf("there is no volume: %s", w.told("a-data"))
			}
			want := strings.ReplaceAll(tc.policy, "<backend>", text(w.backendOfConfig("a"), "backendUUID"))
			if got := text(v, "config", "exportPolicy"); got != want || !slices.Equal(w.policies, []string{want}) {
				t.Errorf("the export policy is %q, on the array %q, want %q", got, w.policies, want)
			}
			enforced, is, _ := unstructured.NestedBool(v.Object, "config", "accessInformation", "publishEnforcement")
			if enforced != tc.enforced || is != tc.enforced {
				t.Errorf("publishEnforcement is %t (there: %t), want %t", enforced, is, tc.enforced)
			}
			if got := text(v, "config", "mountOptions"); got != "nfsvers=3" {
				t.Errorf("mountOptions are %q", got)
			}
			for _, event := range []string{"Normal ProvisioningSuccess provisioned a volume", "Normal ProvisioningSucceeded"} {
				if !strings.Contains(w.told("a-data"), event) {
					t.Errorf("no event says %q:\n%s", event, w.told("a-data"))
				}
			}
		})
	}
}

// TestWhereONTAPPlacesVolumesNoAggregateMatches: there is one pool.
func TestWhereONTAPPlacesVolumesNoAggregateMatches(t *testing.T) {
	for name, tc := range map[string]struct {
		driver string
		afx    bool
	}{"FlexGroup": {trident.DriverFlexGroup, false}, "AFX": {trident.DriverNAS, true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.AFX = tc.afx })
			w.backend("any", own, trident.BackendSpec{StorageDriverName: tc.driver})
			w.backend("one", own, trident.BackendSpec{StorageDriverName: tc.driver}, "aggr1")
			volume := w.claim("any", nil)
			w.claim("one", nil)
			w.rest()
			if v := w.of(trident.KindVolume, volume); v == nil || text(v, "pool") != ManagedPool {
				t.Errorf("the volume is %+v, want one in %s", v, ManagedPool)
			}
			if !strings.Contains(w.told("one-data"), `StorageClass "one": rpc error: code = Unknown desc = no available backends for storage class one`) {
				t.Errorf("events are %q", w.told("one-data"))
			}
			if got := text(w.backendOfConfig("any"), "config", ontapConfig, "flags", "disaggregated"); (got == "true") != tc.afx {
				t.Errorf("disaggregated is %q", got)
			}
		})
	}
}

// TestADeadManagementLIFDelaysTheOthers for 448 s if it drops packets and for ever if it is mute;
// with concurrency it delays new backends only.
func TestADeadManagementLIFDelaysTheOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		faults     Faults
		concurrent bool
		volume     bool // there is one while Trident works on the backend
		ends       bool
	}{
		"Drops":      {Faults{Drops: dead}, false, false, true},
		"Mute":       {Faults{Mute: dead}, false, false, false},
		"Concurrent": {Faults{Drops: dead}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Concurrent = tc.concurrent })
			w.backend("a", own, trident.BackendSpec{})
			w.rest()
			w.SetFaults(tc.faults)
			w.backend("b-dead", dead, trident.BackendSpec{})
			w.rest()
			volume := w.claim("a", nil)
			w.create(trident.NewClass("bad", nil, "a", trident.DriverNAS, []string{"no-such-pool"}, nil))
			w.claim("bad", nil)
			w.backend("c-later", own, trident.BackendSpec{})
			check := func(volumes, later bool) {
				t.Helper()
				w.rest()
				if got := w.of(trident.KindVolume, volume) != nil; got != volumes {
					t.Errorf("the volume of another backend is there: %t", got)
				}
				if got := w.backendOfConfig("c-later") != nil; got != later {
					t.Errorf("the backend that waits is there: %t", got)
				}
				if got := strings.Contains(w.told("bad-data"), "no available backends"); got != volumes {
					t.Errorf("a class without a backend is answered: %t", got)
				}
			}
			check(tc.volume, false)
			w.now = w.now.Add(DeadLIF - time.Second)
			check(tc.volume, false)
			if got := w.status("b-dead"); got != "//" {
				t.Errorf("its status is %q", got)
			}
			w.now = w.now.Add(time.Second)
			check(tc.volume || tc.ends, tc.ends)
			if got := w.status("b-dead"); strings.HasPrefix(got, "/Failed/Failed to create backend: ") != tc.ends {
				t.Errorf("its status is %q", got)
			}
			if w.worksOn == nil || w.worksOn.Name != "b-dead" {
				t.Error("Trident does not try it again")
			}
			w.SetFaults(Faults{})
			check(true, true)
			if got := w.status("b-dead"); got != "Bound/Success/Backend 'b-dead' created" {
				t.Errorf("its status is %q, want it bound when the LIF answers", got)
			}
		})
	}
}

// TestARestartInitializesAllBackendsFirst: a dead one takes two attempts, and has no volumes then.
func TestARestartInitializesAllBackendsFirst(t *testing.T) {
	w := newWorld(t, nil)
	w.backend("a", own, trident.BackendSpec{})
	w.backend("b-dead", dead, trident.BackendSpec{})
	w.rest()
	w.SetFaults(Faults{Mute: dead})
	w.Restart()
	w.now = w.now.Add(24 * time.Hour)
	if ready, err := w.IsReady(t.Context()); err != nil || ready {
		t.Errorf("it is ready though a LIF is mute: %t, %v", ready, err)
	}
	w.SetFaults(Faults{Drops: dead})
	w.Restart()
	first := w.claim("a", nil)
	w.claim("b-dead", nil)
	w.now = w.now.Add(2*DeadLIF - time.Second)
	w.rest()
	if ready, err := w.IsReady(t.Context()); err != nil || ready || w.of(trident.KindVolume, first) != nil {
		t.Errorf("it is ready: %t, %v", ready, err)
	}
	w.now = w.now.Add(time.Second)
	w.rest()
	if ready, err := w.IsReady(t.Context()); err != nil || !ready || w.of(trident.KindVolume, first) == nil {
		t.Errorf("it is not ready: %t, %v", ready, err)
	}
	if !strings.Contains(w.told("b-dead-data"), "no available backends") || text(w.backendOfConfig("b-dead"), "state") != "online" {
		t.Errorf("events about the dead backend are %q, its state is %q", w.told("b-dead-data"), text(w.backendOfConfig("b-dead"), "state"))
	}
}

// TestABackendStaysWithoutItsConfiguration if Trident ended before it wrote the status.
func TestABackendStaysWithoutItsConfiguration(t *testing.T) {
	for name, deleted := range map[string]bool{"Deleted": true, "Kept": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.SetFaults(Faults{Unwritten: true})
			w.backend("a", own, trident.BackendSpec{})
			w.rest()
			made := w.backendOfConfig("a")
			if made == nil || w.status("a") != "//" {
				t.Fatalf("the backend is %+v, the status %q", made, w.status("a"))
			}
			if deleted {
				w.delete(w.of(trident.KindBackendConfig, "a"))
			}
			w.SetFaults(Faults{})
			w.Restart()
			w.rest()
			if got := w.of(trident.KindBackendConfig, "a") == nil; got != deleted {
				t.Errorf("the configuration is gone: %t", got)
			}
			if now := w.backendOfConfig("a"); now == nil || now.GetName() != made.GetName() {
				t.Errorf("the backend is %+v, want %s", now, made.GetName())
			}
			if !deleted && w.status("a") != "Bound/Success/Backend 'a' created" {
				t.Errorf("its status is %q", w.status("a"))
			}
		})
	}
}

// TestABackendThatIsDeletedGoesWithItsLastVolume, and says twice that it waits.
func TestABackendThatIsDeletedGoesWithItsLastVolume(t *testing.T) {
	w := newWorld(t, nil)
	w.backend("a", own, trident.BackendSpec{})
	volume := w.claim("a", nil)
	w.rest()
	w.delete(w.of(trident.KindBackendConfig, "a"))
	for _, says := range []string{"Backend still present after a deletion attempt", "Backend is in a deleting state"} {
		if did, err := w.Step(t.Context()); did == "" || err != nil || !strings.Contains(w.status("a"), "Deleting/Success/"+says) {
			t.Errorf("did %q, %v, its status is %q, want %q", did, err, w.status("a"), says)
		}
	}
	w.rest()
	if b := w.backendOfConfig("a"); b == nil || text(b, "state") != "deleting" || b.Object["online"] != false {
		t.Errorf("the backend is %+v", b)
	}
	if !strings.Contains(w.told("a"), "Warning Success Backend still present") || !strings.Contains(w.told("a"), "Normal Success Backend 'a' created") {
		t.Errorf("events are %q", w.told("a"))
	}
	w.delete(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-data"}})
	w.rest()
	if w.of(trident.KindVolume, volume) != nil || w.backendOfConfig("a") != nil || w.of(trident.KindBackendConfig, "a") != nil {
		t.Error("something is left")
	}
}

func TestWhatTridentRefusesIsSaidInItsWords(t *testing.T) {
	for says, change := range map[string]func(*unstructured.Unstructured){
		"input failed validation: unexpected config file version; found 2, expected 1": func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, int64(2), "spec", "version")
		},
		"unknown storage driver: nfs": func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "nfs", "spec", "storageDriverName")
		},
		"input contains forbidden attributes: [password]": func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "x", "spec", "password")
		},
		"backend credentials not found": func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "other", "spec", "credentials", "name")
		},
	} {
		t.Run(says, func(t *testing.T) {
			w := newWorld(t, nil)
			config := trident.NewBackendConfig("trident", "a", nil, trident.BackendSpec{ManagementLIF: own, SVM: "svm1", CredentialsSecretName: "ontap"})
			change(config)
			w.create(config)
			w.rest()
			if got := w.status("a"); got != "/Failed/Failed to create backend: "+says {
				t.Errorf("its status is %q", got)
			}
		})
	}
}

// TestTheKindsAreTridents: kubectl get trident lists them.
func TestTheKindsAreTridents(t *testing.T) {
	all, err := CRDs()
	if err != nil || len(all) != 3 {
		t.Fatalf("%d kinds, %v", len(all), err)
	}
	for _, crd := range all {
		categories, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "categories")
		if !slices.Contains(categories, "trident") {
			t.Errorf("%s is in %q", crd.GetName(), categories)
		}
	}
}
