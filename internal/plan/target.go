package plan

import (
	"net"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Target is the resolved storage of a benchmark: its place and its addresses. To resolve it takes the cluster; later
// steps need only the Target.
type Target struct {
	Export     string               // export path; empty when only the mounted volume is known
	Addresses  []string             // addresses of the export, as far as they are declared
	Paths      []bench.ResolvedPath // to use; empty when only the mounted volume is known
	ClaimName  string               // PVC to mount; kernel client only
	VolumeName string               // PV of the claim, if there is one
	Sources    []runfile.Source     // the storage's own counters
	Survey     *runfile.Survey      // answer of the array; nil = no survey, or not yet
	Backend    *Backend             // what Trident reports about the volume; nil = not a Trident volume
	// Keys identify everything that two runs must not use at the same time.
	Keys []string
}

// Backend holds Trident's report about a volume that it provisioned, and about the array behind it. Missing values are
// empty.
type Backend struct {
	Name          string // of the backend
	Driver        string // ontap-nas, ontap-nas-flexgroup
	ManagementLIF string
	SVM           string
	DataLIF       string // the one address of kernel mounts
	Volume        string // internalName: the name of the volume on the array
	Pool          string // aggregate at provisioning; a later move does not change it
}

// ServerKeys returns the target keys of server addresses. Two benchmarks with a common address share a server, whatever
// their exports.
func ServerKeys(addresses []string) []string {
	keys := make([]string, 0, len(addresses))
	for _, a := range addresses {
		if ip := net.ParseIP(a); ip != nil {
			a = ip.String()
		}
		keys = append(keys, "server/"+strings.ToLower(a))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ExportOfVolume reads the export of a volume: of the built-in NFS volumes, and of CSI drivers
// that name it in the volume attributes.
func ExportOfVolume(pv *corev1.PersistentVolume) (server, export string, ok bool) {
	if n := pv.Spec.NFS; n != nil {
		return strings.Trim(n.Server, "[]"), n.Path, true
	}
	if pv.Spec.CSI == nil {
		return "", "", false
	}
	at := map[string]string{} // keys in lower case: csi-driver-nfs keeps the case of its class
	for key, value := range pv.Spec.CSI.VolumeAttributes {
		at[strings.ToLower(key)] = value
	}
	switch pv.Spec.CSI.Driver {
	case "csi-isilon.dellemc.com":
		server, export = at["azserviceip"], at["path"]
	case "filestore.csi.storage.gke.io":
		server, export = at["ip"], at["volume"]
	default: // csi-driver-nfs, and drivers with the same attributes
		server, export = at["server"], at["share"]
		if export != "" {
			export += "/" + at["subdir"]
		}
	}
	if server == "" || export == "" {
		return "", "", false
	}
	return strings.Trim(server, "[]"), path.Join("/", export), true // csi-driver-nfs takes brackets, too
}
