package runfile

import "strings"

// What a load, a schedule and a comparison are where nobody says otherwise. The
// flags of the programs use them; a test holds the defaults of the CRDs against them.
const (
	DefaultFileBytes = 1 << 30
	DefaultJobs      = 4
	DefaultDepth     = 8
	DefaultDirectory = "nfsbench"

	DefaultPhysicalDisks          = 100 // of a calibration
	DefaultMaxLatencyMilliseconds = 20
	DefaultWarmupRuns             = 1
	DefaultFiles                  = 4
	DefaultScaleBytes             = 80 << 20 // of SLOB
	DefaultScanTableBytes         = 1 << 30
	DefaultWorkUnit               = 64
	DefaultReadAhead              = 4

	DefaultBaselineSeconds = 5
	DefaultWarmupSeconds   = 10
	DefaultDurationSeconds = 60
	DefaultCooldownSeconds = 5

	DefaultAlpha         = 0.05 // accepted rate of false alarms
	DefaultMinimumEffect = 0.02 // as a share: 2 %
	DefaultCorrection    = "Holm"
)

// DefaultBlockBytes is the size of one I/O of a pattern: a block of an Oracle database
// at random, and in order what its scans read at once.
func DefaultBlockBytes(pattern string) int64 {
	if strings.HasPrefix(pattern, "Random") {
		return 8 << 10
	}
	return 1 << 20
}
