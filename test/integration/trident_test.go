package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/preflight"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

func TestAVolumeOfTridentIsProvisionedUsedAndRemoved(t *testing.T) {
	t.Parallel()
	own := func(w *world) gen.Mod { return w.backend("aggr1") }
	existing := func(w *world) gen.Mod { return gen.TridentClass(w.class(nil)) }
	auto := func(driver string) func(*world) gen.Mod { // for which Trident makes the rules
		return func(w *world) gen.Mod {
			w.array.backend.StorageDriverName, w.array.backend.ExportPolicy = driver, ""
			return w.backend()
		}
	}
	cases := map[string]struct {
		storage func(*world) gen.Mod
		mods    []gen.Mod
		left    []string // what was there before
	}{
		"RulesOfAFlexGroup":     {auto(trident.DriverFlexGroup), nil, nil},
		"RulesForAKernel":       {auto(""), []gen.Mod{gen.Kernel}, nil},
		"PolicyOfItsAnnotation": {own, []gen.Mod{exportPolicy}, nil},
		"OptionsOfABackend":     {func(w *world) gen.Mod { return w.classOfOptions("-o nfsvers=3") }, []gen.Mod{gen.Kernel}, []string{"TridentBackendConfig", "TridentBackend"}},
		"OwnBackendDirect":      {own, nil, nil},
		"OwnBackendKernel":      {own, []gen.Mod{gen.Kernel}, nil},
		"OwnBackendThree":       {own, []gen.Mod{gen.Clients(3)}, nil},
		"OwnBackendOracle":      {own, []gen.Mod{gen.Oracle, gen.Calibrate(1)}, nil},
		"ClassOracle":           {existing, []gen.Mod{gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 4)}, []string{"TridentBackendConfig", "TridentBackend"}},
		"ClassDirect":           {existing, nil, []string{"TridentBackendConfig", "TridentBackend"}},
		"ClassKernel":           {existing, []gen.Mod{gen.Kernel}, []string{"TridentBackendConfig", "TridentBackend"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.create("demo", append([]gen.Mod{tc.storage(w)}, tc.mods...)...)
			b := w.until("demo", v1alpha1.PhaseRunning)
			w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "True", v1alpha1.ReasonProvisioned)
			w.wantTridentPlan(b)
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded, "MB/s")
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
			w.wantMade(tc.left...)
			if got := w.ours(); len(got) != 1 || got[0] != "ConfigMap nfsb-demo-result" {
				t.Errorf("left: %q, want the result only", got)
			}
		})
	}
}

// exportPolicy names the export policy of the volume.
func exportPolicy(b *v1alpha1.NFSBenchmark) {
	b.Spec.Storage.Trident.PVCAnnotations = map[string]v1alpha1.AnnotationValue{trident.ExportPolicyAnnotation: "oracle"}
}

// wantTridentPlan fails the test unless a run goes to the volume that is on the
// array, by the array's name for it.
func (w *world) wantTridentPlan(b *v1alpha1.NFSBenchmark) {
	w.Helper()
	volumes := w.ofTrident(trident.KindVolume)
	if len(volumes) != 1 {
		w.Fatalf("Trident has %d volumes", len(volumes))
	}
	v, err := trident.ReadVolume(&volumes[0])
	if err != nil {
		w.Fatal(err)
	}
	rs := b.Status.Resolved
	if rs.VolumeName != v.Name || rs.Export != v.NFSPath || len(rs.Paths) != 1 || rs.Paths[0].Path != w.array.volumes.lif {
		w.Errorf("resolved to %+v, want volume %s and export %s:%s", rs, v.Name, w.array.volumes.lif, v.NFSPath)
	}
	if pool := w.array.volumes.volumes[v.InternalName]; b.Spec.Storage.Trident.StoragePools != nil && pool != "aggr1" {
		w.Errorf("the volume is on %q, want aggr1: aggr10 is another", pool)
	}
	claim := &corev1.PersistentVolumeClaim{}
	if !w.find(manifest.NamesOf(b).Claim, claim) || claim.Annotations["trident.netapp.io/snapshotDirectory"] != "false" {
		w.Errorf("the claim shows its snapshot directory: %v", claim.Annotations)
	}
	mounted := false
	for _, v := range w.loadJob(b).Spec.Template.Spec.Volumes {
		mounted = mounted || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
	}
	kernel := b.Spec.Protocol.Client == bench.ClientKernel
	if mounted != (kernel || b.Spec.Database != nil) {
		w.Errorf("the claim is mounted: %t, client is %s, database %+v", mounted, b.Spec.Protocol.Client, b.Spec.Database)
	}
	pv := &corev1.PersistentVolume{}
	if err := w.c.Get(w.Context(), client.ObjectKey{Name: rs.VolumeName}, pv); err != nil {
		w.Fatal(err)
	}
	if got := trident.NFSVersion(append(pv.Spec.MountOptions, v.MountOptions)); got != "3" {
		w.Errorf("the volume is mounted with %q and %q, want nfsvers=3 named", pv.Spec.MountOptions, v.MountOptions)
	}
	if !kernel && !strings.Contains(rs.Oranfstab, v.NFSPath) {
		w.Errorf("the oranfstab does not name %s:\n%s", v.NFSPath, rs.Oranfstab)
	}
}

func TestTheDataLIFOfTheBackendIsThatOfNow(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.until("demo", v1alpha1.PhaseProvisioning)
	for len(w.ofTrident(trident.KindVolume)) == 0 {
		w.robot("demo")
		if len(w.ofTrident(trident.KindVolume)) == 0 {
			w.settle("demo")
		}
	}
	backend := w.ofTrident(trident.KindBackend)[0]
	now := newAddress()
	backend.Object["config"].(map[string]any)["ontap_config"].(map[string]any)["dataLIF"] = now
	if err := w.c.Update(t.Context(), &backend); err != nil {
		t.Fatal(err)
	}
	b := w.until("demo", v1alpha1.PhaseRunning)
	if got := b.Status.Resolved.Paths; len(got) != 1 || got[0].Path != now {
		t.Errorf("paths are %+v, want %s and not what the volume recorded when it was made", got, now)
	}
}

