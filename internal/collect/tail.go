package collect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	maxTailBytes = 1 << 20  // read at once
	maxLineBytes = 64 << 10 // longer lines are no events
)

// eventTail reads the events file as it grows. Lines that are no events are
// counted and left out: the loader may have been killed inside one.
type eventTail struct {
	path   string
	offset int64
	rest   []byte // a line whose end is not there yet
}

// next returns the events that came since the last call, and an error for
// those that could not be read. A file that is not there yet has none.
func (t *eventTail) next() ([]runfile.Event, error) {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var (
		events []runfile.Event
		bad    error
	)
	for {
		chunk, err := io.ReadAll(io.NewSectionReader(f, t.offset, maxTailBytes))
		if err != nil {
			return events, err
		}
		if len(chunk) == 0 {
			return events, bad
		}
		t.offset += int64(len(chunk))
		found, err := t.take(chunk)
		events = append(events, found...)
		bad = errors.Join(bad, err)
	}
}

func (t *eventTail) take(chunk []byte) ([]runfile.Event, error) {
	var (
		events []runfile.Event
		bad    error
	)
	lines := bytes.Split(append(t.rest, chunk...), []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e runfile.Event
		if err := json.Unmarshal(line, &e); err != nil {
			bad = fmt.Errorf("a line of %q is no event: %w", t.path, err)
			continue
		}
		events = append(events, e)
	}
	t.rest = bytes.Clone(lines[len(lines)-1])
	if len(t.rest) > maxLineBytes {
		t.rest, bad = nil, fmt.Errorf("a line of %q is longer than %d bytes", t.path, maxLineBytes)
	}
	return events, bad
}
