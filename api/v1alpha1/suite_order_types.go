package v1alpha1

// SuiteOrder is the order of the benchmarks of a suite.
//
// +kubebuilder:validation:Enum=Interleaved;Sequential;Random
type SuiteOrder string

// The orders.
const (
	OrderInterleaved SuiteOrder = "Interleaved"
	OrderSequential  SuiteOrder = "Sequential"
	OrderRandom      SuiteOrder = "Random"
)

// BlockOrder is the order of the cells within one round.
//
// +kubebuilder:validation:Enum=Randomized;ABBA
type BlockOrder string

// The orders within a round.
const (
	BlocksRandomized BlockOrder = "Randomized"
	BlocksABBA       BlockOrder = "ABBA"
)

// Shutdown is how a run is ended before its time.
//
// +kubebuilder:validation:Enum=Stop
type Shutdown string

// ShutdownStop ends a run.
const ShutdownStop Shutdown = "Stop"

// Schedule says when a suite runs.
type Schedule struct {
	// cron is the time in five fields: minute, hour, day of the month, number
	// of the month, day of the week. For example "0 2 * * 0".
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *([^\\\\s=]+ +){4}[^\\\\s=]+ *$')",message="schedule.cron needs five fields with spaces between them: minute, hour, day, month and day of the week (the time zone has its own field); for example \"0 2 * * 0\" for Sundays at 02:00"
	Cron string `json:"cron"`
	// timeZone of cron, by its IANA name, for example Europe/Vienna.
	// +optional
	// +default="Etc/UTC"
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// concurrencyPolicy says what happens when a run is due while another is
	// under way: Forbid leaves it out, Replace ends the other.
	// +optional
	// +default="Forbid"
	// +kubebuilder:validation:Enum=Forbid;Replace
	ConcurrencyPolicy string `json:"concurrencyPolicy,omitempty"`
	// startingDeadlineSeconds after its time in which a missed run still starts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	StartingDeadlineSeconds *int32 `json:"startingDeadlineSeconds,omitempty"`
	// suspend starts no new runs. The one under way goes on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// historyLimit is how many finished runs are kept, with their benchmarks and
	// result objects. The record of the accepted run is kept beside them.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	HistoryLimit int32 `json:"historyLimit,omitempty"`
}
