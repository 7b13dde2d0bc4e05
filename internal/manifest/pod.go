package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/bench"
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
	redoVolume    = "redo"
	tokenVolume   = "token"
	tokenLifetime = int64(3600)
)

// Images holds the container images of a run, and the operator's settings for its pods.
type Images struct {
	NFSBench   string
	PullPolicy corev1.PullPolicy
	// LiveMetricsPort is the port at which Prometheus reads the collectors of a run under way. Zero: none.
	LiveMetricsPort int32
	// AssignedUser leaves the user and group of the pods to the platform, or to their images. A pod with a database keeps
	// its own, because images of Oracle need the user oracle.
	AssignedUser bool
	// Pods holds defaults of spec.pods. Its image, imagePullSecrets and hostNetwork are not used.
	Pods v1alpha1.Pods
}

func meta(b *v1alpha1.NFSBenchmark, name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       b.Namespace,
		Name:            name,
		Labels:          Labels(b, component),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("NFSBenchmark"))},
	}
}

// podSpec returns what all pods of a run share: no token, no privileges, no service environment, and the placement that
// the user asks for.
func podSpec(b *v1alpha1.NFSBenchmark, images Images) corev1.PodSpec {
	spec := corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(30)),
		SecurityContext:               podSecurity(b, images),
	}
	p := podsOf(b, images)
	spec.NodeSelector, spec.Affinity, spec.Tolerations = p.NodeSelector, p.Affinity, p.Tolerations
	spec.PriorityClassName = p.PriorityClassName
	if p.RuntimeClassName != "" {
		spec.RuntimeClassName = &p.RuntimeClassName
	}
	spec.ImagePullSecrets = p.ImagePullSecrets
	return spec
}

// podSecurity runs pods with a kernel mount as the owner of the files, because the server checks the process's user.
// Direct NFS sends its own credentials.
func podSecurity(b *v1alpha1.NFSBenchmark, images Images) *corev1.PodSecurityContext {
	security := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if images.AssignedUser {
		return security
	}
	user, group := unprivileged, unprivileged
	if p := b.Spec.Protocol; p.Client == bench.ClientKernel {
		user, group = ptr.Deref(p.UserID, unprivileged), ptr.Deref(p.GroupID, unprivileged)
	}
	security.RunAsUser, security.RunAsGroup = &user, &group
	return security
}

func container(name string, images Images, args ...string) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           images.NFSBench,
		ImagePullPolicy: images.PullPolicy,
		Command:         []string{binary},
		Args:            args,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// modest requests few resources and sets no CPU limit: a throttled client measures its own limit and not the storage.
func modest(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}}
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

func claimVolume(name, claim string, readOnly bool) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: readOnly},
	}}
}

// secretVolume mounts the given keys of a Secret with that mode; no keys means all.
func secretVolume(name, secret string, mode int32, keys ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: &mode, Items: keys},
	}}
}
