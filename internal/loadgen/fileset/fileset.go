// Package fileset looks after the files that load runs on: one for each job of
// each client, or two where a job copies.
//
// # Ownership
//
// The first file that a client puts into the directory is its marker, and the
// last one that it removes. A directory with files but no marker of any client
// belongs to somebody else: nothing in it is touched. (A marker that a killed client
// was still writing is no file of somebody else.) Only names that we would
// give ourselves are ever opened for writing or removed, and a file is written
// only if we made it in this run, or if the marker says that an earlier run did
// and it has no second name. A marker is replaced by a new file.
//
// # Content
//
// Files are filled once, outside the measured window, and used again as long as
// the marker says that seed and size are the same. After that they are only
// overwritten in place. What they hold can be computed (package content) with the
// generation of the last write of each block, which a Tracker counts: every write
// differs from what is there, every read can be checked, and what was written last
// must be found again after the load.
package fileset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Spec says which files a client needs.
type Spec struct {
	Run               runfile.Identity
	Directory         string // one path element below the export or mount
	Client            int32
	Jobs              int32
	Copy              bool // each job has a second file to write to
	Writes            bool // the load writes: to the second files of a copy, else to all
	FileSizeBytes     int64
	BlockSizeBytes    int64
	Seed              uint64
	Verify            bench.VerifyMode // what Verify reads back; empty = Written
	OverwriteExisting bool             // take a directory that has files but no marker
}

// StateBytes is how much memory the state of all blocks takes that the load writes to.
func (s Spec) StateBytes() int64 {
	if !s.Writes {
		return 0
	}
	const most = 1 << 40 // blocks of a file: what they take is more than any memory, and an int64 holds it
	return int64(s.Jobs) * min(s.FileSizeBytes/s.BlockSizeBytes, most) * int64(unsafe.Sizeof(atomic.Uint32{}))
}

// Set is the files of one client.
type Set struct {
	spec   Spec
	target target.Target
	dir    target.Directory
	files  []*File // in the order of the jobs, a copy's second file after its first
	marker marker  // of Prepare, then of the one goroutine that marks files complete
}

// File is one data file. Block numbers count from 0.
type File struct {
	target.File // for the load: stable writes
	Name        string
	Data        content.Data
	Tracker     *Tracker
	reused      bool       // nothing to fill: an earlier run did
	doubted     [][2]int64 // first and last bytes of chunks that the fill sent twice
}

// Job is what one job works on. Copy is nil unless the job copies; then Main is
// only read and Copy is only written.
type Job struct{ Main, Copy *File }

// Prepare opens the directory, making it when it is missing, makes sure that it
// is ours, and finds out what has to be filled. It writes the marker, so that
// from here on the directory is ours for everybody.
func Prepare(ctx context.Context, t target.Target, spec Spec) (*Set, error) {
	dir, err := t.Directory(ctx, spec.Directory, true)
	if err != nil {
		return nil, fmt.Errorf("open directory %q: %w", spec.Directory, err)
	}
	names, err := dir.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list directory %q: %w", spec.Directory, err)
	}
	if err := checkOwner(ctx, dir, spec, names); err != nil {
		return nil, err
	}
	s := &Set{spec: spec, target: t, dir: dir}
	old, err := readMarker(ctx, dir, fmt.Sprintf(markerFormat, spec.Client))
	if err != nil && !target.IsNotExist(err) && (!isNoMarker(err) || !spec.OverwriteExisting) {
		return nil, err
	}
	s.marker = marker{
		Tool: markerTool, Version: markerVersion, About: markerAbout, Run: spec.Run, Client: spec.Client,
		Seed: spec.Seed, BlockSizeBytes: spec.BlockSizeBytes, FileSizeBytes: spec.FileSizeBytes,
		Epoch: old.Epoch + 1,
	}
	if err := s.plan(ctx, old, names); err != nil {
		return nil, err
	}
	if err := s.checkSpace(names); err != nil {
		return nil, err
	}
	return s, s.writeMarker(ctx)
}

// checkOwner refuses a directory with files of somebody else.
func checkOwner(ctx context.Context, dir target.Directory, spec Spec, names []string) error {
	if spec.OverwriteExisting {
		return nil
	}
	var foreign []string
	marked := false
	for _, name := range names {
		if isMarkerName(name) {
			_, err := readMarker(ctx, dir, name)
			marked = marked || err == nil
			// Another client may have removed its marker since we looked.
			if err != nil && !target.IsNotExist(err) {
				return fmt.Errorf("directory %q: %w", spec.Directory, err)
			}
		} else if isForeign(name) {
			foreign = append(foreign, name)
		}
	}
	if marked || len(foreign) == 0 {
		return nil
	}
	slices.Sort(foreign)
	some := strings.Join(foreign[:min(3, len(foreign))], ", ")
	if len(foreign) > 3 {
		some += "..."
	}
	return target.Fail(runfile.FailureForeignFiles, fmt.Sprintf(
		"directory %q has files that nfsbench did not make (%d: %s); nothing was touched: choose another directory, "+
			"remove the files, or allow it (workload.raw.foreignFiles: Overwrite; --overwrite-existing)",
		spec.Directory, len(foreign), some), nil)
}

