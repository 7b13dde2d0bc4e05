package plan

import (
	"net"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Target is what the storage of a benchmark came to: where it is and how it is
// reached. Resolving it needs the cluster; everything after it does not.
type Target struct {
	Export     string           // export path; empty when only the mounted volume is known
	Addresses  []string         // that serve the export, as far as they are declared
	Paths      []v1alpha1.Path  // addresses to use; empty when only the mounted volume is known
	ClaimName  string           // PVC to mount; kernel client only
	VolumeName string           // PV behind it, where there is one
	Sources    []runfile.Source // the storage's own counters
	Survey     *runfile.Survey  // what the array said of itself; nil = there is none, or not yet
	Backend    *Backend         // what Trident says of the volume; nil = not a Trident volume
	// Keys name everything that two runs must not use at the same time.
	Keys []string
}

// Backend is what Trident says of a volume that it provisioned, and of the array
// behind it. What it does not say is empty.
type Backend struct {
	Name          string // of the backend
	Driver        string // ontap-nas, ontap-nas-flexgroup
	ManagementLIF string
	SVM           string
	DataLIF       string // the one address of kernel mounts
	Volume        string // internalName: what the array calls the volume
	Pool          string // aggregate at provisioning; a later move does not change it
}

// Exports lists the target as server:/path, the way showmount and mount do.
func (t Target) Exports() []string {
	var out []string
	for _, p := range t.Paths {
		out = append(out, hostLiteral(p.Path)+":"+t.Export)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hostLiteral(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}

// ServerKeys are the Target keys of server addresses. Two benchmarks that name
// one address in common share a server, whatever export they use.
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
