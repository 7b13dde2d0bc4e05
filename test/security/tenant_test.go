// Package security acts as a tenant who may create benchmarks in one namespace and has no
// other rights, on a real API server with what the chart installs.
package security

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/chart"
	"github.com/nfsbench/nfsbench/test/gen"
)

// patience is what only an API server that hangs exceeds.
const patience = 10 * time.Minute

// tenant is a client with the rights of edit in the namespace team-a.
func tenant(t *testing.T, values ...string) client.Client {
	t.Helper()
	_, as := cluster(t, values...)
	return as(user)
}

// user is the name of the tenant.
const user = "tenant"

// cluster has the chart; it gives the client of an administrator, and those of other users.
func cluster(t *testing.T, values ...string) (admin client.Client, as func(user string) client.Client) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set; try: export KUBEBUILDER_ASSETS=$(hack/cluster/envtest.sh)")
	}
	server := &envtest.Environment{CRDDirectoryPaths: []string{chart.Path(t, "config/crd/bases")}, ErrorIfCRDPathMissing: true}
	config, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err = client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{chart.Namespace, "trident", "team-a", "team-b"} {
		if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range chart.Objects(t, chart.Helm(t, values...)) {
		if o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Deployment" {
			continue
		}
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "ClusterRole" && strings.HasSuffix(o.GetName(), "-edit") {
			bind := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: o.GetName()},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: o.GetName()},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
			}
			if err := admin.Create(t.Context(), bind); err != nil {
				t.Fatal(err)
			}
		}
	}
	as = func(user string) client.Client {
		config := rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		c, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := as(user)
	// The admission policy is active when it refuses what no policy allows.
	await(t, "the admission policy does not refuse anything", func() bool {
		err := create(t, c, "team-a", "probe", `storage: {embedded: {size: 1000Ti}}`, "DirectNFS")
		return err != nil && strings.Contains(err.Error(), "policy.embedded.maxSize")
	})
	return admin, as
}

// await asks until the API server has read a policy, of which it tells nobody.
func await(t *testing.T, otherwise string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal(otherwise)
		}
	}
}

// create makes a benchmark without storing it.
func create(t *testing.T, c client.Client, namespace, name, storage, nfs string) error {
	t.Helper()
	o := chart.Objects(t, fmt.Appendf(nil, `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: %s, namespace: %s}
spec:
  %s
  protocol: {client: %s}
  workload: {raw: {pattern: Read}}
`, name, namespace, storage, nfs))[0]
	return client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(t.Context(), o, client.DryRunAll)
}

