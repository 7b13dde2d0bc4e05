package plan

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxPaths is the most paths of one server in an oranfstab.
const maxPaths = 4

// MountDecides reports whether the kernel's mount decides the one address in use: for its own client, and for Direct
// NFS without an oranfstab, which reads the mount table.
func MountDecides(p bench.Protocol) bool {
	return p.Client == bench.ClientKernel || p.Oranfstab == bench.Disabled
}

// ErrNoPath reports that no address matches protocol.paths.select.
var ErrNoPath = errors.New("no path")

// SelectPaths returns the paths that the protocol selects, with the LIF and node of each path as far as the survey
// names them. Without a survey it returns the explicit paths, or all addresses of the export in the order of the spec.
//
// With a survey, All selects every LIF of the array that is up, one for each subnet and LIFs on the node of the volume
// first, because Linux sends all traffic of a subnet through one interface. Local selects one LIF on the node that owns
// the volume, and Remote one on another node: the first by name, so that a repeated run selects the same. The error
// wraps ErrNoPath and lists the available LIFs.
//
// LIFs of an IP version without an address of the export are left out.
func SelectPaths(spec v1alpha1.NFSBenchmarkSpec, addresses []string,
	s *runfile.Survey,
) ([]bench.ResolvedPath, error) {
	paths, err := selectPaths(spec, addresses, ofVersions(s, addresses))
	var out []bench.ResolvedPath
	for _, p := range paths {
		r := bench.ResolvedPath{Local: p.Local, LocalInterface: p.LocalInterface, Path: p.Path}
		if l := s.LIF(p.Path); l != nil {
			r.LIF, r.Node = l.Name, l.Node
		}
		if local, known := s.IsLocal(p.Path); known {
			r.Locality = bench.LocalityRemote
			if local {
				r.Locality = bench.LocalityLocal
			}
		}
		out = append(out, r)
	}
	return out, err
}

// ofVersions returns the survey with only the LIFs of the IP versions of these addresses: pods may have no address of
// the other version. It keeps all LIFs if none would be left, or if an address is a name.
func ofVersions(s *runfile.Survey, addresses []string) *runfile.Survey {
	if s == nil || len(addresses) == 0 {
		return s
	}
	v4, v6 := false, false
	for _, address := range addresses {
		a, err := netip.ParseAddr(address)
		v4, v6 = v4 || err != nil || a.Unmap().Is4(), v6 || err != nil || !a.Unmap().Is4()
	}
	of := *s
	of.LIFs = slices.DeleteFunc(slices.Clone(s.LIFs), func(l runfile.LIF) bool {
		a, err := netip.ParseAddr(l.Address)
		return err == nil && (a.Unmap().Is4() && !v4 || !a.Unmap().Is4() && !v6)
	})
	if len(of.LIFs) == 0 {
		return s
	}
	return &of
}

func selectPaths(spec v1alpha1.NFSBenchmarkSpec, addresses []string, s *runfile.Survey) ([]bench.Path, error) {
	p, selection := spec.Protocol, bench.PathsAll
	if p.Paths != nil && p.Paths.Select != "" {
		selection = p.Paths.Select
	}
	switch selection {
	case bench.PathsExplicit:
		return p.Paths.Explicit, nil
	case bench.PathsLocal, bench.PathsRemote:
		return oneLIF(s, selection == bench.PathsLocal)
	default:
		if s != nil && len(s.LIFs) > 0 {
			return allLIFs(spec, s)
		}
		paths := make([]bench.Path, 0, len(addresses))
		for _, a := range addresses {
			paths = append(paths, bench.Path{Path: a})
		}
		return paths, nil
	}
}

func oneLIF(s *runfile.Survey, local bool) ([]bench.Path, error) {
	if s == nil || s.Volume == nil || s.Volume.Node == "" {
		return nil, fmt.Errorf("%w: the array does not report one owner of the volume, so Local and Remote mean "+
			"nothing: use protocol.paths.select: All or Explicit", ErrNoPath)
	}
	for _, l := range byName(s.LIFs) {
		if isUp(l) && l.Node != "" && (l.Node == s.Volume.Node) == local {
			return []bench.Path{{Path: l.Address}}, nil
		}
	}
	where := "on another node than " + s.Volume.Node + ", which owns volume " + s.Volume.Name
	if local {
		where = "on node " + s.Volume.Node + ", which owns volume " + s.Volume.Name
	}
	return nil, fmt.Errorf("%w: the SVM has no NFS LIF that is up %s: create one (network interface create -vserver "+
		"... -service-policy default-data-files -home-node ...), or use another protocol.paths.select", ErrNoPath, where)
}

// allLIFs returns one LIF of every subnet, at most as many as the client can use.
func allLIFs(spec v1alpha1.NFSBenchmarkSpec, s *runfile.Survey) ([]bench.Path, error) {
	lifs := byName(s.LIFs)
	slices.SortStableFunc(lifs, func(a, b runfile.LIF) int {
		localA, _ := s.IsLocal(a.Address)
		localB, _ := s.IsLocal(b.Address)
		return cmp.Compare(boolean(localB), boolean(localA))
	})
	limit := usefulPaths(spec)
	var paths []bench.Path
	var networks []netip.Prefix
	for _, l := range lifs {
		n, known := network(l)
		if !isUp(l) || len(paths) == limit || known && slices.Contains(networks, n) {
			continue
		}
		networks = append(networks, n)
		paths = append(paths, bench.Path{Path: l.Address})
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: none of the %d NFS LIFs is up: see 'network interface show -vserver SVM'",
			ErrNoPath, len(lifs))
	}
	return paths, nil
}

// usefulPaths returns the most paths that the client can use. Oracle's client uses several paths with NFSv3 only, the
// native engine with all versions. With pNFS the path carries metadata, and the layouts name the addresses of the data.
func usefulPaths(spec v1alpha1.NFSBenchmarkSpec) int {
	p := spec.Protocol
	switch {
	case MountDecides(p), p.Version == bench.PNFS:
		return 1
	case spec.Database != nil && p.Version != bench.NFSv3:
		return 1
	default:
		return maxPaths
	}
}

func byName(lifs []runfile.LIF) []runfile.LIF {
	return slices.SortedStableFunc(slices.Values(lifs), func(a, b runfile.LIF) int { return cmp.Compare(a.Name, b.Name) })
}

func isUp(l runfile.LIF) bool { return l.Up == nil || *l.Up }

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// network returns the subnet of a LIF.
func network(l runfile.LIF) (netip.Prefix, bool) {
	a, err := netip.ParseAddr(l.Address)
	if err != nil || l.Prefix == 0 {
		return netip.Prefix{}, false
	}
	n, err := a.Prefix(int(l.Prefix))
	return n, err == nil
}
