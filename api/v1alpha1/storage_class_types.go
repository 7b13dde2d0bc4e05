package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// StorageClassStorage is a volume that a StorageClass gives for the run. The operator makes
// a PersistentVolumeClaim of the class, reads the export from its volume, and deletes
// the claim at the clean-up.
type StorageClassStorage struct {
	// name of a StorageClass that exists, that policy.storageClasses of the chart allows, and
	// whose reclaimPolicy is Delete. Its mountOptions are those of the kernel client. Any
	// volumeBindingMode serves.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	Name string `json:"name"`
	// size of the volume, such as 100Gi.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="storage.storageClass.size must be greater than zero, for example 100Gi"
	Size resource.Quantity `json:"size"`
}
