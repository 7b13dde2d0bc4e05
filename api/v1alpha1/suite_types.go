package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NFSBenchmarkSuite is a matrix of benchmarks: a template, axes that vary it,
// repetitions, and the comparison that it is made for. Argo Workflows runs it,
// one benchmark at a time, once or by a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=nfsbs,categories=nfsbench
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Cells",type=integer,JSONPath=`.status.matrix.cells`
// +kubebuilder:printcolumn:name="Done",type=integer,JSONPath=`.status.run.finished`
// +kubebuilder:printcolumn:name="Of",type=integer,JSONPath=`.status.matrix.benchmarks`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Workflow",type=string,priority=1,JSONPath=`.status.run.workflow`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="metadata.name of a suite has at most 40 characters, because the names of its workflows and benchmarks begin with it: shorten it"
type NFSBenchmarkSuite struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The annotations
	// nfsbench.io/rerun, nfsbench.io/resubmit and nfsbench.io/accept-run say
	// what to do with runs; see the constants of these names.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec declares the matrix. What a run depends on can be changed in a suite
	// with a schedule only, for the runs to come; suspend, shutdown, schedule,
	// regression and ttlSecondsAfterFinished can be changed in any.
	// +required
	Spec NFSBenchmarkSuiteSpec `json:"spec"`
	// status is how far the suite is, and what came out of its newest run.
	// +optional
	Status NFSBenchmarkSuiteStatus `json:"status,omitempty"`
}

// NFSBenchmarkSuiteList is a list of NFSBenchmarkSuites.
//
// +kubebuilder:object:root=true
type NFSBenchmarkSuiteList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the suites.
	// +required
	Items []NFSBenchmarkSuite `json:"items"`
}

// The annotations of a suite. Each change of one is acted on once.
const (
	// AnnotationRerun with any new value, for example a date, starts a new run
	// of a suite without a schedule. The results of the runs before are kept.
	AnnotationRerun = "nfsbench.io/rerun"
	// AnnotationResubmit with any new value goes on with the newest run where it
	// ended: what has succeeded is not run again.
	AnnotationResubmit = "nfsbench.io/resubmit"
	// AnnotationAcceptRun names a run whose numbers are the accepted ones: it
	// becomes the baseline of regressions, so that those it shows are
	// acknowledged.
	AnnotationAcceptRun = "nfsbench.io/accept-run"
)

// The labels of the benchmarks of a suite, and of its workflows.
const (
	LabelSuite      = "nfsbench.io/suite"      // name of the suite
	LabelSuiteRun   = "nfsbench.io/suite-run"  // name of the run
	LabelCell       = "nfsbench.io/cell"       // name of the cell
	LabelRepetition = "nfsbench.io/repetition" // from 1
	LabelPosition   = "nfsbench.io/position"   // in the order of the run, from 1
	LabelAttempt    = "nfsbench.io/attempt"    // from 0; more after an error of the infrastructure
)

