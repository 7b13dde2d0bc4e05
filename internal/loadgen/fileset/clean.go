package fileset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Cleaned is the result of Clean.
type Cleaned struct {
	Removed []string // names of files, sorted
	Left    []string // names of files that are not ours, sorted
	// DirectoryGone is true if the directory does not exist any more.
	DirectoryGone bool
}

// Clean removes the files of this client, and the directory if it is then empty.
func (s *Set) Clean(ctx context.Context) (Cleaned, error) {
	s.Close()
	return clean(ctx, s.target, s.dir, s.spec.Directory, func(name string) bool {
		return isDataName(name) && strings.HasPrefix(name, fmt.Sprintf("c%d-", s.spec.Client)) ||
			strings.TrimSuffix(name, partExtension) == fmt.Sprintf(markerFormat, s.spec.Client)
	})
}

// Clean removes the files of all clients from a directory if a marker shows that they are ours, and the
// directory if it is then empty. A client that was killed before it renamed its first marker leaves only an
// unfinished one: Clean removes it if the directory has only unfinished markers. A missing directory is a
// success. A directory that is not ours is a success, too, and Clean changes nothing in it.
func Clean(ctx context.Context, t target.Target, directory string) (Cleaned, error) {
	dir, err := t.Directory(ctx, directory, false)
	if target.IsNotExist(err) {
		return Cleaned{DirectoryGone: true}, nil
	}
	if err != nil {
		return Cleaned{}, fmt.Errorf("open directory %q: %w", directory, err)
	}
	names, err := dir.List(ctx)
	if err != nil {
		return Cleaned{}, fmt.Errorf("list directory %q: %w", directory, err)
	}
	ours := map[string]bool{}
	marked := false
	for _, name := range names {
		switch {
		case isMarkerName(name):
			_, err := readMarker(ctx, dir, name)
			if err != nil && !isNoMarker(err) && !target.IsNotExist(err) {
				return Cleaned{}, err
			}
			ours[name] = err == nil
			marked = marked || err == nil
		case isDataName(name), isPartName(name):
			ours[name] = true
		}
	}
	known := marked || !slices.ContainsFunc(names, isForeign)
	return clean(ctx, t, dir, directory, func(name string) bool { return known && ours[name] })
}

// clean removes the files that ours selects, markers last: as long as the directory has files of ours, it has
// a marker.
func clean(ctx context.Context, t target.Target, dir target.Directory, directory string,
	ours func(string) bool,
) (Cleaned, error) {
	var done Cleaned
	names, err := dir.List(ctx)
	if err != nil {
		return done, fmt.Errorf("list directory %q: %w", directory, err)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		if !ours(name) {
			done.Left = append(done.Left, name)
			continue
		}
		if err := dir.Remove(ctx, name); err != nil && !target.IsNotExist(err) {
			return done, fmt.Errorf("remove %q: %w", name, err)
		}
		done.Removed = append(done.Removed, name)
	}
	slices.Sort(done.Removed)
	slices.Sort(done.Left)
	// The remaining files may belong to another client that cleans up at the same time. The last client then
	// finds the directory empty.
	err = t.RemoveDirectory(ctx, directory)
	switch {
	case err == nil, target.IsNotExist(err):
		done.Left, done.DirectoryGone = nil, true
	case target.IsNotEmpty(err), target.CodeOf(err) == runfile.FailureAccessDenied, errors.Is(err, fs.ErrPermission):
		// The owner of the export may have made the directory for us, so that we may not remove it.
	default:
		return done, fmt.Errorf("remove directory %q: %w", directory, err)
	}
	return done, nil
}

func rank(name string) int {
	if isMarkerName(name) {
		return 1
	}
	return 0
}
