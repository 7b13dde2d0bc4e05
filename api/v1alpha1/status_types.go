package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
)

// NFSBenchmarkStatus is what the operator found. Numbers are integers with
// their unit in their name; unknown values are omitted, never zero.
type NFSBenchmarkStatus struct {
	// observedGeneration is the generation of the spec that this describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is where the run stands.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// verdict says whether the thresholds were met.
	// +optional
	Verdict bench.Verdict `json:"verdict,omitempty"`
	// validity says whether the numbers may be believed.
	// +optional
	Validity bench.Validity `json:"validity,omitempty"`
	// failure is the kind of the failure: after Infrastructure, another attempt may succeed.
	// +optional
	Failure FailureKind `json:"failure,omitempty"`
	// message is the state in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// conditions: Ready, Reconciling and Stalled follow kstatus;
	// StorageProvisioned, PreflightPassed, DatabaseReady, ProtocolVerified, ResultsCollected, CleanedUp and
	// Succeeded are ours.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// startTime is when the pods were created.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// holdEndTime is when the run gives its target back at the latest: policy.limits.maxHold and 30 minutes after it
	// got it. Only a database that may still write keeps it longer.
	// +optional
	HoldEndTime *metav1.Time `json:"holdEndTime,omitempty"`
	// queue is where the run waits while another uses its target.
	// +optional
	Queue *QueueStatus `json:"queue,omitempty"`
	// progress of a run under way.
	// +optional
	Progress *ProgressStatus `json:"progress,omitempty"`
	// resolved is the storage and the protocol that the run uses.
	// +optional
	Resolved *ResolvedStatus `json:"resolved,omitempty"`
	// planHash is the SHA-256 of the plan that the run uses, in hexadecimal digits. The operator uses no
	// plan of another hash.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PlanHash string `json:"planHash,omitempty"`
	// summary holds the headline numbers: those of the median repetition.
	// +optional
	Summary *Summary `json:"summary,omitempty"`
	// capacity holds the highest rate within each bound of latency, where the workload asks
	// for it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Capacity []CapacityStatus `json:"capacity,omitempty"`
	// curve holds the levels of load of a search for capacity, by their offered rate. The
	// result has all of it where this is absent for its size.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=48
	Curve []CurvePoint `json:"curve,omitempty"`
	// steps holds the numbers of each level of load, where there are several.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Steps []StepStatus `json:"steps,omitempty"`
	// paths holds what went through each path.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Paths []PathStatus `json:"paths,omitempty"`
	// storageNodes holds what the storage itself counted.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	StorageNodes []StorageNodeStatus `json:"storageNodes,omitempty"`
	// findings explain the numbers, most severe first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Findings []bench.Finding `json:"findings,omitempty"`
	// resultRef is where the whole result is kept.
	// +optional
	ResultRef *ResultReference `json:"resultRef,omitempty"`
}

// Phase is where a run stands. It is computed from conditions and facts on
// every pass and never read back.
//
// +kubebuilder:validation:Enum=Pending;Queued;Provisioning;Preparing;Running;Collecting;Succeeded;Failed;Cancelled
type Phase string

// The phases, in order.
const (
	PhasePending      Phase = "Pending"      // accepted, or suspended
	PhaseQueued       Phase = "Queued"       // another run uses the target
	PhaseProvisioning Phase = "Provisioning" // storage is made ready
	PhasePreparing    Phase = "Preparing"    // pods start, files are filled
	PhaseRunning      Phase = "Running"      // baseline, warm-up, measurement
	PhaseCollecting   Phase = "Collecting"   // results are gathered
	PhaseSucceeded    Phase = "Succeeded"    // ran to its end
	PhaseFailed       Phase = "Failed"       // did not
	PhaseCancelled    Phase = "Cancelled"    // was stopped by its user
)

// FailureKind says what kind of failure ended a run. It is a scalar because a step
// of Argo Workflows can read nothing else.
//
// +kubebuilder:validation:Enum=Infrastructure;Benchmark
type FailureKind string

// The kinds of failure.
const (
	// FailureInfrastructure is one of the cluster: an image that could not be
	// pulled, a pod that could not be placed, was refused or lost. The same run may
	// go well another time.
	FailureInfrastructure FailureKind = "Infrastructure"
	// FailureBenchmark is one of what was asked or of what was measured.
	FailureBenchmark FailureKind = "Benchmark"
)

// QueueStatus is a place in the queue for a target.
type QueueStatus struct {
	// position counts from 1, which is next.
	// +required
	Position int32 `json:"position"`
	// behind is the benchmark that uses the target, as namespace/name.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Behind string `json:"behind,omitempty"`
}

// ProgressStatus is the progress of a run.
type ProgressStatus struct {
	// step that the slowest client is at: Connect, Fill, Wait, Baseline,
	// Warmup, Measure, Cooldown, Verify or Done.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Step string `json:"step,omitempty"`
	// repetition under way, from 1.
	// +optional
	Repetition int32 `json:"repetition,omitempty"`
	// percent of the whole run.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +required
	Percent int32 `json:"percent"`
	// etaSeconds to the end; absent while it cannot be known.
	// +optional
	ETASeconds *int64 `json:"etaSeconds,omitempty"`
	// throughputMegabytesPerSecond of the last second, all clients.
	// +optional
	ThroughputMegabytesPerSecond *int64 `json:"throughputMegabytesPerSecond,omitempty"`
}

// ResolvedStatus is the spec as it was resolved in this cluster.
type ResolvedStatus struct {
	// export in use: its path on the server. The addresses are in paths.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Export string `json:"export,omitempty"`
	// paths in use.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Paths []bench.ResolvedPath `json:"paths,omitempty"`
	// array is what the storage said it is, and where the volume behind the export was
	// when the run began, for example "ONTAP 9.14.1, cluster naclu1, SVM vsdb122b, volume
	// oradata on aggr1 of node fas-a".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Array string `json:"array,omitempty"`
	// mountOptions asked of a kernel mount.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	MountOptions []string `json:"mountOptions,omitempty"`
	// oranfstab that Direct NFS used.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Oranfstab string `json:"oranfstab,omitempty"`
	// volumeName is the PersistentVolume behind a claim, also while Trident makes it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VolumeName string `json:"volumeName,omitempty"`
}

// ResultReference names the ConfigMap in the namespace of its owner that holds the
// whole result.
type ResultReference struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// bytes of its contents.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
}