// TestATenantMountsNoExportThatAnAdministratorDidNotList: a PersistentVolume for any server
// and path would be mounted with the address of the node.
func TestATenantMountsNoExportThatAnAdministratorDidNotList(t *testing.T) {
	c := tenant(t, "--set", "policy.exports[0].server=192.0.2.0/24,policy.exports[0].path=/vol/bench,policy.exports[0].namespaces[0]=team-a",
		"--set", "policy.embedded.maxSize=20Gi,policy.limits.clients=4")
	export := func(server, path string) string {
		return fmt.Sprintf("storage: {export: {servers: [%q], path: %q}}", server, path)
	}
	for name, tc := range map[string]struct{ namespace, storage, client, says string }{
		"listed":             {"team-a", export("192.0.2.11", "/vol/bench/x"), "Kernel", ""},
		"another-path":       {"team-a", export("192.0.2.11", "/vol/hr"), "Kernel", "policy.exports"},
		"out-of-the-path":    {"team-a", export("192.0.2.11", "/vol/bench/../hr"), "Kernel", "policy.exports"},
		"another-server":     {"team-a", export("198.51.100.1", "/vol/bench"), "Kernel", "policy.exports"},
		"direct":             {"team-a", export("198.51.100.1", "/vol/hr"), "DirectNFS", ""},
		"embedded":           {"team-a", "storage: {embedded: {size: 20Gi}}", "DirectNFS", ""},
		"mounted":            {"team-a", "storage: {embedded: {size: 20Gi}}", "Kernel", "policy.embedded.nodeMounts"},
		"large-embedded":     {"team-a", "storage: {embedded: {size: 20.5Gi}}", "DirectNFS", "at most 20Gi"},
		"many-clients":       {"team-a", "clients: 5\n  " + export("198.51.100.1", "/vol/hr"), "DirectNFS", "at most 4 load pods"},
		"somebody-elses":     {"team-b", export("192.0.2.11", "/vol/bench"), "Kernel", "forbidden"},
		"not-even-with-room": {"team-a", export("192.0.2.11", "/vol/bench-2"), "Kernel", "policy.exports"},
	} {
		err := create(t, c, tc.namespace, name, tc.storage, tc.client)
		switch {
		case tc.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.says != "" && (err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %v, want a refusal that has %q", name, err, tc.says)
		}
	}
}

// TestATenantUsesNoBackendThatAnAdministratorDidNotList: Trident would send the credentials
// of an array to the server that the tenant names.
func TestATenantUsesNoBackendThatAnAdministratorDidNotList(t *testing.T) {
	backend := "policy.backends[0]"
	c := tenant(t, "--set", fmt.Sprintf("%[1]s.name=filer1,%[1]s.managementLIF=192.0.2.5,%[1]s.svm=svm1,"+
		"%[1]s.credentialsSecretName=ontap-account,%[1]s.insecureSkipVerify=true,%[1]s.maxSize=10Gi,%[1]s.namespaces[0]=team-a", backend))
	for name, tc := range map[string]struct{ storage, says string }{
		"listed":     {"{backendName: filer1, size: 10Gi}", ""},
		"too-large":  {"{backendName: filer1, size: 11Gi}", "policy.backends"},
		"class":      {"{storageClassName: filer1, size: 10Gi}", "policy.storageClasses"},
		"not-listed": {"{backendName: filer2, size: 10Gi}", "policy.backends"},
		"inline": {
			"{backend: {managementLIF: 198.51.100.1, svm: svm1, credentialsSecretName: ontap-account}, size: 10Gi}",
			`unknown field "spec.storage.trident.backend"`,
		},
	} {
		err := create(t, c, "team-a", name, "storage: {trident: "+tc.storage+"}", "DirectNFS")
		switch {
		case tc.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %v, want a refusal that has %q", name, err, tc.says)
		case err != nil && strings.Contains(err.Error(), "ontap-account"):
			t.Errorf("%s: the refusal names the Secret: %v", name, err)
		}
	}
}

// TestATenantClaimsNoVolumeOfTheClassOfABenchmark: policy.backends lists neither the namespace nor a size for it, and
// the volume would keep the backend from going with its run. Nor does it tell Trident to make another volume than that
// of the benchmark.
func TestATenantClaimsNoVolumeOfTheClassOfABenchmark(t *testing.T) {
	admin, as := cluster(t, "--set", "trident.enabled=true")
	bind := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "edit"},
		// No controller of the tests fills edit with this.
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-edit"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	if err := admin.Create(t.Context(), bind); err != nil {
		t.Fatal(err)
	}
	b := gen.Benchmark("demo", gen.In("team-b"), gen.UID("of-a-benchmark"), gen.TridentBackend("filer1"))
	class := manifest.TridentName(b)
	claim := func(c client.Client, field, annotation string) error {
		pvc := manifest.TridentClaim(b)
		pvc.Namespace, pvc.OwnerReferences = "team-a", nil
		pvc.Spec.StorageClassName = nil
		if field != "" {
			pvc.Spec.StorageClassName = &field
		}
		if annotation != "" {
			pvc.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: annotation}
		}
		return c.Create(t.Context(), pvc, client.DryRunAll)
	}
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "one NFSBenchmark")
	}
	await(t, "the class of a backend is for everybody", func() bool { return refused(claim(admin, class, "")) })
	if err := claim(as(user), "", class); !refused(err) {
		t.Errorf("by the annotation: %v", err)
	}
	if err := claim(as(user), "nfsbench-gold", ""); err != nil {
		t.Errorf("a class of the administrator: %v", err)
	}
	if err := claim(as("system:serviceaccount:"+chart.Namespace+":nfsbench"), class, ""); err != nil {
		t.Errorf("the operator: %v", err)
	}

	made := manifest.TridentClaim(b)
	made.Namespace, made.OwnerReferences = "team-a", nil
	if err := as("system:serviceaccount:"+chart.Namespace+":nfsbench").Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	annotate := func(c client.Client, annotations string) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":`+annotations+`}}`))
		return c.Patch(t.Context(), made.DeepCopy(), patch, client.DryRunAll)
	}
	for _, change := range []string{
		`{"trident.netapp.io/notManaged":"true"}`, `{"trident.netapp.io/snapshotDirectory":"true"}`, `{"trident.netapp.io/snapshotDirectory":null}`,
		`null`,
	} {
		if err := annotate(as(user), change); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "those of Trident") {
			t.Errorf("annotations %s: %v", change, err)
		}
	}
	if err := annotate(as(user), `{"example.com/a":"b"}`); err != nil {
		t.Errorf("an annotation of somebody else: %v", err)
	}

	late := &corev1.PersistentVolumeClaim{}
	late.Namespace, late.Name = "team-a", "late"
	late.Spec = manifest.TridentClaim(b).Spec
	late.Spec.StorageClassName = nil
	if err := as(user).Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	late.Spec.StorageClassName = &class
	if err := as(user).Update(t.Context(), late, client.DryRunAll); !refused(err) {
		t.Errorf("by an update: %v", err)
	}
}

