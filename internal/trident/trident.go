// Package trident builds and reads the objects of NetApp Trident, without a
// dependency on it: their CRDs have open schemas, so the API server checks
// nothing and what is written here is what Trident gets.
//
//	PVC .spec.volumeName ─▶ PV .spec.csi.volumeHandle ─▶ TridentVolume of that name
//	    .backendUUID ─▶ TridentBackend with that UUID
//
// A name on the array is read (config.internalName) and never derived: name
// templates and imports change it. The functions are pure and safe for
// concurrent use.
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
	// DriverNAS serves NFS with a volume for each claim.
	DriverNAS = "ontap-nas"
	// DriverFlexGroup spreads each volume over all nodes.
	DriverFlexGroup = "ontap-nas-flexgroup"
	// Finalizer is what Trident holds its objects with.
	Finalizer = "trident.netapp.io"
	// DefaultNamespace is where Trident is commonly installed.
	DefaultNamespace = "trident"
	// AnnotationPrefix is that of Trident's annotations of a claim.
	AnnotationPrefix = "trident.netapp.io/"
	// ExportPolicyAnnotation of a claim names its export policy. Trident obeys it if the backend has
	// one, too, and no automatic one.
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

// VolumeName is how the TridentVolume and the PersistentVolume of a claim are called.
func VolumeName(claim types.UID) string { return "pvc-" + string(claim) }

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

// BackendSpec is what makes one ONTAP backend differ from another.
type BackendSpec struct {
	StorageDriverName string `json:"storageDriverName,omitempty"` // ontap-nas (the default) or ontap-nas-flexgroup
	ManagementLIF     string `json:"managementLIF"`
	DataLIF           string `json:"dataLIF,omitempty"` // empty: Trident picks one of the SVM's
	SVM               string `json:"svm"`
	// CredentialsSecretName is a Secret in Trident's namespace, with username and password.
	CredentialsSecretName string `json:"credentialsSecretName"`
	// CABundle has the certificates, as PEM, by which Trident verifies the array. Without
	// it Trident verifies nothing.
	CABundle string `json:"caBundle,omitempty"`
	// ExportPolicy is that of the volumes. Empty: Trident admits the nodes that have attached a volume,
	// and those of the cluster to a FlexGroup.
	ExportPolicy string `json:"exportPolicy,omitempty"`
}

// DriverName is the driver of the backend, with the default in place of an empty one.
func (s BackendSpec) DriverName() string { return cmp.Or(s.StorageDriverName, DriverNAS) }

// NewBackendConfig is a TridentBackendConfig, whose spec is the backend
// configuration itself. It works in Trident's namespace only.
//
// The storage prefix stays Trident's: internal names are read, so nothing
// depends on it. Snapshots are off, because a schedule that fires in a run, or
// a .snapshot directory among the files, would be measured with it.
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

// Bracketed writes an IPv6 address as Trident wants it.
func Bracketed(address string) string {
	if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") && strings.Count(address, ":") > 1 {
		return "[" + address + "]"
	}
	return address
}

// Bare is the host of an address, without a scheme, brackets and a port.
func Bare(address string) string {
	host, _ := hostPort(address)
	return host
}

// Endpoint is the host and the port of an interface that speaks HTTPS.
func Endpoint(address string) string {
	host, port := hostPort(address)
	return net.JoinHostPort(host, cmp.Or(port, "443"))
}

// hostPort divides an address, with or without a scheme, a path and a port.
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

// unbracketed is the way back from Bracketed, which leaves a port where it is.
func unbracketed(address string) string {
	if inner, has := strings.CutSuffix(address, "]"); has {
		return strings.TrimPrefix(inner, "[")
	}
	return address
}

// NewClass is a StorageClass of one backend. Its mount options replace those of
// the backend, they are not added to them.
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

// StoragePools writes the parameter that ties a class to a backend, and to some
// of its pools: "backend:^aggr1$,^aggr2$". Trident takes both parts as regular
// expressions and anchors the first only: a bare aggr1 would be aggr10, too.
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

// NFSVersion is the version of NFS that mount options name, as in nfsvers=4.1;
// empty where client and server negotiate it. Of several the last counts.
func NFSVersion(options []string) string {
	version, minor := "", ""
	for _, entry := range options {
		for o := range strings.SplitSeq(entry, ",") {
			o = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o), "-o ")) // as on a command line
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

// Negotiated says that mount options with this NFSVersion let client and server agree on one
// that may be want: with 4 alone, on the minor version.
func Negotiated(version, want string) bool {
	return version == "" || version == "4" && strings.HasPrefix(want, "4.")
}

// shortVersion is how mount.nfs also lets a version be named: v3, v4.1.
var shortVersion = regexp.MustCompile(`^v[0-9](\.[0-9])?$`) //nolint:gochecknoglobals // a constant in all but name