func TestAClaimOnAVolumeOfTridentIsFollowed(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*world){
		"InItsNamespace": func(w *world) { w.r.TridentNamespace = w.array.ns },
		"InAnother":      func(w *world) { w.r.TridentNamespace = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			where(w)
			w.userClaim(w.class(nil))
			w.create("demo", gen.Claim("data"))
			b := w.until("demo", v1alpha1.PhaseRunning)
			v, err := trident.ReadVolume(&w.ofTrident(trident.KindVolume)[0])
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Status.Resolved; got.Export != v.NFSPath || len(got.Paths) != 1 || got.Paths[0].Path != w.array.volumes.lif {
				t.Errorf("resolved to %+v, want export %s at %s", got, v.NFSPath, w.array.volumes.lif)
			}
			w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
			w.delete("demo")
			w.finish("demo")
			w.wantMade("TridentBackendConfig", "TridentBackend", "TridentVolume", "PersistentVolumeClaim", "PersistentVolume", "volume")
		})
	}
}

func TestAClaimOnAVolumeThatAdmitsAttachedNodesIsRefused(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.backend.ExportPolicy = ""
	w.userClaim(w.class(nil))
	w.create("demo", gen.Claim("data"))
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, "this client attaches none")
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", preflight.ExportPolicyDenies)
}

// userClaim makes a claim named data that its user has, and lets Trident make its volume.
func (w *world) userClaim(class string) {
	w.Helper()
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if err := w.c.Create(w.Context(), pvc); err != nil {
		w.Fatal(err)
	}
	for w.array.step(w) != "" { //nolint:revive // until it is bound
	}
}

func TestTwoRunsOnOneSVMWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("first", w.backend())
	first := w.until("first", v1alpha1.PhaseRunning)
	cases := map[string]gen.Mod{
		"backend": w.backend(),
		"export":  gen.Export("/vol/other", w.array.volumes.lif),
		"claim":   gen.Claim("data"),
	}
	w.userClaim(w.class(nil))
	for name, storage := range cases {
		w.create(name, storage)
		b := w.settle(name)
		w.wantPhase(b, v1alpha1.PhaseQueued, w.ns+"/"+first.Name)
	}
	w.finish("first")
	for range cases { // one after the other, in the order of the queue
		for name := range cases {
			w.finish(name)
		}
	}
	for name := range cases {
		w.wantPhase(w.get(name), v1alpha1.PhaseSucceeded)
	}
}

// TestARunWaitsForTheAddressThatItsVolumeCameTo: what a class leads to is known
// only when the volume is there.
func TestARunWaitsForTheAddressThatItsVolumeCameTo(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("first", gen.Export("/vol/other", w.array.volumes.lif))
	w.until("first", v1alpha1.PhaseRunning)
	w.create("demo", gen.TridentClass(w.class(nil)))
	for range 10 {
		w.settle("demo")
		w.array.step(w)
	}
	w.wantPhase(w.get("demo"), v1alpha1.PhaseQueued, w.ns+"/first")
	w.finish("first")
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestNoObjectHoldsThePasswordOfTrident(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.SetFaults(standin.Faults{Unreachable: "the array does not answer"})
	w.create("demo", w.backend())
	w.until("demo", v1alpha1.PhaseRunning)
	w.delete("demo")
	w.turns()
	read := 0
	for _, list := range []client.ObjectList{
		&corev1.ConfigMapList{}, &corev1.EventList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{},
		&storagev1.StorageClassList{}, &v1alpha1.NFSBenchmarkList{},
	} {
		if err := w.c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		read += w.wantNoPassword(fmt.Sprintf("%T", list), list)
	}
	for _, kind := range []string{trident.KindBackendConfig, trident.KindBackend, trident.KindVolume} {
		read += w.wantNoPassword(kind, w.ofTrident(kind))
	}
	read += w.wantNoPassword("the events of the operator", w.rec.events)
	if read < 10_000 {
		t.Errorf("%d bytes read only", read)
	}
}

func (w *world) wantNoPassword(what string, v any) int {
	w.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	if strings.Contains(string(raw), "xyzzy-2026") || strings.Contains(string(raw), "eHl6enktMjAyN") {
		w.Errorf("the password stands in %s", what)
	}
	return len(raw)
}

// TestAReleaseOfTridentThatMayLoseExportRulesIsSaid where they are what admits the node that mounts.
func TestAReleaseOfTridentThatMayLoseExportRulesIsSaid(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"": "Trident 26.06.1 runs with enableConcurrency", "pods": ""} {
		w := withTrident(t)
		d := &appsv1.Deployment{}
		if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: w.array.ns, Name: trident.Deployment}, d); err != nil {
			t.Fatal(err)
		}
		c := &d.Spec.Template.Spec.Containers[0]
		c.Image, c.Args = "netapp/trident:26.06.1", []string{"--enable_concurrency=true"}
		if err := w.c.Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.array.backend.ExportPolicy = policy
		w.create("demo", w.backend(), gen.Kernel)
		b := w.until("demo", v1alpha1.PhaseRunning)
		said := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStorageProvisioned)
		if said == nil || said.Status != "True" || !strings.HasPrefix(said.Message, want) || (said.Message == "") != (want == "") {
			t.Errorf("%q: %+v", policy, said)
		}
		w.finish("demo")
	}
}
