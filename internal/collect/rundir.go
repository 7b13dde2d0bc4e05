package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The files of the run directory that only the collector uses.
const (
	ReadyFile = "collector-ready" // the collector samples: the loader may start
	FinalFile = "collector-final" // the last result was published
	// JournalFile holds what was sampled until now.
	JournalFile = "collector-samples.jsonl"
)

// Check is the startup probe: nil when the collector with that run directory
// has begun to sample.
func Check(dir string) error {
	if exists(dir, ReadyFile) {
		return nil
	}
	return fmt.Errorf("the collector has not started: there is no %q", filepath.Join(dir, ReadyFile))
}

// takeRunDir makes ready the run directory. A collector that finds the file of
// another one comes after a restart of its container.
func takeRunDir(dir string) (restarted bool, err error) {
	restarted = exists(dir, ReadyFile)
	err = os.Remove(filepath.Join(dir, ReadyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return restarted, fmt.Errorf("use run directory: %w", err)
	}
	return restarted, nil
}

func touch(dir, name string) error { return publish.WriteFile(filepath.Join(dir, name), nil) }

func release(dir string) error { return touch(dir, runfile.ReleaseFile) }

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
