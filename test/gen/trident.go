package gen

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// TridentBackend puts the data on a volume of a backend that the operator makes
// in Trident's namespace.
func TridentBackend(namespace, managementLIF, dataLIF string, pools ...string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{
			Namespace: namespace, Size: resource.MustParse("10Gi"), StoragePools: pools,
			Backend: &v1alpha1.TridentBackend{
				StorageDriverName: "ontap-nas", ManagementLIF: managementLIF, DataLIF: dataLIF, SVM: "svm1", CredentialsSecretName: "ontap",
			},
		}}
	}
}

// TridentClass puts the data on a volume of a class of Trident's that exists.
func TridentClass(namespace, class string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{
			Namespace: namespace, Size: resource.MustParse("10Gi"), StorageClassName: class,
		}}
	}
}

// Leftovers says what becomes of a volume that does not go.
func Leftovers(p v1alpha1.LeftoversPolicy) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Cleanup.Leftovers = p }
}
