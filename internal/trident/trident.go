// Package trident builds and reads the objects of NetApp Trident without depending on its code. The CRDs have open
// schemas, so the API server validates nothing and Trident gets exactly what this package writes.
//
//	PVC .spec.volumeName ─▶ PV .spec.csi.volumeHandle ─▶ TridentVolume of that name
//	    .backendUUID ─▶ TridentBackend with that UUID
//
// The package reads the name of a volume on the array (config.internalName) and never derives it: name templates and
// imports change it. The functions are pure and safe for concurrent use.
package trident

import (
	"cmp"
	"encoding/base64"
	"net"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Driver is Trident's CSI driver and provisioner.
	Driver = "csi.trident.netapp.io"
	// DriverNAS serves NFS with one volume for each claim.
	DriverNAS = "ontap-nas"
	// DriverFlexGroup spreads each volume over all nodes.
	DriverFlexGroup = "ontap-nas-flexgroup"
	// Finalizer is Trident's finalizer on its objects.
	Finalizer = "trident.netapp.io"
	// DefaultNamespace is the usual namespace of Trident.
	DefaultNamespace = "trident"
	// AnnotationPrefix is the prefix of Trident's annotations on a claim.
	AnnotationPrefix = "trident.netapp.io/"
	// ExportPolicyAnnotation on a claim names its export policy. Trident uses it if the backend also has an export policy,
	// and no automatic one.
	ExportPolicyAnnotation = AnnotationPrefix + "exportPolicy"
)

// The controller, in Trident's own namespace: its Deployment, the label of its pods, and the container
// with Trident itself.
const (
	Deployment          = "trident-controller"
	ControllerLabel     = "app"
	Controller          = "controller.csi.trident.netapp.io"
	ControllerContainer = "trident-main"
)

// VolumeName returns the name of the TridentVolume and the PersistentVolume of a claim.
func VolumeName(claim types.UID) string { return "pvc-" + string(claim) }

// Kinds of Trident; their objects are all in Trident's own namespace.
const (
	KindBackendConfig = "TridentBackendConfig"
	KindBackend       = "TridentBackend"
	KindVolume        = "TridentVolume"
)

// Kind returns one of Trident's kinds with its group and version.
func Kind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "trident.netapp.io", Version: "v1", Kind: kind}
}

// BackendSpec holds the fields in which ONTAP backends differ.
type BackendSpec struct {
	StorageDriverName string `json:"storageDriverName,omitempty"` // ontap-nas (the default) or ontap-nas-flexgroup
	ManagementLIF     string `json:"managementLIF"`
	DataLIF           string `json:"dataLIF,omitempty"` // empty: Trident picks a LIF of the SVM
	SVM               string `json:"svm"`
	// CredentialsSecretName is a Secret in Trident's namespace, with username and password.
	CredentialsSecretName string `json:"credentialsSecretName"`
	// CABundle holds the CA certificates, as PEM, with which Trident verifies the array. Without it Trident verifies
	// nothing.
	CABundle string `json:"caBundle,omitempty"`
	// ExportPolicy is the export policy of the volumes. Empty: Trident admits the nodes that have attached a volume, and
	// the nodes of the cluster to a FlexGroup.
	ExportPolicy string `json:"exportPolicy,omitempty"`
}

// DriverName returns the driver of the backend; ontap-nas if none is set.
func (s BackendSpec) DriverName() string { return cmp.Or(s.StorageDriverName, DriverNAS) }

