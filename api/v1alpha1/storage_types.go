package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Storage is where the data lives: exactly one of storageClass, trident, claim, export and
// embedded; and array, where the storage itself can be asked.
//
// +kubebuilder:validation:XValidation:rule="[has(self.embedded), has(self.export), has(self.claim), has(self.trident), has(self.storageClass)].filter(x, x).size() == 1",message="give exactly one of storage.storageClass, storage.trident, storage.claim, storage.export and storage.embedded"
// +kubebuilder:validation:XValidation:rule="!has(self.array) || !has(self.embedded)",message="storage.embedded has counters of its own: remove storage.array"
// +kubebuilder:validation:XValidation:rule="!has(self.array) || !has(self.array.ontap) || has(self.trident) || has(self.claim) || has(self.storageClass) || (has(self.array.ontap.managementLIF) && has(self.array.ontap.svm))",message="storage.array.ontap needs managementLIF and svm where they cannot be taken from a Trident backend"
// +kubebuilder:validation:XValidation:rule="!has(self.trident) || !has(self.trident.moveTo) || (has(self.array) && has(self.array.ontap))",message="storage.trident.moveTo is a job of the array: give storage.array.ontap with an account that may modify /api/storage/volumes"
type Storage struct {
	// embedded is an NFS server that the operator runs beside the benchmark:
	// for demonstrations and to test an installation. Its numbers say
	// nothing of an array.
	// +optional
	Embedded *EmbeddedStorage `json:"embedded,omitempty"`
	// export is an NFS export that exists.
	// +optional
	Export *ExportStorage `json:"export,omitempty"`
	// claim is a PersistentVolumeClaim that exists.
	// +optional
	Claim *ClaimStorage `json:"claim,omitempty"`
	// storageClass is a volume that a StorageClass gives for the run.
	// +optional
	StorageClass *StorageClassStorage `json:"storageClass,omitempty"`
	// trident is a volume that NetApp Trident provisions for the run.
	// +optional
	Trident *TridentStorage `json:"trident,omitempty"`
	// array is where the storage's own view comes from: the CPU of its nodes,
	// its latency, what went through each address. With ontap it also tells
	// which address is on the node that owns the volume.
	// +optional
	Array *ArrayAccess `json:"array,omitempty"`
}

// EmbeddedStorage is an NFSv3 server that lives as long as the run.
//
// When protocol.link is declared, each path is shaped to that speed by the
// network plug-in (the kubernetes.io/ingress-bandwidth annotation), so that a
// link of a known speed can be had anywhere.
//
// For the kernel client and a database container a node mounts it, which an administrator must
// allow (policy.embedded.nodeMounts of the chart).
type EmbeddedStorage struct {
	// size is the capacity of the export, such as 2Gi.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="storage.embedded.size must be greater than zero, for example 2Gi"
	Size resource.Quantity `json:"size"`
	// paths is the number of addresses the server is reached at.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	Paths int32 `json:"paths,omitempty"`
}

// ExportStorage is an export of an NFS server outside the cluster or in it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.redoPath) || self.redoPath != self.path",message="storage.export.redoPath is the export of storage.export.path: name another one, or leave it out"
type ExportStorage struct {
	// servers are the addresses (LIFs, VIPs) that serve the export. Use
	// addresses: a name that changes between look-ups is no path.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$')`,message="write the address of a server, such as 10.0.0.10. The path of the export goes into storage.export.path"
	Servers []string `json:"servers"`
	// path is the export path, for example /vol/oradata.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^/[^\s#:]*$')`,message="write the path of the export as the server shows it, such as /vol/oradata: it begins with / and has no blank, # or :. Its server goes into storage.export.servers"
	Path string `json:"path"`
	// redoPath is the path of another export of the same servers, for the online
	// redo logs of a database.container. The run mounts it with the same options
	// and moves the redo logs there. Without it they are on path.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^/[^\s#:]*$')`,message="write the path of the export as the server shows it, such as /vol/oradata: it begins with / and has no blank, # or :. Its server goes into storage.export.servers"
	RedoPath string `json:"redoPath,omitempty"`
}

// ClaimStorage is a PersistentVolumeClaim in the namespace of the benchmark.
type ClaimStorage struct {
	// name of the claim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	Name string `json:"name"`
	// nonNFS says what to do when the volume turns out not to be NFS: Refuse
	// ends the run with the reason, Measure measures it all the same and
	// marks the result Suspect.
	// +optional
	// +default="Refuse"
	NonNFS NonNFSPolicy `json:"nonNFS,omitempty"`
}

// NonNFSPolicy says what to do with a volume that is not NFS.
//
// +kubebuilder:validation:Enum=Refuse;Measure
type NonNFSPolicy string

// The policies for a volume that is not NFS.
const (
	NonNFSRefuse  NonNFSPolicy = "Refuse"
	NonNFSMeasure NonNFSPolicy = "Measure"
)
