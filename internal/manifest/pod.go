package manifest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const (
	binary        = "/nfsbench" // in the nfsbench image
	unprivileged  = int64(65532)
	planDir       = "/etc/nfsbench"
	planPath      = planDir + "/plan.json"
	runDir        = "/run/nfsbench"
	dataDir       = "/data"
	tokenDir      = "/var/run/secrets/kubernetes.io/serviceaccount"
	planVolume    = "plan"
	runVolume     = "run"
	dataVolume    = "data"
	tokenVolume   = "token"
	tokenLifetime = int64(3600)
)

// Images are the container images of a run, and how the operator runs them.
type Images struct {
	NFSBench   string
	PullPolicy corev1.PullPolicy
	// LiveMetricsPort is where the collectors tell Prometheus of the run under
	// way. Zero: nowhere.
	LiveMetricsPort int32
}

// forBenchmark applies the benchmark's own choice of image.
func (i Images) forBenchmark(b *v1alpha1.NFSBenchmark) Images {
	if p := b.Spec.Pods; p != nil && p.Image != "" {
		i.NFSBench = p.Image
	}
	return i
}

func meta(b *v1alpha1.NFSBenchmark, name, component string) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Namespace: b.Namespace,
		Name:      name,
		Labels:    Labels(b, component),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion:         v1alpha1.GroupVersion.String(),
			Kind:               "NFSBenchmark",
			Name:               b.Name,
			UID:                b.UID,
			Controller:         &yes,
			BlockOwnerDeletion: &yes,
		}},
	}
}

// podSpec is what all pods of a run have in common: no token, no privileges,
// no service environment, and the placement that the user asked for.
func podSpec(b *v1alpha1.NFSBenchmark) corev1.PodSpec {
	no := false
	grace := int64(30)
	spec := corev1.PodSpec{
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: &grace,
		SecurityContext:               podSecurity(b),
	}
	if p := b.Spec.Pods; p != nil {
		spec.NodeSelector = p.NodeSelector
		spec.Tolerations = p.Tolerations
		spec.ImagePullSecrets = p.ImagePullSecrets
	}
	return spec
}

// podSecurity runs pods with a kernel mount as the owner of the files, because
// there the process is the credential. Direct NFS sends its own.
func podSecurity(b *v1alpha1.NFSBenchmark) *corev1.PodSecurityContext {
	yes := true
	user, group := unprivileged, unprivileged
	if b.Spec.Protocol.Client == v1alpha1.ClientKernel {
		if id := b.Spec.Protocol.UserID; id != nil {
			user = *id
		}
		if id := b.Spec.Protocol.GroupID; id != nil {
			group = *id
		}
	}
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   &yes,
		RunAsUser:      &user,
		RunAsGroup:     &group,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func restricted() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func container(name string, images Images, args ...string) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    images.NFSBench,
		ImagePullPolicy:          images.PullPolicy,
		Command:                  []string{binary},
		Args:                     args,
		SecurityContext:          restricted(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// modest asks for little and sets no CPU limit: a throttled client measures
// its own limit and not the storage.
func modest(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}}
}

// podAnnotations are the shaping of an emulated link and the user's, who wins.
func podAnnotations(b *v1alpha1.NFSBenchmark) map[string]string {
	out := map[string]string{}
	maps.Copy(out, linkAnnotations(b))
	if p := b.Spec.Pods; p != nil {
		maps.Copy(out, p.Annotations)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func emptyDir(name string, limit *resource.Quantity) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: limit},
	}}
}

func configMapVolume(name, configMap string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}}
}
