package runfile

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

const (
	// CalibrateCallSeconds is the time limit of one call of CALIBRATE_IO. It takes about ten minutes,
	// depending on the storage.
	CalibrateCallSeconds = 15 * 60
	// MaxCalibrateSteps bounds the levels of load of a native calibrate in each round: it raises the load until
	// the latency is too high.
	MaxCalibrateSteps = 40
)

// calibrateLoad has what CALIBRATE_IO of a database and the same done by the native engine have in common.
type calibrateLoad struct{ bench.CalibrateWorkload }

func (l calibrateLoad) words(name string) []string {
	return []string{name, human.Count(l.PhysicalDisks, "disk"), fmt.Sprintf("at most %d ms", l.MaxLatencyMilliseconds)}
}

// rounds returns how often it calibrates, the runs that warm caches included.
func (l calibrateLoad) rounds(s Schedule) int64 {
	return int64(s.Repetitions) + int64(bench.OrZero(l.WarmupRuns))
}

type nativeCalibration struct{ calibrateLoad }

func (l nativeCalibration) on(p Plan) []string { return []string{nativeWords, p.Files().words()} }

func (l nativeCalibration) files(f *Files, _ Plan) {
	f.LoadBytes, f.Count, f.SizeBytes = f.LargeReadBytes, l.NativeFiles.Count, l.NativeFiles.Size.Value()
	f.SizeField = "workload.calibrate.nativeFiles.size"
	f.native("workload.calibrate.nativeFiles", l.NativeFiles)
}

func (l nativeCalibration) steps(p Plan) Steps {
	s, rounds := p.Schedule, l.rounds(p.Schedule)
	levels := MaxCalibrateSteps * (int64(s.LevelWarmupSeconds()) + int64(s.DurationSeconds))
	return Steps{Count: rounds * MaxCalibrateSteps, Seconds: s.seconds(rounds, levels)}
}

// LevelWarmupSeconds returns the warm-up of a level of a native calibrate: a quarter of the window, because
// the storage is always under load, or the warm-up of the plan if that is shorter.
func (s Schedule) LevelWarmupSeconds() int32 {
	return min(s.WarmupSeconds, (s.DurationSeconds+3)/4)
}

func (nativeCalibration) level(_ Plan, index int32) (repetition int32, words string) {
	return 0, fmt.Sprintf(", level %d", index)
}

func (nativeCalibration) check(c *checker, p Plan) {
	c.check(p.Clients <= 1, "clients", "is %d, but a calibration is made by one client, which finds the level of load; "+
		"write 1", p.Clients)
	f := p.Files()
	c.nativeBlocks(f)
	c.files("workload.calibrate.nativeFiles.size", f.SizeBytes, f.LargeReadBytes)
}

type databaseCalibration struct{ calibrateLoad }

func (databaseCalibration) on(Plan) []string { return []string{databaseWords} }

func (databaseCalibration) files(f *Files, _ Plan) { f.LoadBytes = f.LargeReadBytes }

// steps has no warm-up, because the procedure has none.
func (l databaseCalibration) steps(p Plan) Steps {
	rounds := l.rounds(p.Schedule)
	return Steps{Count: rounds, Seconds: p.Schedule.seconds(rounds, CalibrateCallSeconds)}
}

func (l databaseCalibration) level(_ Plan, index int32) (repetition int32, words string) {
	warmups := bench.OrZero(l.WarmupRuns)
	if index <= warmups {
		return 0, ", warm-up run"
	}
	return index - warmups, ""
}

func (databaseCalibration) check(*checker, Plan) {}
