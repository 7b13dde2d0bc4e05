package benchmark

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAClassMountsTheVersionThatTheKernelUses: a client in user space ignores its options.
func TestAClassMountsTheVersionThatTheKernelUses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client  gen.Mod
		options []string
		says    string // "" = the class can be used
	}{
		"the declared version":      {gen.Kernel, []string{"nfsvers=3"}, ""},
		"another version":           {gen.Kernel, []string{"nfsvers=4.1"}, "mounts with nfsvers=4.1"},
		"no version":                {gen.Kernel, []string{"hard"}, "leaves the version of NFS to be negotiated"},
		"no options":                {gen.Kernel, nil, ""}, // those of the backend count
		"as on a command line":      {gen.Kernel, []string{"-o nfsvers=3"}, ""},
		"another, and Direct NFS":   {func(*v1alpha1.NFSBenchmark) {}, []string{"nfsvers=4.1"}, ""},
		"no version and Direct NFS": {func(*v1alpha1.NFSBenchmark) {}, nil, ""},
	} {
		b := gen.Benchmark("demo", gen.TridentClass("gold"), tc.client)
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: trident.Driver, MountOptions: tc.options,
		}
		err := checkTridentClass(b, class)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// TestTheLastCallOfAProvisionerIsThatWhichCounts: events have whole seconds, come in any order,
// and after some errors the provisioner goes on.
func TestTheLastCallOfAProvisionerIsThatWhichCounts(t *testing.T) {
	t.Parallel()
	at := func(seconds int, reason, message string) corev1.Event {
		return corev1.Event{
			Reason: reason, Message: message,
			LastTimestamp: metav1.NewTime(time.Unix(1_800_000_000+int64(seconds), 0)),
		}
	}
	const desc = "failed to provision volume with StorageClass \"gold\": rpc error: code = "
	for name, tc := range map[string]struct {
		told []corev1.Event
		want string
	}{
		"nothing":              {nil, ""},
		"others":               {[]corev1.Event{at(1, "ExternalProvisioning", "waiting")}, ""},
		"asked":                {[]corev1.Event{at(1, callBegins, "")}, callBegins},
		"made":                 {[]corev1.Event{at(2, callSucceeded, ""), at(1, callBegins, "")}, callSucceeded},
		"made at once":         {[]corev1.Event{at(1, callSucceeded, ""), at(1, callBegins, "")}, callSucceeded},
		"refused":              {[]corev1.Event{at(1, callBegins, ""), at(2, callFails, desc+"Unknown desc = no pool")}, callFails},
		"refused at once":      {[]corev1.Event{at(1, callBegins, ""), at(1, callFails, desc+"Unknown desc = no pool")}, callFails},
		"tried again":          {[]corev1.Event{at(2, callFails, desc+"Unknown desc = no pool"), at(9, callBegins, "")}, callBegins},
		"timed out":            {[]corev1.Event{at(1, callBegins, ""), at(601, callFails, desc+"DeadlineExceeded desc = x")}, callBegins},
		"the driver restarted": {[]corev1.Event{at(1, callBegins, ""), at(5, callFails, desc+"Unavailable desc = x")}, callBegins},
	} {
		if got, _ := lastCall(tc.told); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestAClaimThatNoProvisionerTakesUpIsNamed once a working provisioner would have sent an event.
func TestAClaimThatNoProvisionerTakesUpIsNamed(t *testing.T) {
	t.Parallel()
	asked := time.Unix(1_800_000_000, 0)
	by := func(component, reason string) corev1.Event {
		return corev1.Event{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(asked)}, Reason: reason,
			Source: corev1.EventSource{Component: component},
		}
	}
	const ofKubernetes = "persistentvolume-controller"
	ask := by(ofKubernetes, provisionerAsked)
	for name, tc := range map[string]struct {
		told  []corev1.Event
		after time.Duration
		says  string
	}{
		"nobody is asked yet":      {[]corev1.Event{by(ofKubernetes, "WaitForFirstConsumer")}, time.Hour, ""},
		"asked just now":           {[]corev1.Event{ask}, provisionerPatience - 1, ""},
		"nobody answers":           {[]corev1.Event{by(ofKubernetes, "WaitForFirstConsumer"), ask}, provisionerPatience, `provisioner of StorageClass "gold"`},
		"it makes the volume":      {[]corev1.Event{ask, by("csi.example.com_0", callBegins)}, time.Hour, ""},
		"it cannot make a volume":  {[]corev1.Event{by("csi.example.com_0", callFails), ask}, time.Hour, ""},
		"it has words of its own":  {[]corev1.Event{ask, by("nfs-client-provisioner", "Working")}, time.Hour, ""},
		"events may not be listed": {nil, time.Hour, ""},
	} {
		got := unserved("gold", tc.told, asked.Add(tc.after))
		if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: %q, want %q", name, got, tc.says)
		}
	}
}