// NewBackendConfig returns a TridentBackendConfig, whose spec is the backend configuration itself. It works in
// Trident's namespace only.
//
// The storage prefix stays Trident's default: nothing depends on it, because internal names are read. Snapshots are
// off, because a scheduled snapshot during a run, or a .snapshot directory among the files, would affect the
// measurement.
func NewBackendConfig(namespace, name string, labels map[string]string, s BackendSpec) *unstructured.Unstructured {
	defaults := map[string]any{"snapshotDir": "false", "snapshotPolicy": "none", "spaceReserve": "none"}
	spec := map[string]any{
		"version":           int64(1),
		"storageDriverName": s.DriverName(),
		"backendName":       name,
		"managementLIF":     Bracketed(s.ManagementLIF),
		"svm":               s.SVM,
		"credentials":       map[string]any{"name": s.CredentialsSecretName},
		"nasType":           "nfs",
		"deletionPolicy":    "delete",
		"autoExportPolicy":  true,
		"defaults":          defaults,
	}
	if s.DataLIF != "" {
		spec["dataLIF"] = Bracketed(s.DataLIF)
	}
	if s.CABundle != "" {
		spec["trustedCACertificate"] = base64.StdEncoding.EncodeToString([]byte(s.CABundle))
	}
	if s.ExportPolicy != "" {
		spec["autoExportPolicy"] = false
		defaults["exportPolicy"] = s.ExportPolicy
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(Kind(KindBackendConfig))
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetLabels(labels)
	return u
}

// Bracketed puts an IPv6 address in brackets, as Trident requires.
func Bracketed(address string) string {
	if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") && strings.Count(address, ":") > 1 {
		return "[" + address + "]"
	}
	return address
}

// Bare returns the host of an address, without a scheme, brackets and a port.
func Bare(address string) string {
	host, _ := hostPort(address)
	return host
}

// Endpoint returns the host and port of an HTTPS interface.
func Endpoint(address string) string {
	host, port := hostPort(address)
	return net.JoinHostPort(host, cmp.Or(port, "443"))
}

// hostPort splits an address, with or without a scheme, a path and a port.
func hostPort(address string) (host, port string) {
	if _, rest, has := strings.Cut(address, "://"); has {
		address = rest
	}
	address, _, _ = strings.Cut(address, "/")
	if host, port, err := net.SplitHostPort(address); err == nil {
		return host, port
	}
	return unbracketed(address), ""
}

// unbracketed reverses Bracketed; it does not remove a port.
func unbracketed(address string) string {
	if inner, has := strings.CutSuffix(address, "]"); has {
		return strings.TrimPrefix(inner, "[")
	}
	return address
}

// NewClass returns a StorageClass for one backend. Its mount options replace those of the backend.
func NewClass(
	name string, labels map[string]string, backend, driver string, pools, mountOptions []string,
) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: labels},
		Provisioner: Driver,
		Parameters: map[string]string{
			"backendType":  driver,
			"storagePools": StoragePools(backend, pools),
		},
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
		MountOptions:      mountOptions,
	}
}

// StoragePools returns the parameter that ties a class to a backend, and to some of its pools:
// "backend:^aggr1$,^aggr2$". Trident treats both parts as regular expressions and anchors only the first: a bare aggr1
// would match aggr10, too.
func StoragePools(backend string, pools []string) string {
	var parts []string
	for _, p := range pools {
		parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
	}
	if len(parts) == 0 {
		parts = []string{".*"}
	}
	return regexp.QuoteMeta(backend) + ":" + strings.Join(parts, ",")
}

// NFSVersion returns the NFS version in mount options, as in nfsvers=4.1; "" if client and server negotiate it. The
// last of several counts.
func NFSVersion(options []string) string {
	version, minor := "", ""
	for _, entry := range options {
		for o := range strings.SplitSeq(entry, ",") {
			o = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o), "-o ")) // as in a command line
			key, value, _ := strings.Cut(o, "=")
			switch {
			case key == "nfsvers" || key == "vers":
				version = value
			case key == "minorversion":
				minor = value
			case shortVersion.MatchString(key):
				version = strings.TrimPrefix(key, "v")
			}
		}
	}
	if minor != "" && (version == "4" || version == "") {
		return "4." + minor
	}
	return version
}

// Negotiated reports whether mount options with this NFSVersion let client and server agree on a version that may be
// want: with 4 alone, on the minor version.
func Negotiated(version, want string) bool {
	return version == "" || version == "4" && strings.HasPrefix(want, "4.")
}

// shortVersion matches another form of the version in mount.nfs: v3, v4.1.
var shortVersion = regexp.MustCompile(`^v[0-9](\.[0-9])?$`) //nolint:gochecknoglobals // a constant in all but name
