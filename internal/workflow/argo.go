package workflow

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The fields of Argo Workflows v3.6 and later that are used, as its types name
// them (pkg/apis/workflow/v1alpha1).

type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       any      `json:"spec"` // of a Workflow spec, of a CronWorkflow cronSpec
}

type metadata struct {
	Name            string                  `json:"name,omitempty"`
	Namespace       string                  `json:"namespace,omitempty"`
	Labels          map[string]string       `json:"labels,omitempty"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

type cronSpec struct {
	Schedules                  []string  `json:"schedules"`
	Timezone                   string    `json:"timezone,omitempty"`
	ConcurrencyPolicy          string    `json:"concurrencyPolicy,omitempty"`
	StartingDeadlineSeconds    *int32    `json:"startingDeadlineSeconds,omitempty"`
	Suspend                    bool      `json:"suspend"`
	SuccessfulJobsHistoryLimit int32     `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     int32     `json:"failedJobsHistoryLimit"`
	WorkflowMetadata           *metadata `json:"workflowMetadata,omitempty"`
	WorkflowSpec               spec      `json:"workflowSpec"`
}

type spec struct {
	Entrypoint         string                     `json:"entrypoint"`
	ServiceAccountName string                     `json:"serviceAccountName"`
	Suspend            bool                       `json:"suspend,omitempty"`
	Shutdown           string                     `json:"shutdown,omitempty"`
	ArchiveLogs        bool                       `json:"archiveLogs"`
	PodGC              podGC                      `json:"podGC"`
	TTLStrategy        *ttlStrategy               `json:"ttlStrategy,omitempty"`
	SecurityContext    *corev1.PodSecurityContext `json:"securityContext"`
	PodSpecPatch       string                     `json:"podSpecPatch"`
	PodMetadata        *metadata                  `json:"podMetadata,omitempty"`
	WorkflowMetadata   *workflowMetadata          `json:"workflowMetadata,omitempty"`
	Templates          []template                 `json:"templates"`
}

type workflowMetadata struct {
	Annotations map[string]string     `json:"annotations,omitempty"`
	LabelsFrom  map[string]expression `json:"labelsFrom,omitempty"`
}

type expression struct {
	Expression string `json:"expression"`
}

type podGC struct {
	Strategy string `json:"strategy"`
}

type ttlStrategy struct {
	SecondsAfterCompletion int32 `json:"secondsAfterCompletion"`
}

type template struct {
	Name                  string         `json:"name"`
	Steps                 [][]step       `json:"steps,omitempty"`
	Inputs                *parameters    `json:"inputs,omitempty"`
	ActiveDeadlineSeconds int64          `json:"activeDeadlineSeconds,omitempty"`
	RetryStrategy         *retryStrategy `json:"retryStrategy,omitempty"`
	Resource              *resource      `json:"resource,omitempty"`
}

type step struct {
	Name       string      `json:"name"`
	Template   string      `json:"template"`
	Arguments  parameters  `json:"arguments"`
	ContinueOn *continueOn `json:"continueOn,omitempty"`
}

type parameters struct {
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type continueOn struct {
	Error  bool `json:"error"`
	Failed bool `json:"failed"`
}

type retryStrategy struct {
	Limit       int32   `json:"limit"`
	RetryPolicy string  `json:"retryPolicy"`
	Expression  string  `json:"expression"`
	Backoff     backoff `json:"backoff"`
}

type backoff struct {
	Duration string `json:"duration"`
	Factor   int32  `json:"factor"`
	Cap      string `json:"cap"`
}

type resource struct {
	Action            string `json:"action"`
	SetOwnerReference bool   `json:"setOwnerReference"`
	SuccessCondition  string `json:"successCondition"`
	FailureCondition  string `json:"failureCondition"`
	Manifest          string `json:"manifest"`
}
