package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Pods places the pods of a run. An administrator may have set defaults (pods.defaults
// of the chart): maps are merged with them, and any other field replaces its default.
//
// +kubebuilder:validation:XValidation:rule="!has(self.labels) || self.labels.all(k, !k.startsWith('nfsbench.io/') && !k.startsWith('app.kubernetes.io/') && !k.startsWith('batch.kubernetes.io/') && !(k in ['job-name', 'controller-uid']))",message="labels with the prefixes nfsbench.io/, app.kubernetes.io/ and batch.kubernetes.io/, and job-name and controller-uid, are the operator's: choose other keys"
type Pods struct {
	// labels of the load pods. An administrator must allow their keys
	// (policy.pods.labels of the chart), because Services, NetworkPolicies and quotas
	// select pods by their labels.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the pods, for example k8s.v1.cni.cncf.io/networks for a
	// storage network. An administrator must allow their keys
	// (policy.pods.annotations of the chart), because annotations can give pods
	// identities and networks. A value has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]string `json:"annotations,omitempty"`
	// affinity of the pods to nodes and to other pods, besides nodeSelector. An administrator
	// must allow other namespaces in it (policy.pods.crossNamespaceAffinity of the chart).
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// topologySpreadConstraints spread the load pods. Without a labelSelector, a
	// constraint counts the load pods of this run. Without a constraint for
	// kubernetes.io/hostname, several clients are spread over nodes where that is possible.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// priorityClassName of the pods. An administrator must allow it
	// (policy.pods.priorityClasses of the chart), because pods can preempt those of others.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// runtimeClassName chooses the container runtime. An administrator must allow it
	// (policy.pods.runtimeClasses of the chart).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName string `json:"runtimeClassName,omitempty"`
	// securityContext of the load pods. Their user and group are protocol.userID and
	// protocol.groupID, or those of the database.
	// +optional
	SecurityContext *PodSecurity `json:"securityContext,omitempty"`
	// nodeSelector chooses the nodes. An administrator may bound its keys
	// (policy.pods.nodeSelector of the chart).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// hostNetwork Enabled gives the load pods, and with them a database container,
	// the network of their node: its addresses, no pod network, and no
	// NetworkPolicies. An administrator must allow it (policy.hostNetwork of
	// the chart), and the namespace must admit such pods, which the baseline Pod
	// Security Standard does not. One database container fits on a node.
	// +optional
	HostNetwork bench.Toggle `json:"hostNetwork,omitempty"`
	// tolerations of node taints. An administrator must allow their keys
	// (policy.pods.tolerations of the chart).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// resources of the loader container. A CPU limit can become the
	// bottleneck; the finding ClientCPUBound says so.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// imagePullSecrets for the images of the pods. Each needs the label
	// nfsbench.io/allow-use=true.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// image replaces the image of the loader. All other containers, which have
	// credentials or more rights, run the image that the operator was installed with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// PodSecurity is the part of a pod's security context that a benchmark may set: what the
// baseline Pod Security Standard allows.
type PodSecurity struct {
	// supplementalGroups of the processes. A kernel mount sends them to the server; AUTH_SYS
	// holds 16.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty"`
	// seLinuxLevel is the level of the SELinux label of the pods, for example s0:c123,c456.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SELinuxLevel string `json:"seLinuxLevel,omitempty"`
}

// Cleanup defines whether the objects that the run created are kept: pods, the
// embedded server, volumes, and the files on the export. The result is kept for as long as
// the benchmark.
type Cleanup struct {
	// onSuccess applies when the run succeeded.
	// +optional
	// +default="Delete"
	OnSuccess CleanupPolicy `json:"onSuccess,omitempty"`
	// onFailure applies when it did not.
	// +optional
	// +default="Delete"
	OnFailure CleanupPolicy `json:"onFailure,omitempty"`
	// leftovers applies to a deleted benchmark whose volume cannot be removed
	// because Trident or the array does not answer: Wait keeps the benchmark until
	// the volume is removed, Abandon removes the benchmark after two minutes and
	// names the leftovers in an event. It can be changed while deleting.
	// +optional
	// +default="Wait"
	Leftovers LeftoversPolicy `json:"leftovers,omitempty"`
	// results applies to the result of a deleted benchmark: Retain keeps it in a
	// ConfigMap with the label nfsbench.io/kept-result, which belongs to nobody. It counts
	// for the limit of results of the namespace until somebody deletes it. It can be changed
	// at any time. Absent is Delete.
	// +optional
	Results CleanupPolicy `json:"results,omitempty"`
}

// LeftoversPolicy says what to do about a volume that cannot be removed.
//
// +kubebuilder:validation:Enum=Wait;Abandon
type LeftoversPolicy string

// The policies for a volume that cannot be removed.
const (
	LeftoversWait    LeftoversPolicy = "Wait"
	LeftoversAbandon LeftoversPolicy = "Abandon"
)

// CleanupPolicy keeps or removes what a run created. Deleting the benchmark
// removes it in any case.
//
// +kubebuilder:validation:Enum=Delete;Retain
type CleanupPolicy string

// The clean-up policies.
const (
	CleanupDelete CleanupPolicy = "Delete"
	CleanupRetain CleanupPolicy = "Retain"
)