// plan lists the files and finds those that need no filling.
func (s *Set) plan(ctx context.Context, old marker, names []string) error {
	pool := content.NewPool(s.spec.Seed)
	formats := []string{dataFormat}
	if s.spec.Copy {
		formats = append(formats, copyFormat)
	}
	usable := old.Seed == s.spec.Seed && old.FileSizeBytes == s.spec.FileSizeBytes
	for i := range int(s.spec.Jobs) * len(formats) {
		name := fmt.Sprintf(formats[i%len(formats)], s.spec.Client, i/len(formats))
		f := &File{Name: name, Data: pool.File(name)}
		if usable && slices.Contains(old.Complete, name) && slices.Contains(names, name) {
			size, err := s.sizeOf(ctx, name)
			if err != nil {
				return err
			}
			f.reused = size == s.spec.FileSizeBytes
		}
		if f.reused {
			s.marker.Complete = append(s.marker.Complete, name)
		}
		s.files = append(s.files, f)
	}
	return nil
}

func (s *Set) sizeOf(ctx context.Context, name string) (int64, error) {
	f, err := s.dir.Open(ctx, name, target.OpenOptions{})
	if err != nil {
		return 0, fmt.Errorf("open %q: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size(ctx)
	if err != nil {
		return 0, fmt.Errorf("size of %q: %w", name, err)
	}
	return size, nil
}

// checkSpace refuses early what cannot fit. Where old files of ours would make
// room it leaves the answer to the storage.
func (s *Set) checkSpace(names []string) error {
	facts := s.target.Facts()
	if facts.TotalBytes <= 0 || slices.ContainsFunc(names, isDataName) || s.MissingBytes() <= facts.FreeBytes {
		return nil
	}
	return target.Fail(runfile.FailureNoSpace, fmt.Sprintf(
		"the files need %d bytes, and %d of %d are free: make the files smaller (fileSize), take fewer jobs, or give the "+
			"volume more space",
		s.MissingBytes(), facts.FreeBytes, facts.TotalBytes), nil)
}

// MissingBytes is how much Fill will write.
func (s *Set) MissingBytes() int64 {
	var n int64
	for _, f := range s.files {
		if !f.reused {
			n += s.spec.FileSizeBytes
		}
	}
	return n
}

// Open opens the files for the load. They must be filled.
func (s *Set) Open(ctx context.Context) ([]Job, error) {
	var jobs []Job
	for i, f := range s.files {
		opened, err := s.dir.Open(ctx, f.Name, target.OpenOptions{Stable: true})
		if err != nil {
			return nil, fmt.Errorf("open %q: %w", f.Name, err)
		}
		f.File = opened
		f.Tracker = s.newTracker(f, s.spec.Writes && (!s.spec.Copy || i%2 == 1))
		if s.spec.Copy && i%2 == 1 {
			jobs[len(jobs)-1].Copy = f
		} else {
			jobs = append(jobs, Job{Main: f})
		}
	}
	return jobs, nil
}

// Directory is the name of the directory of the files.
func (s *Set) Directory() string { return s.spec.Directory }

// IsOurs reports whether no other run with the number of this client has begun in the directory since Prepare.
func (s *Set) IsOurs(ctx context.Context) bool {
	m, err := readMarker(ctx, s.dir, fmt.Sprintf(markerFormat, s.spec.Client))
	return err != nil || m.Epoch == s.marker.Epoch && m.Run == s.marker.Run
}

// Close closes what Open opened.
func (s *Set) Close() {
	for _, f := range s.files {
		if f.File != nil {
			_ = f.Close()
			f.File = nil
		}
	}
}

// generation is that of the fill of this run; its overwrites follow it.
func (s *Set) generation() uint64 { return s.marker.Epoch << 32 }

func (s *Set) newTracker(f *File, written bool) *Tracker {
	block, blocks := s.spec.BlockSizeBytes, int64(0)
	if written {
		blocks = s.spec.FileSizeBytes / s.spec.BlockSizeBytes
	}
	t := newTracker(blocks, s.generation(), f.reused)
	for _, d := range f.doubted {
		t.doubt(d[0]/block, d[1]/block)
	}
	return t
}