// TestATenantRemovesNoFinalizer: the volumes and backends of the benchmark would stay forever.
func TestATenantRemovesNoFinalizer(t *testing.T) {
	admin, as := cluster(t)
	remove := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), owned.Finalizer)
	}
	for who, c := range map[string]client.Client{
		"an-administrator": admin, "the-operator": as("system:serviceaccount:" + chart.Namespace + ":nfsbench"),
	} {
		b := chart.Objects(t, fmt.Appendf(nil, `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: %s, namespace: team-a, finalizers: [%s]}
spec:
  storage: {embedded: {size: 5Gi}}
  protocol: {client: DirectNFS}
  workload: {raw: {pattern: Read}}
`, who, owned.Finalizer))[0]
		if err := errors.Join(as(user).Create(t.Context(), b), as(user).Delete(t.Context(), b)); err != nil {
			t.Fatal(err)
		}
		await(t, "a tenant removes the finalizer", func() bool {
			return refused(as(user).Patch(t.Context(), b.DeepCopy(), remove, client.DryRunAll))
		})
		label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		if err := as(user).Patch(t.Context(), b.DeepCopy(), label); err != nil {
			t.Errorf("a tenant sets a label: %v", err)
		}
		if err := c.Patch(t.Context(), b, remove); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
}

// TestATenantGetsNothingFromThePodsOfABenchmark that it may not ask of the cluster itself.
func TestATenantGetsNothingFromThePodsOfABenchmark(t *testing.T) {
	strict, open := tenant(t), tenant(t, "--set-json", `policy.pods={"labels": ["app"], "annotations": ["iam.amazonaws.com/role"],
		"tolerations": ["*"], "nodeSelector": ["kubernetes.io/hostname"], "crossNamespaceAffinity": ["team-a"]}`)
	const everybody = `requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/os, labelSelector: {}, namespaceSelector: {}}]`
	for name, tc := range map[string]struct{ pods, says string }{
		"label":         {`{labels: {app: payments}}`, "policy.pods.labels"},
		"annotation":    {`{annotations: {iam.amazonaws.com/role: admin}}`, "policy.pods.annotations"},
		"taint":         {`{tolerations: [{operator: Exists}]}`, "policy.pods.tolerations"},
		"anti-affinity": {`{affinity: {podAntiAffinity: {` + everybody + `}}}`, "policy.pods.crossNamespaceAffinity"},
		"affinity":      {`{affinity: {podAffinity: {` + everybody + `}}}`, "policy.pods.crossNamespaceAffinity"},
		"namespaces": {
			`{affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, namespaces: [team-a, team-b]}}]}}}`,
			"policy.pods.crossNamespaceAffinity",
		},
	} {
		err := create(t, strict, "team-a", name, "pods: "+tc.pods+"\n  storage: {embedded: {size: 5Gi}}", "DirectNFS")
		if err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "spec.pods.") {
			t.Errorf("%s: %v, want a refusal that has %q", name, err, tc.says)
		}
		if err := create(t, open, "team-a", name, "pods: "+tc.pods+"\n  storage: {embedded: {size: 5Gi}}", "DirectNFS"); err != nil {
			t.Errorf("%s, which is allowed: %v", name, err)
		}
	}
	byZone := "pods: {nodeSelector: {zone: a}}\n  storage: {embedded: {size: 5Gi}}"
	if err := create(t, strict, "team-a", "zone", byZone, "DirectNFS"); err != nil {
		t.Errorf("nodes are chosen: %v", err)
	}
	if err := create(t, open, "team-a", "zone", byZone, "DirectNFS"); err == nil || !strings.Contains(err.Error(), "policy.pods.nodeSelector") {
		t.Errorf("nodes are chosen by a key that is not listed: %v", err)
	}
}

