package plan

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// MountOptions returns the options of a kernel mount for database files, as NetApp and Oracle recommend for Linux
// single instance (hard, tcp, timeo=600). The version is always explicit, because a negotiated version may differ from
// the declared one. bg has no meaning for a volume of a pod, and nointr none since Linux 2.6.25. server is the address,
// or empty if it is not known.
func MountOptions(p bench.Protocol, server string) []string {
	proto := "proto=tcp"
	if p.Transport == bench.TransportRDMA {
		proto = "proto=rdma" // with port 20049, unless the mount names another
	}
	if a, err := netip.ParseAddr(strings.Trim(server, "[]")); err == nil && a.Is6() {
		proto += "6" // mount.nfs uses the names without 6 for IPv4, and refuses the address
	}
	opts := []string{"rw", "hard", proto, "timeo=600", "nfsvers=" + kernelVersion(p.Version)}
	if p.Version == bench.NFSv3 {
		// The load takes no locks; without a lock manager a mount still works.
		opts = append(opts, "nolock")
	}
	if p.TransferSize != nil {
		size := p.TransferSize.Value()
		opts = append(opts, fmt.Sprintf("rsize=%d", size), fmt.Sprintf("wsize=%d", size))
	}
	if p.NConnect != nil {
		opts = append(opts, fmt.Sprintf("nconnect=%d", *p.NConnect))
	}
	if p.Security != "" {
		opts = append(opts, "sec="+string(p.Security))
	}
	return opts
}

// databaseTransferBytes is the rsize and wsize that NetApp and Oracle recommend for mounts of datafiles, redo logs and
// control files on Linux.
const databaseTransferBytes = 256 << 10

// MountOptionsOf returns the mount options of the volume that a benchmark makes. For a database container the transfer
// sizes are always explicit. Its locks stay on the node too: one instance uses the volume, and nodes need no lock
// manager.
func MountOptionsOf(b *v1alpha1.NFSBenchmark, server string) []string {
	p := b.Spec.Protocol
	if Container(b) != nil && p.TransferSize == nil {
		p.TransferSize = resource.NewQuantity(databaseTransferBytes, resource.BinarySI)
	}
	return MountOptions(p, server)
}

// kernelVersion formats a version for mount.nfs. pNFS is NFSv4.1 with layouts from the server; the mount can only ask
// for 4.1.
func kernelVersion(v bench.NFSVersion) string {
	switch v {
	case bench.NFSv40:
		return "4.0"
	case bench.NFSv41, bench.PNFS:
		return "4.1"
	case bench.NFSv42:
		return "4.2"
	default:
		return "3"
	}
}
