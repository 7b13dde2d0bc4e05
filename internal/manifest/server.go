package manifest

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// The ports of the embedded server. Clients see the well-known ones, which
// Services map to ports that an unprivileged process may listen on.
const (
	NFSPort       = 2049
	PortmapPort   = 111
	CountersPort  = 8080
	serverPort    = 12049 // of the first path; the others follow
	serverPortmap = 10111
)

// ServerExport is what the embedded server exports.
const ServerExport = "/export"

// annotationIngress is read by the bandwidth CNI plug-in.
const annotationIngress = "kubernetes.io/ingress-bandwidth"

// ServerPod is the embedded NFS server of a benchmark.
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
	// The disk of the node: a pod that does not request it can evict others.
	disk := storage.Size.DeepCopy()
	disk.Add(resource.MustParse("256Mi")) // logs, and what the limit of the volume has beside the size
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
	// Never that of protocol.userID: the files in the embedded server's directory
	// are its own, whoever asks for them.
	spec.SecurityContext = podSecurity(&v1alpha1.NFSBenchmark{}, images)
	spec.SecurityContext.FSGroup = spec.SecurityContext.RunAsGroup
	spec.Containers = []corev1.Container{c}
	// The server keeps to the size itself and answers NFS3ERR_NOSPC; the
	// kubelet's own limit, which evicts the pod, must not be met before.
	limit := storage.Size.DeepCopy()
	limit.Add(resource.MustParse("128Mi"))
	spec.Volumes = []corev1.Volume{emptyDir(dataVolume, &limit)}
	pod := &corev1.Pod{ObjectMeta: meta(b, NamesOf(b).Server, ComponentServer), Spec: spec}
	pod.Annotations = linkAnnotations(b)
	return pod
}

// PathServices are the addresses of the embedded server: one Service each, so
// that every path is an address of its own with a TCP connection of its own.
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

// linkAnnotations shape the pods of a benchmark whose link is emulated: one on
// the embedded server with a declared link. The shaper stands on the way into
// each pod: into the client it limits reads, into the server writes.
//
// The shaper counts frames without preamble, checksum and gap (24 bytes), which
// a real link carries too; the rate is lowered by as much.
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
