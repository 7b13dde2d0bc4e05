package trident

import "k8s.io/apimachinery/pkg/runtime/schema"

const (
	// Driver is Trident's CSI driver and provisioner.
	Driver = "csi.trident.netapp.io"
	// Finalizer is what Trident holds its objects with.
	Finalizer = "trident.netapp.io"
	// DefaultNamespace is where Trident is commonly installed.
	DefaultNamespace = "trident"
	// AnnotationPrefix is that of Trident's annotations of a claim.
	AnnotationPrefix = "trident.netapp.io/"
)

// The kinds, all of them in Trident's own namespace.
const (
	KindBackendConfig = "TridentBackendConfig"
	KindBackend       = "TridentBackend"
	KindVolume        = "TridentVolume"
)

// Kind is one of Trident's kinds with its group and version.
func Kind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "trident.netapp.io", Version: "v1", Kind: kind}
}
