package plan

import (
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	slowFillBytesPerSec  = 50_000_000 // slower than any storage that is worth a benchmark
	slowLoadBytesPerSec  = 5_000_000  // rows of SQL, and their index
	startAllowanceSecond = 180        // images, scheduling, mounts
	restartSeconds       = 900        // SHUTDOWN IMMEDIATE, and a start without creating anything
	mostFillSeconds      = 86_400     // for the data, in a timeout
	endlessSeconds       = 3650 * 86_400
	redoGroups           = 4         // of redoLogSize
	imageRedoBytes       = 200 << 20 // each redo log of an image
)

// timeout returns the user's timeout, or the time of all parts on slow storage: a run must end by itself even if
// nothing answers any more.
func timeout(b *v1alpha1.NFSBenchmark, p runfile.Plan) int32 {
	if t := b.Spec.Run.TimeoutSeconds; t != nil {
		return *t
	}
	parts := p.ScheduledSteps().Seconds + int64(p.Schedule.CooldownSeconds)
	parts += min(fillSeconds(p), mostFillSeconds) + int64(p.VerifyLimit().Seconds())
	parts += startAllowanceSecond + int64(p.Engine.MountTimeoutSeconds)
	if p.Database == nil {
		parts += int64(p.Engine.CallTimeoutSeconds) // the last I/Os, if the storage stands still at the end
	}
	if d := bench.OrZero(p.Database); d.Kind == runfile.DatabaseContainer {
		// The database starts once for its creation, and once more with its parameters.
		parts += int64(d.StartupTimeoutSeconds) + restartSeconds
		// Redo logs and undo are written in full when they are created.
		redo := d.RedoLogBytes
		if d.RedoDirectory != "" && redo == 0 {
			redo = imageRedoBytes
		}
		parts += (redoGroups*redo + d.UndoBytes + d.TablespaceBytes) / slowFillBytesPerSec
	}
	return int32(parts) //nolint:gosec // bounded by the CRD: far below 2^31
}

// FillTime returns the time to write the data of a load on slow storage.
func FillTime(p runfile.Plan) time.Duration { return time.Duration(fillSeconds(p)) * time.Second }

// ShutdownTime returns the additional time that the pods of a run may take to stop: a database is shut down, not
// killed.
func ShutdownTime(b *v1alpha1.NFSBenchmark) time.Duration {
	if d := Container(b); d != nil {
		return time.Duration(d.ShutdownTimeoutSeconds) * time.Second
	}
	return 0
}

// HoldTime returns how long a run may keep its target, with the start and the end of its database. If most of that is
// the time to write the data of the load on slow storage, it also describes that data and names the field of its size.
func HoldTime(b *v1alpha1.NFSBenchmark, p runfile.Plan) (took time.Duration, data, field string) {
	took = time.Duration(int64(p.Schedule.TimeoutSeconds)+p.StartupSeconds())*time.Second + ShutdownTime(b)
	fill := FillTime(p)
	if b.Spec.Run.TimeoutSeconds != nil || fill <= took/2 {
		return took, "", ""
	}
	f := p.Files()
	count, noun, rate := written(p, f)
	return took, fmt.Sprintf("writing %s of %s (%s) takes %s on slow storage (%.0f MB/s)", human.Count(count, noun),
		human.Size(f.SizeBytes), human.Bytes(float64(f.SizeBytes)*float64(count)), fill, rate/1e6), f.SizeField
}

// written returns the number of files or tables that a load writes before it measures, and how fast slow storage takes
// them, in bytes per second.
func written(p runfile.Plan, f runfile.Files) (count int64, noun string, rate float64) {
	count, noun, rate = int64(f.Count), "file", slowFillBytesPerSec
	switch {
	case f.Copy:
		count *= 2
	// An existing database already has the tables of a kit.
	case f.Schemas > 0 && (p.Workload.SLOB.Kit == nil || p.Database.Kind == runfile.DatabaseContainer):
		count, noun, rate = int64(f.Schemas), "table", slowLoadBytesPerSec
	}
	return count * int64(p.Clients), noun, rate
}

// fillSeconds returns the time to write the data that the load reads.
func fillSeconds(p runfile.Plan) int64 {
	f := p.Files()
	count, _, rate := written(p, f)
	// Use floating point and a limit: the total, and a time.Duration, may not fit in 64 bits.
	return int64(min(float64(f.SizeBytes)/rate*float64(count), endlessSeconds))
}
