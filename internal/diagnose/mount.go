package diagnose

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mountMessage says why a volume cannot be mounted, and what to check. What the
// kubelet tells begins with a long command and ends with the cause, which is
// what counts.
func mountMessage(p *corev1.Pod, message string) string {
	if _, output, ok := strings.Cut(message, "Output:"); ok {
		message = output
	}
	message = oneLine(message)
	if lacksClient(message) {
		return fmt.Sprintf("the volume of pod %s cannot be mounted: node %s has no NFS client: install nfs-common or "+
			"nfs-utils on the nodes and load the kernel module nfs, or use protocol.client: DirectNFS (%s)",
			p.Name, p.Spec.NodeName, message)
	}
	return fmt.Sprintf("the volume of pod %s cannot be mounted: check the server address, the export path, the export "+
		"policy and the protocol version (%s)", p.Name, message)
}

// lacksClient knows how mount says that a node cannot speak NFS: no
// /sbin/mount.nfs, or no kernel module behind it.
func lacksClient(output string) bool {
	return slices.ContainsFunc([]string{
		"helper program", "unknown filesystem type", "No such device",
		"program not found",
	},
		func(s string) bool { return strings.Contains(output, s) })
}
