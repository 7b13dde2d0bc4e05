package runloop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// releasePoll is the interval between checks for the file that releases all clients.
const releasePoll = 100 * time.Millisecond

// Sink receives the events of a run. All calls come from one goroutine.
type Sink interface {
	// Event is called every second and at every change of the run.
	Event(e runfile.Event)
	// Load receives the state of the run every few seconds, with Partial set, and always again at the
	// end. It must not keep the pointer.
	Load(l *runfile.Load) error
}

// Dir is the directory that loader and collector of a pod share: a Sink that
// appends events to one file and replaces another with the state of the run.
type Dir struct {
	path   string
	events *os.File
	err    error // of the first event that was not written
}

// OpenDir opens the directory for writing. Events of an earlier process stay.
func OpenDir(path string) (*Dir, error) {
	f, err := shareddir.OpenOnly(path, runfile.EventsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, shareddir.ForAll)
	if err != nil {
		return nil, fmt.Errorf("use run directory: %w", err)
	}
	return &Dir{path: path, events: f}, nil
}

// Event implements Sink. Each line is one write, so that no reader sees a part of it.
func (d *Dir) Event(e runfile.Event) {
	if err := WriteEvent(d.events, e); err != nil && d.err == nil {
		d.err = fmt.Errorf("write event: %w", err)
	}
}

// WriteEvent writes an event as one line of JSON, at once.
func WriteEvent(w io.Writer, e runfile.Event) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// Load implements Sink: it replaces the file as a whole or not at all. It also returns the error of a failed Event,
// which has no error result.
func (d *Dir) Load(l *runfile.Load) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode load: %w", err)
	}
	if err := shareddir.Replace(d.path, runfile.LoadFile, append(data, '\n'), shareddir.ForAll); err != nil {
		return fmt.Errorf("write load: %w", err)
	}
	return d.err
}

// Refuse writes into the directory, for the collector, why there is no load, and returns the reason. Without a code the
// plan is invalid.
func (d *Dir) Refuse(now time.Time, code string, reason error) error {
	f := &runfile.Failure{Code: cmp.Or(code, runfile.FailureInvalidPlan), Message: reason.Error()}
	d.Event(runfile.Event{Time: now, Span: runfile.SpanDone, Percent: 100, Message: f.Message})
	return errors.Join(reason, d.Load(&runfile.Load{
		Partial: true, Failure: f, Spans: []runfile.Span{{Kind: runfile.SpanDone, Start: now, End: now}},
	}))
}

// Release waits for the file that lets all clients start. It serves as Options.Release.
func (d *Dir) Release(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		released, err := shareddir.Exists(d.path, runfile.ReleaseFile)
		if err != nil {
			err = fmt.Errorf("wait for the other clients: %w", err)
		}
		return released, err
	})
}

// poll calls look every releasePoll until look is done or fails, or ctx ends.
func poll(ctx context.Context, look func() (done bool, err error)) error {
	ticker := time.NewTicker(releasePoll)
	defer ticker.Stop()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Levels waits until the search file has more than have levels, or the search is over. It implements Orders.
func (d *Dir) Levels(ctx context.Context, have int) (search runfile.CapacitySearch, err error) {
	err = poll(ctx, func() (done bool, err error) {
		search, err = d.readLevels()
		return search.Ended || len(search.Levels) > have, err
	})
	return search, err
}

// readLevels reads the search. A file that does not exist yet is an empty search.
func (d *Dir) readLevels() (search runfile.CapacitySearch, err error) {
	data, err := shareddir.Read(d.path, runfile.LevelsFile, shareddir.SmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return search, nil
	}
	if err != nil {
		return search, fmt.Errorf("read the levels of load: %w", err)
	}
	return runfile.ReadCapacitySearch(data)
}

// Close closes the event file.
func (d *Dir) Close() error { return d.events.Close() }
