package v1alpha1

import "github.com/nfsbench/nfsbench/api/bench"

// Correction is what is done against chance when there are many comparisons.
//
// +kubebuilder:validation:Enum=Holm;None
type Correction string

// The corrections.
const (
	CorrectionHolm Correction = bench.Holm
	CorrectionNone Correction = "None"
)

// Denominator is what a difference is a percentage of.
//
// +kubebuilder:validation:Enum=Baseline;Candidate
type Denominator string

// The denominators.
const (
	DenominatorBaseline  Denominator = "Baseline"
	DenominatorCandidate Denominator = "Candidate"
)

// Significance says when a difference counts as one.
type Significance struct {
	// metrics to compare; without them MeanLatency and Throughput.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=15
	Metrics []bench.Metric `json:"metrics,omitempty"`
	// alpha is the accepted rate of false alarms, for example "0.05".
	// +optional
	// +default="0.05"
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^0\.[0-9]{1,6}$')`,message="write a number between 0 and 1 in quotes, such as '0.05'"
	Alpha string `json:"alpha,omitempty"`
	// minimumEffectPercent is the least difference of the medians that matters,
	// however significant it may be.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinimumEffectPercent *int32 `json:"minimumEffectPercent,omitempty"`
	// correction for the number of comparisons: Holm keeps the rate of false
	// alarms of the whole table at alpha; None keeps that of each line.
	// +optional
	// +default="Holm"
	Correction Correction `json:"correction,omitempty"`
}

// Compare asks for a comparison of cells.
type Compare struct {
	Significance `json:",inline"`
	// baseline names the values that the others are compared with, by axis, for
	// example {client: nfs}. Each other cell is compared with the one that differs
	// from it in these axes only.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=6
	Baseline map[string]ShortName `json:"baseline"`
	// impactOf is what "% impact" is a percentage of. Baseline is the usual
	// meaning; Candidate is what some published tables have computed. Positive is
	// always better than the baseline.
	// +optional
	// +default="Baseline"
	ImpactOf Denominator `json:"impactOf,omitempty"`
}

// Regression compares each scheduled run with the accepted one.
type Regression struct {
	Significance `json:",inline"`
	// history is the number of earlier runs that the noise floor is computed from.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=50
	History int32 `json:"history,omitempty"`
}
