package workflow

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Access is the ServiceAccount, the Role and the RoleBinding of the workflow's
// pods; nothing when the suite names an account of its own. What they may do is
// what a step does: create a benchmark and watch it, and tell Argo how it went.
func Access(s *v1alpha1.NFSBenchmarkSuite) []client.Object {
	if s.Spec.ServiceAccountName != "" {
		return nil
	}
	meta := metav1.ObjectMeta{
		Name: serviceAccount(s), Namespace: s.Namespace, Labels: labels(s),
		OwnerReferences: []metav1.OwnerReference{owner(s)},
	}
	rbac := rbacv1.SchemeGroupVersion.String()
	return []client.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: *meta.DeepCopy(),
		},
		&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbac, Kind: "Role"},
			ObjectMeta: *meta.DeepCopy(),
			Rules:      rules(),
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbac, Kind: "RoleBinding"},
			ObjectMeta: *meta.DeepCopy(),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: s.Namespace}},
		},
	}
}

func rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{v1alpha1.GroupVersion.Group},
			Resources: []string{"nfsbenchmarks"},
			Verbs:     []string{"create", "get", "list", "patch", "watch"},
		},
		{
			APIGroups: []string{Workflow.Group},
			Resources: []string{"workflowtaskresults"},
			Verbs:     []string{"create", "patch"},
		},
		{
			// An owner reference that blocks the owner's deletion needs it where
			// the API server enforces that.
			APIGroups: []string{Workflow.Group},
			Resources: []string{"workflows/finalizers"},
			Verbs:     []string{"update"},
		},
	}
}

func serviceAccount(s *v1alpha1.NFSBenchmarkSuite) string {
	if n := s.Spec.ServiceAccountName; n != "" {
		return n
	}
	return s.Name + "-workflow"
}
