package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// TridentStorage is a volume that NetApp Trident provisions for the run.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) != has(self.backendName)",message="give exactly one of storage.trident.storageClassName (a class that exists) and storage.trident.backendName (a backend of the cluster's policy, for which the operator creates backend and class)"
// +kubebuilder:validation:XValidation:rule="!has(self.storagePools) || has(self.backendName)",message="storage.trident.storagePools places volumes of a backend that the operator creates: leave it out, or put parameters.storagePools into the StorageClass that storageClassName names"
type TridentStorage struct {
	// storageClassName is a StorageClass that exists, with the provisioner
	// csi.trident.netapp.io and volumeBindingMode Immediate. For the kernel client
	// its mountOptions must name the nfsvers of protocol.version; if it has none, the
	// nfsMountOptions of the backend. An administrator must allow it
	// (policy.storageClasses of the chart).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	StorageClassName string `json:"storageClassName,omitempty"`
	// backendName is a backend that an administrator lists in the policy of the cluster
	// (policy.backends of the chart). The operator creates a TridentBackendConfig and a
	// StorageClass for it; both go with the benchmark.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	BackendName string `json:"backendName,omitempty"`
	// size of the volume, such as 100Gi.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="storage.trident.size must be greater than zero, for example 100Gi"
	Size resource.Quantity `json:"size"`
	// storagePools are the aggregates that the volume may be placed on: this is
	// how its node is chosen. Without it, Trident chooses. Refused for
	// ontap-nas-flexgroup and on a disaggregated array (AFX), where ONTAP chooses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^[A-Za-z0-9_][A-Za-z0-9_.-]*$')`,message="write a name of letters, digits, _, - and ., such as aggr1"
	StoragePools []string `json:"storagePools,omitempty"`
	// pvcAnnotations are annotations of Trident of the claim: exportPolicy, snapshotPolicy,
	// snapshotDirectory, unixPermissions, cloneFromPVC and splitOnClone, each with the prefix
	// trident.netapp.io/. exportPolicy replaces that of the backend for this volume, which needs one too.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['trident.netapp.io/exportPolicy', 'trident.netapp.io/snapshotPolicy', 'trident.netapp.io/snapshotDirectory', 'trident.netapp.io/unixPermissions', 'trident.netapp.io/cloneFromPVC', 'trident.netapp.io/splitOnClone'])",message="storage.trident.pvcAnnotations takes exportPolicy, snapshotPolicy, snapshotDirectory, unixPermissions, cloneFromPVC and splitOnClone, each with the prefix trident.netapp.io/: others of Trident's annotations make volumes that outlive the benchmark, or that are larger than its size"
	PVCAnnotations map[string]AnnotationValue `json:"pvcAnnotations,omitempty"`
	// moveTo is the aggregate that the volume is moved to, online, before the
	// run: the way to measure data behind another node's LIF. Needs
	// storage.array.ontap with an account of the cluster. Refused where storagePools is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9_][A-Za-z0-9_.-]*$')`,message="write a name of letters, digits, _, - and ., such as aggr1"
	MoveTo string `json:"moveTo,omitempty"`
}

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=1024
type AnnotationValue string
