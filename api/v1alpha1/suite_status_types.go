package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
)

// NFSBenchmarkSuiteStatus is how far a suite is, and what came out of its newest
// run. Numbers are integers with their unit in their name or beside them; what
// is not known is absent, never zero.
type NFSBenchmarkSuiteStatus struct {
	// observedGeneration is the generation of the spec that this describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is where the suite stands.
	// +optional
	Phase SuitePhase `json:"phase,omitempty"`
	// verdict of the newest finished run.
	// +optional
	Verdict SuiteVerdict `json:"verdict,omitempty"`
	// message is the state, or the answer, in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// conditions: Ready, Reconciling and Stalled follow kstatus; MatrixValid,
	// WorkflowsAvailable and Succeeded are ours.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// matrix is the expanded matrix.
	// +optional
	Matrix *MatrixStatus `json:"matrix,omitempty"`
	// run is the newest run.
	// +optional
	Run *SuiteRunStatus `json:"run,omitempty"`
	// cells hold the numbers of each cell of that run, so far.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Cells []CellStatus `json:"cells,omitempty"`
	// comparisons with the baseline, one for each cell, step and metric.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Comparisons []ComparisonStatus `json:"comparisons,omitempty"`
	// left counts the lines that did not fit into this status; the record of the
	// run has them all.
	// +optional
	Left *int32 `json:"left,omitempty"`
	// regression is how a scheduled run compares with the accepted one.
	// +optional
	Regression *RegressionStatus `json:"regression,omitempty"`
	// history of the runs, newest first.
	// +optional
	// +listType=map
	// +listMapKey=run
	// +kubebuilder:validation:MaxItems=51
	History []SuiteHistoryEntry `json:"history,omitempty"`
	// findings explain the numbers of the suite, most severe first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Findings []bench.Finding `json:"findings,omitempty"`
	// resultRef is where the whole record of the newest run is kept.
	// +optional
	ResultRef *ResultReference `json:"resultRef,omitempty"`
	// handled are the values of the annotations that the controller has acted on. It acts
	// on each value once.
	// +optional
	Handled *HandledAnnotations `json:"handled,omitempty"`
}

// SuitePhase is where a suite stands.
//
// +kubebuilder:validation:Enum=Pending;Running;Suspended;Scheduled;Succeeded;Failed;Cancelled
type SuitePhase string

// The phases.
const (
	SuitePending   SuitePhase = "Pending"   // not started: not valid, no Argo, or just made
	SuiteRunning   SuitePhase = "Running"   // a run is under way
	SuiteSuspended SuitePhase = "Suspended" // by spec.suspend or spec.schedule.suspend
	SuiteScheduled SuitePhase = "Scheduled" // waits for its time
	SuiteSucceeded SuitePhase = "Succeeded" // all benchmarks of the run have
	SuiteFailed    SuitePhase = "Failed"    // some have not, or the run broke
	SuiteCancelled SuitePhase = "Cancelled" // by spec.shutdown
)

// SuiteVerdict says what a run showed: Regressed of a scheduled run that is worse
// than the accepted one, otherwise the worst verdict of its benchmarks.
//
// +kubebuilder:validation:Enum=Pass;Fail;Regressed;Inconclusive;NotEvaluated
type SuiteVerdict string

// The verdicts.
const (
	SuitePass                      = SuiteVerdict(bench.VerdictPass)
	SuiteFail                      = SuiteVerdict(bench.VerdictFail)
	SuiteRegressed    SuiteVerdict = "Regressed"
	SuiteInconclusive              = SuiteVerdict(bench.VerdictInconclusive)
	SuiteNotEvaluated              = SuiteVerdict(bench.VerdictNotEvaluated)
)

// MatrixStatus is the expanded matrix.
type MatrixStatus struct {
	// cells of the matrix.
	// +required
	Cells int32 `json:"cells"`
	// benchmarks of a run: cells times repetitions.
	// +required
	Benchmarks int32 `json:"benchmarks"`
}

// SuiteRunStatus is one run.
type SuiteRunStatus struct {
	// name of the run; the label nfsbench.io/suite-run of its benchmarks.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// workflow that runs it; a resubmission is another one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Workflow string `json:"workflow,omitempty"`
	// startTime of the run.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime of the run.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// finished benchmarks, of status.matrix.benchmarks. Attempts that were
	// repeated count once.
	// +required
	Finished int32 `json:"finished"`
	// succeeded is how many of them have.
	// +required
	Succeeded int32 `json:"succeeded"`
	// failed is how many have not.
	// +required
	Failed int32 `json:"failed"`
	// retried attempts.
	// +optional
	Retried int32 `json:"retried,omitempty"`
	// suspect is how many succeeded with numbers that may not be believed
	// (validity Suspect or Invalid).
	// +optional
	Suspect int32 `json:"suspect,omitempty"`
	// current is the benchmark under way.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Current string `json:"current,omitempty"`
	// percent of the run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent,omitempty"`
	// etaSeconds to the end, by what the finished benchmarks took.
	// +optional
	ETASeconds *int64 `json:"etaSeconds,omitempty"`
	// failures, the first ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Failures []BenchmarkFailure `json:"failures,omitempty"`
}

