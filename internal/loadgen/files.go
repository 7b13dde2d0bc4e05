package loadgen

import (
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// filesOf gives the files of a workload. Those of a raw load are written in the
// same form, one for each job, or two where it copies.
func filesOf(w runfile.Workload) runfile.Files {
	switch {
	case w.Calibrate != nil && w.Calibrate.Files != nil:
		return *w.Calibrate.Files
	case w.SLOB != nil && w.SLOB.Files != nil:
		return *w.SLOB.Files
	case w.Raw != nil:
		return runfile.Files{
			Count: w.Raw.Jobs, SizeBytes: w.Raw.FileSizeBytes, BlockSizeBytes: w.Raw.BlockSizeBytes,
			Directory: w.Raw.Directory, OverwriteExisting: w.Raw.OverwriteExisting, KeepFiles: w.Raw.KeepFiles,
		}
	default:
		return runfile.Files{}
	}
}

// Directory gives the one below the export or the mount that holds the files of
// a workload; "" where a database has files of its own.
func Directory(w runfile.Workload) string { return filesOf(w).Directory }

// filesetOf says which files a client of a plan needs.
func filesetOf(p *runfile.Plan, client int32) fileset.Spec {
	f := filesOf(p.Workload)
	return fileset.Spec{
		Run: p.Run, Directory: f.Directory, Client: client, Jobs: f.Count,
		Copy:          p.Workload.Raw != nil && p.Workload.Raw.Pattern == runfile.PatternCopy,
		FileSizeBytes: f.SizeBytes, BlockSizeBytes: f.BlockSizeBytes,
		Seed: p.Seed, OverwriteExisting: f.OverwriteExisting,
	}
}
