package plan

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// nativeBlockBytes corresponds to db_block_size, and nativeLargeBytes to a multiblock read of
	// db_file_multiblock_read_count blocks: Oracle's defaults.
	nativeBlockBytes = 8192
	nativeLargeBytes = 1 << 20
)

func workload(b *v1alpha1.NFSBenchmark) runfile.Workload {
	return runfile.Workload{Raw: raw(b), Calibrate: calibrate(b), SLOB: slob(b)}
}

func raw(b *v1alpha1.NFSBenchmark) *runfile.Raw {
	w := b.Spec.Workload.Raw
	if w == nil {
		return nil
	}
	r := &runfile.Raw{
		Pattern:           w.Pattern,
		BlockSizeBytes:    runfile.DefaultBlockBytes(w.Pattern),
		FileSizeBytes:     w.FileSize.Value(),
		Jobs:              w.Jobs,
		Depth:             w.Depth,
		Directory:         w.Directory,
		OverwriteExisting: w.ForeignFiles == bench.ForeignFilesOverwrite,
		KeepFiles:         keeps(b),
		ReadPercent:       ptr.Deref(w.ReadPercent, 0),
		Capacity:          capacity(w.Capacity),
	}
	if w.BlockSize != nil {
		r.BlockSizeBytes = w.BlockSize.Value()
	}
	if w.OperationsPerSecond != nil {
		r.OperationsPerSecond = *w.OperationsPerSecond
	}
	return r
}

// capacity sorts the bounds into the order in which a search handles them.
func capacity(q *bench.Capacity) *runfile.Capacity {
	if q == nil {
		return nil
	}
	out := &runfile.Capacity{Arrivals: cmp.Or(q.Arrivals, bench.ArrivalsPoisson)}
	first := bench.LatencyBound{Percentile: q.Percentile, Milliseconds: q.Milliseconds, Microseconds: q.Microseconds}
	for _, b := range append([]bench.LatencyBound{first}, q.AlsoAt...) {
		out.Bounds = append(out.Bounds, runfile.LatencyBound{
			Percentile:   cmp.Or(b.Percentile, bench.PercentileP99),
			Microseconds: ptr.Deref(b.Microseconds, 1000*ptr.Deref(b.Milliseconds, 0)),
		})
	}
	runfile.SortBounds(out.Bounds)
	return out
}

// keeps says that what a run has loaded is left for the next.
func keeps(b *v1alpha1.NFSBenchmark) bool {
	return b.Spec.Cleanup.OnSuccess == v1alpha1.CleanupRetain
}

func calibrate(b *v1alpha1.NFSBenchmark) *runfile.Calibrate {
	w := b.Spec.Workload.Calibrate
	if w == nil {
		return nil
	}
	c := &runfile.Calibrate{
		PhysicalDisks:          w.PhysicalDisks,
		MaxLatencyMilliseconds: w.MaxLatencyMilliseconds,
		WarmupRuns:             ptr.Deref(w.WarmupRuns, 0),
	}
	if b.Spec.Database == nil {
		c.Files = files(b, w.NativeFiles, w.NativeFiles.Count, w.NativeFiles.Size)
	}
	return c
}

// files are those that the native engine makes in place of datafiles.
func files(b *v1alpha1.NFSBenchmark, n bench.NativeFiles, count int32, size resource.Quantity) *runfile.Files {
	return &runfile.Files{
		Count:             count,
		SizeBytes:         size.Value(),
		BlockSizeBytes:    nativeBlockBytes,
		LargeReadBytes:    nativeLargeBytes,
		Directory:         n.Directory,
		OverwriteExisting: n.ForeignFiles == bench.ForeignFilesOverwrite,
		KeepFiles:         keeps(b),
	}
}

func slob(b *v1alpha1.NFSBenchmark) *runfile.SLOB {
	w := b.Spec.Workload.SLOB
	if w == nil {
		return nil
	}
	s := &runfile.SLOB{
		Access:           w.Access,
		Users:            users(w),
		Schemas:          max(w.Schemas, 1),
		ScaleBytes:       w.Scale.Value(),
		ScanTableBytes:   w.ScanTableSize.Value(),
		WorkUnit:         w.WorkUnit,
		WorkLoop:         w.WorkLoop,
		UpdatePercent:    w.UpdatePercent,
		RedoStress:       w.RedoStress,
		ObfuscateColumns: w.ObfuscateColumns != bench.Disabled,
		Capacity:         capacity(w.Capacity),
		Think:            w.Think,
	}
	if b.Spec.Database == nil {
		// A file stands for the table of a schema.
		s.Files, s.ReadAhead = files(b, w.NativeFiles, s.Schemas, tableSize(w)), w.ReadAhead
		return s
	}
	s.LoadParallelDegree = w.LoadParallelDegree
	s.Tablespace = strings.ToUpper(w.Tablespace)
	s.AWR = w.AWR == bench.Enabled
	s.KeepSchemas, s.Kit = keeps(b), w.Kit
	return s
}

// users returns the steps of the ramp, or the one step that follows from schemas and their threads.
func users(w *bench.SLOBWorkload) []int32 {
	if len(w.Users) > 0 {
		return w.Users
	}
	return []int32{max(w.Schemas, 1) * max(w.ThreadsPerSchema, 1)}
}

// tableSize is the size of the table that a load reads in each schema.
func tableSize(w *bench.SLOBWorkload) resource.Quantity {
	if w.Access == bench.SLOBFullTableScan {
		return w.ScanTableSize
	}
	return w.Scale
}

// emptyDatabaseBytes is the size of a database from Oracle's images without the tables of a load.
const emptyDatabaseBytes = int64(2 << 30)

// calibratedBytes is the size of the tablespace that a calibration makes.
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
	if c := container(b); c != nil {
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
	size, schemas := tableSize(w), int64(max(w.Schemas, 1))
	return min(max(size.Value(), 0), (1<<62)/schemas) * schemas
}
