package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// PlanKey and OranfstabKey are the keys of the plan ConfigMap.
const (
	PlanKey      = "plan.json"
	OranfstabKey = "oranfstab"
)

// PlanConfigMap returns the ConfigMap with the plan file, and with the oranfstab for people.
func PlanConfigMap(b *v1alpha1.NFSBenchmark, plan, oranfstab string) *corev1.ConfigMap {
	data := map[string]string{PlanKey: plan}
	if oranfstab != "" {
		data[OranfstabKey] = oranfstab
	}
	return &corev1.ConfigMap{
		ObjectMeta: meta(b, NamesOf(b).Plan, ComponentConfig),
		Data:       data,
		Immutable:  new(true),
	}
}

// ResultConfigMap returns the only object that the collectors of a run may write. The operator creates it empty, so
// that they need no right to create objects.
func ResultConfigMap(b *v1alpha1.NFSBenchmark) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(b, NamesOf(b).Result, ComponentConfig)}
}

// The label of results that outlive their benchmark, whose value is Names.Base, and the annotations with details.
const (
	LabelKeptResult     = "nfsbench.io/kept-result"
	AnnotationBenchmark = "nfsbench.io/benchmark-name"
	AnnotationBytes     = "nfsbench.io/bytes" // of the result
)

// KeptResult returns a copy of a result that has no owner, under a name that no later benchmark takes.
func KeptResult(b *v1alpha1.NFSBenchmark, result *corev1.ConfigMap) *corev1.ConfigMap {
	bytes := 0
	for _, data := range result.BinaryData {
		bytes += len(data)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: NamesOf(b).Result + "-" + hash(string(b.UID)),
			Labels: map[string]string{
				LabelName: "nfsbench", LabelManagedBy: ManagedBy, LabelKeptResult: NamesOf(b).Base, LabelUID: string(b.UID),
			},
			Annotations: map[string]string{AnnotationBenchmark: b.Name, AnnotationBytes: strconv.Itoa(bytes)},
		},
		Immutable:  new(true),
		BinaryData: result.BinaryData,
	}
}

// CollectorAccess returns the identity of the collectors, which may read and change the result object and nothing else.
func CollectorAccess(b *v1alpha1.NFSBenchmark) (*corev1.ServiceAccount, *rbacv1.Role, *rbacv1.RoleBinding) {
	account, role, binding := Access(meta(b, NamesOf(b).Collector, ComponentConfig), rbacv1.PolicyRule{
		APIGroups:     []string{""},
		Resources:     []string{"configmaps"},
		ResourceNames: []string{NamesOf(b).Result},
		Verbs:         []string{"get", "patch"},
	})
	account.AutomountServiceAccountToken = new(false)
	return account, role, binding
}

// Access returns a ServiceAccount and a role of these rules for it, all of one name.
func Access(m metav1.ObjectMeta, rules ...rbacv1.PolicyRule) (
	*corev1.ServiceAccount, *rbacv1.Role, *rbacv1.RoleBinding,
) {
	return &corev1.ServiceAccount{ObjectMeta: *m.DeepCopy()},
		&rbacv1.Role{ObjectMeta: *m.DeepCopy(), Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: *m.DeepCopy(),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: m.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: m.Namespace, Name: m.Name}},
		}
}

// The annotations of a target's Lease, for people and for finding the holder.
const (
	AnnotationTarget = "nfsbench.io/target"
	AnnotationHolder = "nfsbench.io/holder" // namespace/name of the benchmark
)

// TargetLease returns the Lease by which a benchmark holds a target. Its holder is the UID of the benchmark, so a later
// object of the same name is not the holder.
func TargetLease(b *v1alpha1.NFSBenchmark, namespace, key string, now metav1.MicroTime) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      LeaseName(key),
			Labels: map[string]string{
				LabelName:      "nfsbench",
				LabelManagedBy: ManagedBy,
				LabelUID:       string(b.UID),
			},
			Annotations: map[string]string{
				AnnotationTarget: key,
				AnnotationHolder: b.Namespace + "/" + b.Name,
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(string(b.UID)), AcquireTime: &now},
	}
}

// LeaseName returns the name of a target's Lease. Tenants choose keys, so the hash must be cryptographic: nobody can
// find another key with the same name.
func LeaseName(key string) string {
	sum := sha256.Sum256([]byte(key))
	clean := notInLabel.ReplaceAllString(strings.ToLower("nfsb-target-"+key), "-")
	return strings.TrimRight(clean[:min(len(clean), 38)], "-") + "-" + hex.EncodeToString(sum[:12])
}
