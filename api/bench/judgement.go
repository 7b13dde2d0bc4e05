package bench

// Verdict says whether the thresholds were met.
//
// +kubebuilder:validation:Enum=Pass;Fail;Inconclusive;NotEvaluated
type Verdict string

// The verdicts.
const (
	VerdictPass         Verdict = "Pass"
	VerdictFail         Verdict = "Fail"
	VerdictInconclusive Verdict = "Inconclusive"
	VerdictNotEvaluated Verdict = "NotEvaluated"
)

// Validity says whether the numbers may be believed.
//
// +kubebuilder:validation:Enum=Valid;Suspect;Invalid
type Validity string

// The validities.
const (
	ValidityValid   Validity = "Valid"
	ValiditySuspect Validity = "Suspect"
	ValidityInvalid Validity = "Invalid"
)

// Finding explains something about the numbers. docs/findings.md lists all.
type Finding struct {
	// code is stable.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Code string `json:"code"`
	// severity of the finding.
	// +required
	Severity Severity `json:"severity"`
	// message says what was seen and what to do.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
}

// Severity of a finding.
//
// +kubebuilder:validation:Enum=Info;Warning;Error
type Severity string

// The severities.
const (
	SeverityInfo    Severity = "Info"
	SeverityWarning Severity = "Warning"
	SeverityError   Severity = "Error"
)

// Locality says whether an address is on the node that owns the volume.
//
// +kubebuilder:validation:Enum=Local;Remote
type Locality string

// The localities.
const (
	LocalityLocal  Locality = "Local"
	LocalityRemote Locality = "Remote"
)

// PathRole is what a path is for.
//
// +kubebuilder:validation:Enum=DataServer
type PathRole string

// The roles.
const (
	PathDataServer PathRole = "DataServer"
	// PathMetadata is the role of the server that gives out the layouts. Its paths have none.
	PathMetadata PathRole = "Metadata"
)

// The states of a path.
const (
	PathUp      = "Up"
	PathDown    = "Down"
	PathMissing = "Missing" // declared and never connected
)

// Outcome is the answer of a comparison.
//
// +kubebuilder:validation:Enum=Better;Worse;NoDifference;Negligible;Unknown
type Outcome string

// The outcomes.
const (
	OutcomeBetter       Outcome = "Better"       // significant, and large enough
	OutcomeWorse        Outcome = "Worse"        // significant, and large enough
	OutcomeNoDifference Outcome = "NoDifference" // not significant
	OutcomeNegligible   Outcome = "Negligible"   // significant, but smaller than what matters
	OutcomeUnknown      Outcome = "Unknown"      // too few numbers
)

// Holm is the correction of a comparison where none is given.
const Holm = "Holm"
