package direct

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// WithAddresses sets the local address of each channel that names a local interface.
func WithAddresses(channels []bench.ResolvedPath) ([]bench.ResolvedPath, error) {
	out := slices.Clone(channels)
	for i, ch := range out {
		if ch.LocalInterface == "" {
			continue
		}
		address, err := addressOn(ch.LocalInterface, ch.Path)
		if err != nil {
			return nil, target.Fail(runfile.FailureInvalidPlan, fmt.Sprintf(
				"path %s cannot start from interface %s: %v; give the pod its network, for example with the annotation "+
					"k8s.v1.cni.cncf.io/networks in pods.annotations, or correct localInterface",
				ch.Path, ch.LocalInterface, err), nil)
		}
		out[i].Local = address
	}
	return out, nil
}

// addressOn returns the first global address of an interface. If path is an address, it must be of the same
// family.
func addressOn(name, path string) (string, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", fmt.Errorf("there is no such interface; this client has %s", strings.Join(interfaceNames(), ", "))
	}
	if i.Flags&net.FlagUp == 0 {
		return "", fmt.Errorf("the interface is down")
	}
	all, err := i.Addrs()
	if err != nil {
		return "", err
	}
	server, _ := netip.ParseAddr(path) // invalid for a host name
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		own := prefix.Addr()
		if err != nil || own.IsLinkLocalUnicast() || server.IsValid() && own.Is4() != server.Unmap().Is4() {
			continue
		}
		return own.String(), nil
	}
	return "", fmt.Errorf("the interface has no address for it")
}

func interfaceNames() []string {
	all, _ := net.Interfaces() // for a message
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}