// NFSBenchmarkSuiteSpec declares a matrix of benchmarks.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || has(oldSelf.schedule) || (self.template == oldSelf.template && has(self.axes) == has(oldSelf.axes) && (!has(self.axes) || self.axes == oldSelf.axes) && has(self.include) == has(oldSelf.include) && (!has(self.include) || self.include == oldSelf.include) && has(self.exclude) == has(oldSelf.exclude) && (!has(self.exclude) || self.exclude == oldSelf.exclude) && self.repetitions == oldSelf.repetitions && self.order == oldSelf.order && self.blocks == oldSelf.blocks)",message="a suite without a schedule is one experiment and cannot be changed: create another suite, or annotate this one with nfsbench.io/rerun to run it again as it is"
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(oldSelf.schedule)",message="schedule can neither be added nor removed: set schedule.suspend to pause it, or create another suite"
// +kubebuilder:validation:XValidation:rule="!has(self.compare) || !has(self.compare.alpha) || double(self.compare.alpha) > (self.repetitions < 2 ? (has(self.compare.metrics) && self.compare.metrics == ['Capacity'] ? 0.0 : 1.0) : self.repetitions == 2 ? 0.33334 : self.repetitions == 3 ? 0.1 : self.repetitions == 4 ? 0.028572 : self.repetitions == 5 ? 0.0079366 : self.repetitions == 6 ? 0.0021646 : 0.0)",message="spec.repetitions is too small for compare.alpha: with n repetitions of each cell the smallest two-sided p of the Mann-Whitney test is 2/C(2n,n), which is 0.33 for n=2, 0.1 for 3, 0.029 for 4, 0.0079 for 5 and 0.0022 for 6, so no difference could ever be significant: raise repetitions or alpha. One repetition is enough where metrics is Capacity alone, which has an interval of its own"
// +kubebuilder:validation:XValidation:rule="!has(self.compare) || (has(self.axes) && self.compare.baseline.all(a, self.axes.exists(x, x.name == a)))",message="compare.baseline names an axis that spec.axes does not have: use the names in spec.axes, or add the axis"
// +kubebuilder:validation:XValidation:rule="!has(self.compare) || !has(self.axes) || self.compare.baseline.all(a, !self.axes.exists(x, x.name == a) || self.axes.exists(x, x.name == a && x.values.exists(v, v.name == self.compare.baseline[a])))",message="compare.baseline names a value that its axis does not have: use the name of one of axes[].values"
// +kubebuilder:validation:XValidation:rule="!has(self.regression) || has(self.schedule)",message="spec.regression compares scheduled runs: give spec.schedule, or remove it and use spec.compare"
type NFSBenchmarkSuiteSpec struct {
	// template is the benchmark that the axes vary. It must be a valid
	// NFSBenchmark by itself.
	// +required
	Template BenchmarkTemplate `json:"template"`
	// axes are what varies; the cells of the matrix are all combinations of
	// their values. Without axes there is one cell, the template.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=6
	Axes []Axis `json:"axes,omitempty"`
	// exclude removes cells: all that have all the values of one entry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Exclude []CellSelector `json:"exclude,omitempty"`
	// include adds single cells beside the combinations.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Include []ExtraCell `json:"include,omitempty"`
	// repetitions of each cell, each a benchmark of its own. Comparisons want
	// ten; fewer than four can show no difference at all.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Repetitions int32 `json:"repetitions,omitempty"`
	// order of the benchmarks. Interleaved runs each cell once, then each cell a
	// second time, and so on, so that what drifts over the hours meets all cells
	// alike; blocks says in which order within each round. Sequential runs all
	// repetitions of a cell before the next. Random shuffles everything.
	// +optional
	// +default="Interleaved"
	Order SuiteOrder `json:"order,omitempty"`
	// blocks is the order of the cells within one round of an Interleaved suite:
	// Randomized shuffles each round; ABBA goes forth in one and back in the
	// next, which cancels a linear drift.
	// +optional
	// +default="Randomized"
	Blocks BlockOrder `json:"blocks,omitempty"`
	// seed of the random order. The same seed gives the same order. By default it is
	// derived from the suite, and status.matrix.seed shows it.
	// +optional
	Seed *int64 `json:"seed,omitempty"`
	// compare asks for the comparison of cells with a baseline among them.
	// +optional
	Compare *Compare `json:"compare,omitempty"`
	// schedule runs the suite again and again, by an Argo CronWorkflow.
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`
	// regression compares each scheduled run with the accepted one. Without it
	// the defaults hold.
	// +optional
	Regression *Regression `json:"regression,omitempty"`
	// failFast ends the run with the first benchmark that fails. Otherwise the
	// others run, and the suite fails at its end.
	// +optional
	FailFast bool `json:"failFast,omitempty"`
	// retries of one benchmark, after an error of the infrastructure only: an
	// image that could not be pulled, a pod that could not be placed or was lost,
	// a step of Argo that broke. A benchmark that failed by itself is a result.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Retries *int32 `json:"retries,omitempty"`
	// ttlSecondsAfterFinished removes a run's workflow, benchmarks and their
	// result objects so long after its end. The suite's own record of the run,
	// from which comparisons are made, is kept. Without it all are kept.
	// +optional
	// +kubebuilder:validation:Minimum=60
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// suspend lets the benchmark under way end and starts no other.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// shutdown ends the run under way: Stop lets nothing new begin and cancels
	// the benchmark under way, which keeps what was measured.
	// +optional
	Shutdown Shutdown `json:"shutdown,omitempty"`
	// serviceAccountName of the workflow's pods; without it the operator makes
	// one with the few rights that they need.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// BenchmarkTemplate is a benchmark that a suite makes many of.
type BenchmarkTemplate struct {
	// metadata of the benchmarks: labels and annotations.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitempty"`
	// spec of the benchmarks.
	// +required
	Spec NFSBenchmarkSpec `json:"spec"`
}

// TemplateMetadata is the metadata of the benchmarks that a template makes.
type TemplateMetadata struct {
	// labels of each benchmark. Those of nfsbench.io are set by the suite.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of each benchmark.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Axis is one thing that varies.
type Axis struct {
	// name of the axis, for example protocol, path or users.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')`,message="write lower case letters, digits and -, such as nfsv4-1"
	Name string `json:"name"`
	// values that it takes, in their order.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Values []AxisValue `json:"values"`
}

// AxisValue is a named change of the template.
type AxisValue struct {
	// name of the value, for example nfsv3, local or 16.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')`,message="write lower case letters, digits and -, such as nfsv4-1"
	Name string `json:"name"`
	// patch of the template's spec, as a strategic merge patch: members replace
	// those of the template, null removes one, lists are replaced. Patches of
	// several axes apply in the order of the axes. What comes out is held against
	// the schema of NFSBenchmark before anything runs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Patch *runtime.RawExtension `json:"patch,omitempty"`
}

// CellSelector selects cells by their values.
type CellSelector struct {
	// values by the names of axes.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=6
	Values map[string]ShortName `json:"values"`
}

// ShortName is the name of a value.
//
// +kubebuilder:validation:MaxLength=20
type ShortName string

// ExtraCell is a cell that is no combination of the axes' values.
type ExtraCell struct {
	// name of the cell.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')`,message="write lower case letters, digits and -, such as nfsv4-1"
	Name string `json:"name"`
	// values by the names of axes, whose patches apply first. May be fewer than
	// there are axes.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	Values map[string]ShortName `json:"values,omitempty"`
	// patch of the template's spec, after those of the values.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Patch *runtime.RawExtension `json:"patch,omitempty"`
}
