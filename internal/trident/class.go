package trident

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewClass is a StorageClass of one backend. Its mount options replace those of
// the backend, they are not added to them.
func NewClass(name string, labels map[string]string, backend, driver string, pools,
	mountOptions []string,
) *storagev1.StorageClass {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	return &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: labels},
		Provisioner: Driver,
		Parameters: map[string]string{
			"backendType":  driver,
			"storagePools": StoragePools(backend, pools),
		},
		ReclaimPolicy:     &reclaim,
		VolumeBindingMode: &binding,
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
			key, value, _ := strings.Cut(strings.TrimSpace(o), "=")
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
	if version == "4" && minor != "" {
		return "4." + minor
	}
	return version
}

// shortVersion is how mount.nfs also lets a version be named: v3, v4.1.
var shortVersion = regexp.MustCompile(`^v[0-9](\.[0-9])?$`) //nolint:gochecknoglobals // a constant in all but name
