package fileset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Names of our files. Client and job count from 0.
const (
	markerFormat = "nfsbench-c%d.json"
	dataFormat   = "c%d-j%d.dat"
	copyFormat   = "c%d-j%d-copy.dat" // the second file of a copying job

	partExtension = ".part" // of an unfinished marker
)

const (
	markerTool    = "nfsbench"
	markerVersion = 1
	markerAbout   = "The files beside this one are test data of nfsbench and may be removed, with 'nfsbench clean' or " +
		"by hand."
	markerMaxBytes = 4 << 20

	// markerReads bounds how often readMarker reads a marker again whose file is gone. A client replaces its marker
	// when it prepares its files and when they are full, and another client may have opened the old file.
	markerReads = 3
)

// marker is the content of the file that makes a directory ours.
type marker struct {
	Tool           string           `json:"tool"`
	Version        int              `json:"version"`
	About          string           `json:"about"`
	Run            runfile.Identity `json:"run"` // the last one that used the files
	Client         int32            `json:"client"`
	Seed           uint64           `json:"seed"`
	BlockSizeBytes int64            `json:"blockSizeBytes"` // of that run; the content does not depend on it
	FileSizeBytes  int64            `json:"fileSizeBytes"`
	// Epoch counts the runs that wrote here. The generations of a run's writes start at its epoch, so that they
	// differ from those of all earlier runs.
	Epoch uint64 `json:"epoch"`
	// Complete names the completely filled files.
	Complete []string `json:"complete"`
}

// readMarker returns the marker in file name of dir. A marker of another version is returned empty. If there is no
// such file, the error satisfies target.IsNotExist; if the file is not a marker, it has code
// runfile.FailureForeignFiles.
func readMarker(ctx context.Context, dir target.Directory, name string) (marker, error) {
	raw, err := readSmall(ctx, dir, name)
	for again := 0; target.IsStale(err) && again < markerReads; again++ {
		raw, err = readSmall(ctx, dir, name)
	}
	if err != nil {
		return marker{}, fmt.Errorf("read marker %q: %w", name, err)
	}
	raw = bytes.TrimRight(raw, " \n\x00")
	var m marker
	var head struct {
		Tool    string `json:"tool"`
		Version int    `json:"version"`
	}
	if json.Unmarshal(raw, &head) != nil || head.Tool != markerTool {
		return marker{}, errNotMarker(name)
	}
	if head.Version != markerVersion {
		return marker{}, nil // ours, but of an unknown format
	}
	if json.Unmarshal(raw, &m) != nil {
		return marker{}, errNotMarker(name)
	}
	return m, nil
}

func errNotMarker(name string) error {
	return target.Fail(runfile.FailureForeignFiles, fmt.Sprintf("the file %q has the name of a marker of nfsbench and is "+
		"none, so somebody else wrote it; nothing was touched: remove it, or choose another directory", name), nil)
}

// isNoMarker reports whether an error of readMarker means that somebody else wrote the file.
func isNoMarker(err error) bool { return target.CodeOf(err) == runfile.FailureForeignFiles }

// writeMarker replaces the marker by a new file, so that a foreign file with this name does not change. It
// pads the marker with blanks to whole pages, for O_DIRECT.
func (s *Set) writeMarker(ctx context.Context) error {
	raw, err := json.Marshal(s.marker)
	if err != nil {
		return fmt.Errorf("encode marker: %w", err)
	}
	name := fmt.Sprintf(markerFormat, s.spec.Client)
	part := name + partExtension
	f, err := s.dir.Open(ctx, part, target.OpenOptions{Create: true, Stable: true})
	if target.IsExist(err) { // a run that was killed has left it
		if err = s.dir.Remove(ctx, part); err == nil || target.IsNotExist(err) {
			f, err = s.dir.Open(ctx, part, target.OpenOptions{Create: true, Stable: true})
		}
	}
	if err != nil {
		return fmt.Errorf("create marker %q: %w", part, err)
	}
	defer func() { _ = f.Close() }()
	padded := (int64(len(raw))/target.BufferAlignBytes + 1) * target.BufferAlignBytes
	arena, err := target.NewArena(1, padded)
	if err != nil {
		return err
	}
	defer func() { _ = arena.Release() }()
	buf := arena.Buffer(0)
	for i := copy(buf, raw); i < len(buf); i++ {
		buf[i] = ' '
	}
	buf[len(buf)-1] = '\n'
	if err := f.WriteAt(ctx, buf, 0); err != nil {
		return fmt.Errorf("write marker %q: %w", part, err)
	}
	if err := s.dir.Rename(ctx, part, name); err != nil {
		return fmt.Errorf("name marker %q: %w", name, err)
	}
	return nil
}

// readSmall reads a whole small file.
func readSmall(ctx context.Context, dir target.Directory, name string) ([]byte, error) {
	f, err := dir.Open(ctx, name, target.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size(ctx)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, nil // an arena has no size 0
	}
	if size > markerMaxBytes {
		return nil, errNotMarker(name)
	}
	arena, err := target.NewArena(1, (size+target.BufferAlignBytes-1)/target.BufferAlignBytes*target.BufferAlignBytes)
	if err != nil {
		return nil, err
	}
	defer func() { _ = arena.Release() }()
	n, err := f.ReadAt(ctx, arena.Buffer(0), 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return bytes.Clone(arena.Buffer(0)[:n]), nil
}

// isMarkerName reports whether name is the name of a marker.
func isMarkerName(name string) bool { return match(`^nfsbench-c[0-9]+\.json$`, name) }

// isPartName reports whether name is the name of an unfinished marker.
func isPartName(name string) bool { return match(`^nfsbench-c[0-9]+\.json\`+partExtension+`$`, name) }

// isDataName reports whether name is the name of a data file of any client.
func isDataName(name string) bool { return match(`^c[0-9]+-j[0-9]+(-copy)?\.dat$`, name) }

func match(pattern, name string) bool {
	ok, err := regexp.MatchString(pattern, name)
	return err == nil && ok
}

// isForeign reports whether an entry belongs to somebody else. Entries that servers or file systems create
// everywhere do not.
func isForeign(name string) bool {
	switch {
	case name == ".snapshot", name == "lost+found", strings.HasPrefix(name, ".nfs"):
		return false
	default:
		return !isPartName(name)
	}
}