// BenchmarkFailure is a benchmark of a suite that did not succeed.
type BenchmarkFailure struct {
	// benchmark is its name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Benchmark string `json:"benchmark"`
	// message: the reason of its condition Succeeded, and its status.message.
	// +optional
	// +kubebuilder:validation:MaxLength=324
	Message string `json:"message,omitempty"`
}

// CellStatus holds the numbers of one cell: over its repetitions.
type CellStatus struct {
	// cell is its name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Cell string `json:"cell"`
	// step of a benchmark that has several levels of load, as kind=users.
	// +optional
	// +kubebuilder:validation:MaxLength=48
	Step string `json:"step,omitempty"`
	// metric of these numbers.
	// +required
	Metric bench.Metric `json:"metric"`
	// unit of these numbers: B/s, 1/s, us, us/MiB or permille.
	// +required
	// +kubebuilder:validation:MaxLength=8
	Unit string `json:"unit"`
	// n is the number of repetitions that gave one.
	// +required
	N int32 `json:"n"`
	// median of them.
	// +required
	Median int64 `json:"median"`
	// medianLow and medianHigh hold the median with 95 % confidence or more, by
	// order statistics; absent with fewer than six repetitions.
	// +optional
	MedianLow *int64 `json:"medianLow,omitempty"`
	// medianHigh is the upper bound.
	// +optional
	MedianHigh *int64 `json:"medianHigh,omitempty"`
}

// ComparisonStatus is one line of the comparison: a cell beside its baseline.
// Positive impact is better than the baseline, whatever the metric.
type ComparisonStatus struct {
	// cell that is compared.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Cell string `json:"cell"`
	// baseline cell.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Baseline string `json:"baseline"`
	// step of benchmarks with several levels of load.
	// +optional
	// +kubebuilder:validation:MaxLength=48
	Step string `json:"step,omitempty"`
	// metric that is compared.
	// +required
	Metric bench.Metric `json:"metric"`
	// impactBasisPoints is the mean of the impacts of all pairs in hundredths of a percent, for
	// example -325.
	// +required
	ImpactBasisPoints int64 `json:"impactBasisPoints"`
	// p is the two-sided p of the Mann-Whitney test, after the correction for the size
	// of the table where there is one.
	// +optional
	P Decimal `json:"p,omitempty"`
	// outcome is the answer.
	// +required
	Outcome bench.Outcome `json:"outcome"`
}

// Decimal is a number with a decimal point, as text, for languages do not agree on floats.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^-?[0-9]+\.[0-9]+$`
type Decimal string

// RegressionStatus is how a scheduled run compares with the accepted one.
type RegressionStatus struct {
	// noiseFloorBasisPoints is how far the medians of unchanged runs lie apart, at its largest over
	// the cells, by the history; in hundredths of a percent.
	// +optional
	NoiseFloorBasisPoints *int64 `json:"noiseFloorBasisPoints,omitempty"`
	// changes are the lines that are worse or better, worst first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Changes []RegressionChange `json:"changes,omitempty"`
	// message in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// RegressionChange is one line that is worse or better than in the accepted run.
type RegressionChange struct {
	// cell that changed.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Cell string `json:"cell"`
	// step of benchmarks with several levels of load.
	// +optional
	// +kubebuilder:validation:MaxLength=48
	Step string `json:"step,omitempty"`
	// metric that changed.
	// +required
	Metric bench.Metric `json:"metric"`
	// shiftBasisPoints is the Hodges-Lehmann estimate of the difference, in hundredths of a percent
	// of the accepted run's median. Positive is better, whatever the metric.
	// +optional
	ShiftBasisPoints *int64 `json:"shiftBasisPoints,omitempty"`
	// outcome is the answer.
	// +required
	Outcome bench.Outcome `json:"outcome"`
}

// SuiteHistoryEntry is one run of the history.
type SuiteHistoryEntry struct {
	// run is its name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Run string `json:"run"`
	// phase at its end.
	// +optional
	Phase SuitePhase `json:"phase,omitempty"`
	// verdict at its end.
	// +optional
	Verdict SuiteVerdict `json:"verdict,omitempty"`
	// completionTime of the run.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// accepted says that it is the baseline of regressions.
	// +optional
	Accepted bool `json:"accepted,omitempty"`
}

// HandledAnnotations are the values of annotations that were acted on.
type HandledAnnotations struct {
	// rerun is the value of nfsbench.io/rerun.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Rerun string `json:"rerun,omitempty"`
	// resubmit is the value of nfsbench.io/resubmit.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Resubmit string `json:"resubmit,omitempty"`
}

// IsFinished reports whether the newest run is over, one way or another.
func (p SuitePhase) IsFinished() bool {
	return p == SuiteSucceeded || p == SuiteFailed || p == SuiteCancelled
}