// TestTheExportOfTheRedoLogsIsMountedAndRemovedAsThatOfTheData.
func TestTheExportOfTheRedoLogsIsMountedAndRemovedAsThatOfTheData(t *testing.T) {
	t.Parallel()
	const server = "10.0.1.61"
	for path, want := range map[string][]string{"": {"/vol/oradata"}, "/vol/redo": {"/vol/oradata", "/vol/redo"}} {
		b := gen.Benchmark("demo", gen.UID("1"), gen.Calibrate(1), gen.Container("x", v1alpha1.EditionEnterprise), gen.RedoPath(path))
		b.Finalizers = []string{owned.Finalizer}
		r, s := reconcilerWith(t), &scope{b: b, names: manifest.NamesOf(b)}
		s.policy, _ = gen.AnyExport(t.Context())
		s.target = &plan.Target{Export: "/vol/oradata", Paths: []bench.ResolvedPath{{Path: server}}}
		for range want {
			if n, err := r.provisionVolume(t.Context(), s); err != nil || !n.Stop {
				t.Fatalf("%q: %+v, %v, want to wait for a claim", path, n, err)
			}
			claims := &corev1.PersistentVolumeClaimList{}
			if err := r.Client.List(t.Context(), claims); err != nil {
				t.Fatal(err)
			}
			for i := range claims.Items {
				claims.Items[i].Status.Phase = corev1.ClaimBound
				if err := r.Client.Status().Update(t.Context(), &claims.Items[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n, err := r.provisionVolume(t.Context(), s); err != nil || n.Stop {
			t.Fatalf("%q: %+v, %v, want all to be bound", path, n, err)
		}
		exports := func() (all []string) {
			volumes := &corev1.PersistentVolumeList{}
			if err := r.Client.List(t.Context(), volumes); err != nil {
				t.Fatal(err)
			}
			for _, v := range volumes.Items {
				if v.Spec.NFS.Server != server {
					t.Errorf("%q: %+v", path, v.Spec.NFS)
				}
				all = append(all, v.Spec.NFS.Path)
			}
			slices.Sort(all)
			return all
		}
		if got := exports(); !slices.Equal(got, want) {
			t.Errorf("%q: volumes of %q, want %q", path, got, want)
		}
		for _, o := range s.children() {
			switch o.(type) {
			case *corev1.PersistentVolumeClaim, *corev1.PersistentVolume:
				if gone, err := r.DeleteOurs(t.Context(), b, o); err != nil || !gone {
					t.Errorf("%q: remove %s: %t, %v", path, o.GetName(), gone, err)
				}
			}
		}
		claims := &corev1.PersistentVolumeClaimList{}
		if err := r.Client.List(t.Context(), claims); err != nil || len(claims.Items) > 0 || len(exports()) > 0 {
			t.Errorf("%q: left are %v and volumes of %q, %v", path, claims.Items, exports(), err)
		}
	}
}
