package plan

import "github.com/nfsbench/nfsbench/api/v1alpha1"

// keeps reports whether the loaded data stays for the next run.
func keeps(b *v1alpha1.NFSBenchmark) bool {
	return b.Spec.Cleanup.OnSuccess == v1alpha1.CleanupRetain
}

// emptyDatabaseBytes is the size of a database from Oracle's images without the tables of a load.
const emptyDatabaseBytes = int64(2 << 30)

// calibratedBytes returns the size of the tablespace that a calibration makes.
func calibratedBytes(b *v1alpha1.NFSBenchmark) int64 {
	if c := b.Spec.Workload.Calibrate; c != nil {
		return bytesOf(c.DatabaseSize)
	}
	return 0
}

// DatabaseBytes returns the space on the volume for the run's own database, its redo logs and undo,
// and the tables of its load. The redo logs of the image stay there.
func DatabaseBytes(b *v1alpha1.NFSBenchmark) int64 {
	sum := emptyDatabaseBytes + TableBytes(b)
	sum += calibratedBytes(b)
	if c := Container(b); c != nil {
		sum += bytesOf(c.UndoSize)
		if RedoExport(b) == "" {
			sum += redoGroups * bytesOf(c.RedoLogSize)
		}
	}
	return sum
}

// TableBytes returns the size of the tables of a load, without those of the user's own kit.
func TableBytes(b *v1alpha1.NFSBenchmark) int64 {
	w := b.Spec.Workload.SLOB
	if w == nil || w.Kit != nil {
		return 0
	}
	schemas := int64(max(w.Schemas, 1))
	return min(max(w.TableBytes(), 0), (1<<62)/schemas) * schemas
}
