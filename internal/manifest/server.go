package manifest

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// The ports of the embedded server. Clients use the well-known ports, which Services map to ports that an unprivileged
// process may listen on.
const (
	NFSPort       = 2049
	PortmapPort   = 111
	CountersPort  = 8080
	serverPort    = 12049 // of the first path; the others follow
	serverPortmap = 10111
)

// ServerExport is the export of the embedded server.
const ServerExport = "/export"

// annotationIngress sets the rate of the bandwidth CNI plug-in.
const annotationIngress = "kubernetes.io/ingress-bandwidth"

// ServerPod returns the pod of a benchmark's embedded NFS server.
func ServerPod(b *v1alpha1.NFSBenchmark, images Images) *corev1.Pod {
	storage := b.Spec.Storage.Embedded
	args := []string{
		"serve", "--dir", dataDir, "--export", ServerExport,
		"--portmap", ":" + strconv.Itoa(serverPortmap),
		"--advertise-port", strconv.Itoa(NFSPort),
		"--http", ":" + strconv.Itoa(CountersPort),
		"--size", storage.Size.String(),
	}
	for i := range pathCount(storage) {
		args = append(args, "--listen", fmt.Sprintf(":%d", serverPort+i))
	}
	c := container("server", images, args...)
	c.Resources = modest("100m", "128Mi")
	// The disk space of the node: without the request the pod could cause the eviction of others.
	disk := storage.Size.DeepCopy()
	disk.Add(resource.MustParse("256Mi")) // logs, and the slack of the volume's limit
	c.Resources.Requests[corev1.ResourceEphemeralStorage] = disk
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: disk}
	c.VolumeMounts = []corev1.VolumeMount{{Name: dataVolume, MountPath: dataDir}}
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/readyz", Port: intstr.FromInt32(CountersPort),
		}},
		PeriodSeconds: 1,
	}

	spec := podSpec(b, images)
	// Never use protocol.userID: the embedded server owns the files in its directory, whichever user a client sends.
	spec.SecurityContext = podSecurity(&v1alpha1.NFSBenchmark{}, images)
	spec.SecurityContext.FSGroup = spec.SecurityContext.RunAsGroup
	spec.Containers = []corev1.Container{c}
	// The server itself enforces the size and answers NFS3ERR_NOSPC. The kubelet's limit, at which it evicts the pod, must
	// be higher.
	limit := storage.Size.DeepCopy()
	limit.Add(resource.MustParse("128Mi"))
	spec.Volumes = []corev1.Volume{emptyDir(dataVolume, &limit)}
	pod := &corev1.Pod{ObjectMeta: meta(b, NamesOf(b).Server, ComponentServer), Spec: spec}
	pod.Annotations = linkAnnotations(b)
	return pod
}

// PathServices returns the Services of the embedded server: one for each path, so that every path has an address and a
// TCP connection of its own.
func PathServices(b *v1alpha1.NFSBenchmark) []*corev1.Service {
	n := NamesOf(b)
	var out []*corev1.Service
	for i := range pathCount(b.Spec.Storage.Embedded) {
		out = append(out, &corev1.Service{
			ObjectMeta: meta(b, n.PathService(i), ComponentServer),
			Spec: corev1.ServiceSpec{
				Type:     corev1.ServiceTypeClusterIP,
				Selector: Labels(b, ComponentServer),
				Ports: []corev1.ServicePort{
					servicePort("nfs", NFSPort, serverPort+i),
					servicePort("portmap", PortmapPort, serverPortmap),
					servicePort("counters", CountersPort, CountersPort),
				},
			},
		})
	}
	return out
}

func servicePort(name string, port, target int) corev1.ServicePort {
	return corev1.ServicePort{
		Name: name, Port: int32(port), TargetPort: intstr.FromInt32(int32(target)), Protocol: corev1.ProtocolTCP, //nolint:gosec // constants
	}
}

func pathCount(s *v1alpha1.EmbeddedStorage) int { return int(max(s.Paths, 1)) }

// linkAnnotations shapes the pods of a benchmark with an emulated link: an embedded server and a declared link. The
// shaper limits the ingress of each pod: into the client it limits reads, into the server writes.
//
// The shaper does not count preamble, checksum and gap (24 bytes for each frame), which a real link carries too; the
// rate is lowered accordingly.
func linkAnnotations(b *v1alpha1.NFSBenchmark) map[string]string {
	l, storage := b.Spec.Protocol.Link, b.Spec.Storage.Embedded
	if l == nil || storage == nil {
		return nil
	}
	const header, overhead = 14, 38 // Ethernet: header alone; header, checksum, preamble, gap
	mtu := int64(l.MTU)
	if mtu == 0 {
		mtu = 1500
	}
	total := l.BitsPerSecond.Value() * int64(pathCount(storage))
	rate := total / (mtu + overhead) * (mtu + header)
	return map[string]string{annotationIngress: strconv.FormatInt(rate, 10)}
}
