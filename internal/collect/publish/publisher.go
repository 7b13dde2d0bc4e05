// Package publish writes progress and results of one client for the controller, or a person: to a ConfigMap
// or a directory.
package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// Publisher keeps the last progress and the last result of one client.
//
// Publish replaces what the update contains and keeps the rest; it may be repeated with the same
// update. An update whose ctx has ended never replaces one that is published after it. Signal returns
// the controller's signal to all clients. Both return at the latest when ctx ends. An error for which
// storage.IsPermanent is true recurs until somebody changes something outside; after any other error the
// caller may try again soon. A Publisher is safe for concurrent use.
type Publisher interface {
	Publish(ctx context.Context, update Update) error
	Signal(ctx context.Context) (Signal, error)
}

// Signal is the controller's signal to all clients of a run.
type Signal struct {
	Released bool   // all clients may start
	Levels   []byte // for a search for capacity, see runfile.KeyLevels; nil = none
}

// Update holds the changed parts. Nil parts stay as they are.
type Update struct {
	Progress *runfile.Progress
	Result   []byte // gzip of a runfile.Result with one client, see Encode
}

// Directory publishes into files with the names of the keys of the ConfigMap.
type Directory struct {
	path  string
	index int32
}

var _ Publisher = (*Directory)(nil)

// NewDirectory makes a missing directory.
func NewDirectory(path string, index int32) (*Directory, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	return &Directory{path: path, index: index}, nil
}

// Publish replaces each file atomically: a reader sees the old or the new content.
func (d *Directory) Publish(_ context.Context, update Update) error {
	if update.Result != nil {
		if err := d.replace(runfile.ResultKey(d.index), update.Result); err != nil {
			return err
		}
	}
	if update.Progress == nil {
		return nil
	}
	raw, err := json.Marshal(update.Progress)
	if err != nil {
		return storage.Permanent(fmt.Errorf("encode progress: %w", err))
	}
	return d.replace(runfile.ProgressKey(d.index), raw)
}

func (d *Directory) replace(name string, data []byte) error {
	return shareddir.Replace(d.path, name, data, shareddir.ForAll)
}

// Signal reports whether a file named "release" exists, and reads the file named "levels".
func (d *Directory) Signal(context.Context) (Signal, error) {
	if released, err := shareddir.Exists(d.path, runfile.KeyRelease); err != nil || !released {
		return Signal{}, err
	}
	levels, err := shareddir.Read(d.path, runfile.KeyLevels, shareddir.SmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return Signal{Released: true, Levels: levels}, err
}
