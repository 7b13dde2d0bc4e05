package runfile

import (
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// SuiteRunVersion is the version that every record of a suite's run names.
const SuiteRunVersion = "nfsbench.io/suite-run/v1"

// SuitePointsVersion is the version that the numbers of a benchmark name.
const SuitePointsVersion = "nfsbench.io/suite-points/v1"

// SuiteRun is the record of one run of a suite: what each benchmark gave, in the
// order in which they ran. Comparisons are made from it and not kept in it, so
// that they can be made again.
type SuiteRun struct {
	Version   string    `json:"version" jsonschema:"enum=nfsbench.io/suite-run/v1"`
	Suite     string    `json:"suite"`
	Namespace string    `json:"namespace,omitempty"`
	Run       string    `json:"run"` // name of the run
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"` // absent while it is under way
	// Workflow that ran it; of several, the last.
	Workflow string `json:"workflow,omitempty"`
	// Phase at its end: Succeeded, Failed or Cancelled; with Reason and Message,
	// which say why it is not Succeeded.
	Phase     string        `json:"phase,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	Message   string        `json:"message,omitempty"`
	Retried   int32         `json:"retried,omitempty"` // attempts that were not the last of their benchmark
	Settings  SuiteSettings `json:"settings"`
	Cells     []SuiteCell   `json:"cells"`
	Results   []SuiteResult `json:"results,omitempty"` // one for each cell and repetition, by position
	Simulated bool          `json:"simulated,omitempty"`
}

// SuiteSettings are the settings of the suite.
type SuiteSettings struct {
	Repetitions int32  `json:"repetitions"`
	Order       string `json:"order"`            // Interleaved, Sequential or Random
	Blocks      string `json:"blocks,omitempty"` // Randomized or ABBA
	Seed        int64  `json:"seed"`
	// Compare is absent where no comparison was asked for.
	Compare *SuiteCompare `json:"compare,omitempty"`
	// Regression holds for runs by a schedule.
	Regression *SuiteSignificance `json:"regression,omitempty"`
}

// SuiteCompare says which cells are compared.
type SuiteCompare struct {
	SuiteSignificance
	Baseline map[string]string `json:"baseline"` // values by axis
	ImpactOf string            `json:"impactOf" jsonschema:"enum=Baseline,enum=Candidate"`
}

// SuiteSignificance says when a difference counts.
type SuiteSignificance struct {
	Metrics       []string `json:"metrics"`
	Alpha         float64  `json:"alpha"`
	MinimumEffect float64  `json:"minimumEffect"` // as a share: 0.02 is 2 %
	Correction    string   `json:"correction" jsonschema:"enum=Holm,enum=None"`
}

// SuiteCell is one cell of the matrix.
type SuiteCell struct {
	Name   string      `json:"name"`
	Values []SuiteAxis `json:"values,omitempty"` // in the order of the axes
}

// SuiteAxis is the value of one axis.
type SuiteAxis struct {
	Axis  string `json:"axis"`
	Value string `json:"value"`
}

// SuiteResult is the result of one benchmark of a suite.
type SuiteResult struct {
	Cell       string    `json:"cell"`
	Repetition int32     `json:"repetition"` // from 1
	Position   int32     `json:"position"`   // in the order of the run, from 1
	Attempt    int32     `json:"attempt,omitempty"`
	Benchmark  string    `json:"benchmark"` // name of the NFSBenchmark
	Phase      string    `json:"phase"`
	Verdict    string    `json:"verdict,omitempty"`
	Validity   string    `json:"validity,omitempty"`
	Reason     string    `json:"reason,omitempty"` // why it did not succeed
	Message    string    `json:"message,omitempty"`
	Findings   []string  `json:"findings,omitempty"` // codes
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	// Points are the numbers: one without a step, or one for each step of a
	// benchmark with several levels of load.
	Points []SuitePoint `json:"points,omitempty"`
}

// SuitePoints are the numbers of one benchmark, as a suite compares them. The controller
// computes them once, when it judges the result, and keeps them beside the result.
type SuitePoints struct {
	Version string       `json:"version"` // SuitePointsVersion
	Points  []SuitePoint `json:"points"`
}

// SuitePoint holds the numbers of one benchmark, or of one step of it.
type SuitePoint struct {
	Step string `json:"step,omitempty"` // for example Users=8
	// Metrics by their name in the API, in the unit of the judge. What is
	// not known is absent.
	Metrics map[string]float64 `json:"metrics"`
	// Intervals contain a metric with 95 % confidence, for metrics with an interval from one run.
	Intervals   map[string]SuiteInterval `json:"intervals,omitempty"`
	WirePercent *float64                 `json:"wirePercent,omitempty"` // of the wire limit
	Knee        bool                     `json:"knee,omitempty"`
}

// SuiteInterval contains a metric, in the unit of the metric.
type SuiteInterval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Axes returns the axes of a suite and their values, both in the order of its cells.
func (r SuiteRun) Axes() (order []string, values map[string][]string) {
	values = map[string][]string{}
	for _, c := range r.Cells {
		for _, v := range c.Values {
			if values[v.Axis] == nil {
				order = append(order, v.Axis)
			}
			if !slices.Contains(values[v.Axis], v.Value) {
				values[v.Axis] = append(values[v.Axis], v.Value)
			}
		}
	}
	return order, values
}

// Defaults of a comparison, as in the CRD of suites.
const (
	DefaultAlpha         = 0.05 // accepted rate of false alarms
	DefaultMinimumEffect = 0.02 // as a share: 2 %
	DefaultCorrection    = bench.Holm
)
