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

// calibrateLoad is CALIBRATE_IO of a database, or the same done by the native engine.
type calibrateLoad struct{ bench.CalibrateWorkload }

func (l calibrateLoad) words(name string) []string {
	return []string{name, human.Count(l.PhysicalDisks, "disk"), fmt.Sprintf("at most %d ms", l.MaxLatencyMilliseconds)}
}

func (l calibrateLoad) on(p Plan) []string {
	if p.Database != nil {
		return p.engineWords("")
	}
	f := p.Files()
	return p.engineWords(human.Count(f.Count, "file") + " of " + human.Size(f.SizeBytes))
}

func (l calibrateLoad) files(f *Files, p Plan) {
	f.LoadBytes = f.LargeReadBytes
	if p.Database == nil {
		f.Count, f.SizeBytes = l.NativeFiles.Count, l.NativeFiles.Size.Value()
		f.native("workload.calibrate.nativeFiles", l.NativeFiles)
	}
}

func (l calibrateLoad) steps(p Plan) Steps {
	s, rounds := p.Schedule, int64(p.Schedule.Repetitions)+int64(bench.OrZero(l.WarmupRuns))
	if p.Database != nil { // the procedure has no warm-up
		return Steps{Count: rounds, Seconds: s.seconds(rounds, CalibrateCallSeconds)}
	}
	levels := MaxCalibrateSteps * (int64(s.LevelWarmupSeconds()) + int64(s.DurationSeconds))
	return Steps{Count: rounds * MaxCalibrateSteps, Seconds: s.seconds(rounds, levels)}
}

// LevelWarmupSeconds returns the warm-up of a level of a native calibrate: a quarter of the window, because
// the storage is always under load, or the warm-up of the plan if that is shorter.
func (s Schedule) LevelWarmupSeconds() int32 {
	return min(s.WarmupSeconds, (s.DurationSeconds+3)/4)
}

func (l calibrateLoad) level(p Plan, index int32) (repetition int32, words string) {
	switch warmups := bench.OrZero(l.WarmupRuns); {
	case p.Database == nil: // the calibration chooses its own levels
		return 0, fmt.Sprintf(", level %d", index)
	case index <= warmups:
		return 0, ", warm-up run"
	default:
		return index - warmups, ""
	}
}

func (l calibrateLoad) check(c *checker, p Plan) {
	if p.Database != nil {
		return
	}
	c.check(p.Clients <= 1, "clients", "is %d, but a calibration is made by one client, which finds the level of load; "+
		"write 1", p.Clients)
	f := p.Files()
	c.nativeBlocks(f)
	c.files("workload.calibrate.nativeFiles.size", f.SizeBytes, f.LargeReadBytes)
}
