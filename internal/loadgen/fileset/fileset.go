// Package fileset manages the files for the load: one for each job of each client, or two if a job copies.
//
// # Ownership
//
// A client creates its marker before all other files in the directory, and removes it last. A directory with
// files but without a marker of any client belongs to somebody else: the client changes nothing in it. (An
// unfinished marker of a killed client does not count as somebody else's file.) A client opens for writing
// and removes only files with names of its own format. It writes to a file only if it made the file in this
// run, or if the marker shows that an earlier run made it and it has no second name. A new file replaces an
// old marker.
//
// # Content
//
// Files are filled once, outside the measured window, and used again as long as seed and size in the marker
// stay the same. The load only overwrites them in place. Their content can be computed (package content) from
// the generation of the last write of each block, which a Tracker counts: every write changes the block, every
// read can be checked, and a read after the load must find the last write.
package fileset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Spec describes the files of a client.
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

// StateBytes returns the memory for the state of all blocks that the load writes to.
func (s Spec) StateBytes() int64 {
	if !s.Writes {
		return 0
	}
	const most = 1 << 40 // blocks of a file: their state exceeds any memory and still fits an int64
	return int64(s.Jobs) * min(s.FileSizeBytes/s.BlockSizeBytes, most) * int64(unsafe.Sizeof(atomic.Uint32{}))
}

// Set holds the files of one client.
type Set struct {
	spec   Spec
	target target.Target
	dir    target.Directory
	files  []*File // in the order of the jobs, a copy's second file after its first
	marker marker  // of Prepare, then of the goroutine that marks files complete
}

// File is one data file. Block numbers count from 0.
type File struct {
	target.File // for the load: stable writes
	Name        string
	Data        content.Data
	Tracker     *Tracker
	reused      bool       // an earlier run filled it
	doubted     [][2]int64 // first and last bytes of chunks that the fill sent twice
}

// Job holds the files of one job. Copy is nil unless the job copies; then Main is only read and Copy is only
// written.
type Job struct{ Main, Copy *File }

// Prepare opens or makes the directory, checks that it is ours, and determines which files to fill. It writes
// the marker, which makes the directory ours for everybody.
func Prepare(ctx context.Context, t target.Target, spec Spec) (*Set, error) {
	s, err := look(ctx, t, spec, true)
	if err != nil {
		return nil, err
	}
	return s, s.writeMarker(ctx)
}

// look does what Prepare does before it writes. Without create, the error of a missing directory satisfies
// target.IsNotExist.
func look(ctx context.Context, t target.Target, spec Spec, create bool) (*Set, error) {
	dir, err := t.Directory(ctx, spec.Directory, create)
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
	return s, s.checkSpace(names)
}

// checkOwner returns an error for a directory with files of somebody else.
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
			// Another client may have removed its marker in the meantime.
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

// plan lists the files and finds those that are already filled.
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

// checkSpace returns an error for files that cannot fit. If removing our old files would make room, it leaves
// the answer to the storage.
func (s *Set) checkSpace(names []string) error {
	facts := s.target.Facts()
	if facts.TotalBytes <= 0 || slices.ContainsFunc(names, isDataName) || s.MissingBytes() <= facts.FreeBytes {
		return nil
	}
	return target.Fail(runfile.FailureNoSpace, fmt.Sprintf(
		"the files need %s, and %s of %s are free: make the files smaller (fileSize), take fewer jobs, or give the volume "+
			"more space",
		human.Beyond(s.MissingBytes(), facts.FreeBytes, human.Bytes), human.Bytes(facts.FreeBytes),
		human.Bytes(facts.TotalBytes)), nil)
}

// MissingBytes returns the number of bytes that Fill will write.
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

// Directory returns the name of the directory of the files.
func (s *Set) Directory() string { return s.spec.Directory }

// IsOurs reports whether no other run with this client number has started in the directory since Prepare.
func (s *Set) IsOurs(ctx context.Context) bool {
	m, err := readMarker(ctx, s.dir, fmt.Sprintf(markerFormat, s.spec.Client))
	return err != nil || m.Epoch == s.marker.Epoch && m.Run == s.marker.Run
}

// Close closes the files that Open opened.
func (s *Set) Close() {
	for _, f := range s.files {
		if f.File != nil {
			_ = f.Close()
			f.File = nil
		}
	}
}

// generation returns the generation of the fill of this run; its overwrites have higher generations.
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
