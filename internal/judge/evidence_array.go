package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// arrayWitness is the array's list of connected clients: who used the volume over
// which address with which protocol. It proves nothing alone, because the kernel's
// mount beside Direct NFS is a client, too, and never denies, because an array
// forgets idle clients late. asked is false where no array can tell.
func arrayWitness(r runfile.Result) (w witness, asked bool) {
	if !slices.ContainsFunc(r.Plan.Collect.Sources, func(s runfile.Source) bool { return s.Kind == runfile.SourceONTAP }) {
		return witness{}, false
	}
	const list = "the array's list of clients"
	paths := declaredPaths(r.Plan)
	for _, c := range connectedClients(r) {
		declared := slices.ContainsFunc(paths, func(p pathPair) bool { return p.Path == c.Server })
		if declared && arrayProtocol(c.Protocol, r.Plan.Engine.NFSVersion) {
			return witness{says: agrees, text: fmt.Sprintf("%s (%s by %s at %s)", list, c.Address, c.Protocol, c.Server)}, true
		}
	}
	return witness{says: silent, text: list}, true
}

// connectedClients are those of all measured windows.
func connectedClients(r runfile.Result) []runfile.StorageClient {
	var out []runfile.StorageClient
	for _, cl := range r.Clients {
		if cl.Observed == nil {
			continue
		}
		for _, w := range cl.Observed.Windows {
			for _, s := range w.Storage {
				if w.Kind == windowMeasure {
					out = append(out, s.Clients...)
				}
			}
		}
	}
	return out
}

// arrayProtocol tells whether what ONTAP calls nfs3, nfs4, nfs4.1 or nfs4.2 is the
// declared version; pNFS is NFSv4.1 or later there.
func arrayProtocol(seen, declared string) bool {
	switch declared {
	case "pNFS":
		return strings.HasPrefix(seen, "nfs4.")
	case "NFSv3":
		return seen == "nfs3"
	case "NFSv4.0":
		return seen == "nfs4" || seen == "nfs4.0"
	default:
		return "NFSv"+strings.TrimPrefix(seen, "nfs") == declared
	}
}
