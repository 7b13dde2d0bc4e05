package benchmark

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// mountPod runs a pod that mounts a claim and reads the export from its mount table. The pod is also the first consumer
// of a claim whose class binds late. end is nil until the pod has ended; trouble, the end of a message, describes what
// stops the pod, or is "".
func (r *Reconciler) mountPod(ctx context.Context, s *scope, claim string) (
	end *corev1.ContainerStateTerminated, trouble string, err error,
) {
	if err := r.Ensure(ctx, s.b, manifest.MountJob(s.b, claim, r.Images)); err != nil {
		return nil, "", err
	}
	pods, err := r.Pods(ctx, s.b, manifest.ComponentMount)
	if err != nil || len(pods) == 0 {
		return nil, "", err
	}
	for _, c := range pods[0].Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return t, "", nil
		}
	}
	if t := diagnose.Pods(pods, nil, s.now, r.Grace); t != nil {
		return nil, ": " + t.Message, nil
	}
	return nil, "", nil
}

// awaitClaim waits for a claim of the user, with a pod as its consumer.
func (r *Reconciler) awaitClaim(ctx context.Context, s *scope, pvc *corev1.PersistentVolumeClaim) (next, error) {
	_, trouble, err := r.mountPod(ctx, s, pvc.Name)
	if err != nil {
		return next{}, err
	}
	return s.wait(v1alpha1.ReasonClaimNotBound, fmt.Sprintf("claim %q is %s and not Bound; a pod asks for it; see "+
		"kubectl describe pvc %s%s", pvc.Name, pvc.Status.Phase, pvc.Name, trouble), soon)
}

// lookInside finds the export of a volume that does not name it, by the mount table of a pod.
func (r *Reconciler) lookInside(ctx context.Context, s *scope, pv *corev1.PersistentVolume) (next, error) {
	if pv.Spec.CSI == nil || pv.Spec.ClaimRef == nil {
		return next{}, invalid(runfile.FailureNotNFS, "PersistentVolume %q is neither NFS nor of a CSI driver: name the "+
			"export in spec.storage.export", pv.Name)
	}
	claim := pv.Spec.ClaimRef.Name
	end, trouble, err := r.mountPod(ctx, s, claim)
	if err != nil {
		return next{}, err
	}
	if end == nil {
		message := fmt.Sprintf("waiting for a pod that mounts claim %s and reads its export%s", claim, trouble)
		if s.b.Spec.Storage.StorageClass != nil {
			return s.awaitGap(&fact{Reason: v1alpha1.ReasonProvisioning, Message: message}, pv)
		}
		return s.wait(v1alpha1.ReasonProvisioning, message, soon)
	}
	var m runfile.MountedExport
	err = errors.New(strings.TrimSpace(end.Message))
	if end.ExitCode == 0 {
		m, err = runfile.ReadMountedExport(strings.NewReader(end.Message))
	}
	if err != nil {
		return next{}, invalid(runfile.FailureNotNFS, "PersistentVolume %q of CSI driver %s does not say which NFS export "+
			"it is, and a pod that mounts it reports: %w. Name the export in spec.storage.export, or set "+
			"spec.protocol.client to Kernel without spec.storage.array", pv.Name, pv.Spec.CSI.Driver, err)
	}
	s.target.Export, s.target.Addresses = m.Path, []string{m.Server}
	s.target.Keys = append(s.target.Keys, plan.ServerKeys(s.target.Addresses)...)
	return next{}, volumePaths(s.b, s.target)
}

// volumePaths chooses among the addresses of a volume. A loopback address is a tunnel of the node, such as the
// encryption of Amazon EFS (stunnel): another pod cannot reach it, and no other address serves NFS without the tunnel.
func volumePaths(b *v1alpha1.NFSBenchmark, t *plan.Target) error {
	for _, a := range t.Addresses {
		ip, err := netip.ParseAddr(a)
		loopback := err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(a, "localhost")
		if loopback && b.Spec.Protocol.Client != bench.ClientKernel {
			return invalid(runfile.FailureNotNFS, "PersistentVolume %q is mounted from %s:%s, which is the node itself: a "+
				"program there forwards NFS to the storage, such as the stunnel of Amazon EFS, and client %s in a pod does not "+
				"reach it. Mount the volume without encryption in transit, name the export in spec.storage.export, or set "+
				"spec.protocol.client to Kernel", t.VolumeName, a, t.Export, b.Spec.Protocol.Client)
		}
	}
	return choosePaths(b, t)
}