// TestTheManagerAllowsWhatAdmissionAllows, also right after the policy has changed: a benchmark that is
// admitted and then fails never runs.
func TestTheManagerAllowsWhatAdmissionAllows(t *testing.T) {
	admin, as := cluster(t)
	c := as(user)
	read := benchmark.PolicyIn(admin, client.ObjectKey{Namespace: chart.Namespace, Name: "nfsbench-policy"})
	checker := policy.MustChecker()
	upgrade := func(values ...string) {
		t.Helper()
		for _, o := range chart.Objects(t, chart.Helm(t, values...)) { // in the order of Helm
			if o.GetKind() != "ConfigMap" && o.GetKind() != "ValidatingAdmissionPolicy" {
				continue
			}
			is := o.DeepCopy()
			if err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), is); err != nil {
				t.Fatal(err)
			}
			o.SetResourceVersion(is.GetResourceVersion())
			if err := admin.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := gen.Benchmark("gold", gen.In("team-a"), gen.StorageClass("gold"))
	b.Spec.Clients = 1
	admitted := func() bool {
		size := b.Spec.Storage.StorageClass.Size.String()
		return create(t, c, "team-a", "gold", "storage: {storageClass: {name: gold, size: "+size+"}}", "DirectNFS") == nil
	}
	allowed := func() error {
		p, err := read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return checker.Check(p, b)
	}
	if admitted() || allowed() == nil {
		t.Fatal("the class is allowed from the beginning")
	}
	upgrade("--set", "policy.storageClasses[0].name=gold,policy.storageClasses[0].namespaces[0]=team-a")
	await(t, "admission does not see the new policy", admitted)
	if err := allowed(); err != nil {
		t.Errorf("admission has taken the benchmark, and the manager refuses it: %v", err)
	}
	upgrade()
	if allowed() == nil {
		t.Error("the manager allows what the policy does not allow any more")
	}
}

// TestTheTenantIsOne shows that the rights of the tests are those of a tenant.
func TestTheTenantIsOne(t *testing.T) {
	c := tenant(t)
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "x"}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: chart.Namespace, Name: "nfsbench-policy"}},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsForbidden(err) {
			t.Errorf("%T: %v, want Forbidden", o, err)
		}
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("nfsbench.io/v1alpha1")
	list.SetKind("NFSBenchmarkList")
	if err := c.List(t.Context(), list); !apierrors.IsForbidden(err) {
		t.Errorf("benchmarks of all namespaces: %v, want Forbidden", err)
	}
}

// TestATenantWritesNoStatus: what the operator has decided about a run is there.
func TestATenantWritesNoStatus(t *testing.T) {
	c := tenant(t)
	o := chart.Objects(t, []byte(`
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: demo, namespace: team-a}
spec:
  suspend: true
  storage: {embedded: {size: 5Gi}}
  protocol: {client: DirectNFS}
  workload: {raw: {pattern: Read}}
status: {planHash: forged}
`))[0]
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if status, found := o.Object["status"]; found {
		t.Errorf("a benchmark was created with the status %v", status)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"planHash":"forged"}}`))
	if err := c.Status().Patch(t.Context(), o.DeepCopy(), patch); !apierrors.IsForbidden(err) {
		t.Errorf("a patch of the status: %v, want Forbidden", err)
	}
	if err := c.Patch(t.Context(), o, patch); err != nil || o.Object["status"] != nil {
		t.Errorf("a patch of the benchmark made the status %v: %v", o.Object["status"], err)
	}
}
