package collect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

const (
	maxTailBytes = 1 << 20  // read at once
	maxTails     = 16       // maximum reads of maxTailBytes in one look
	maxLineBytes = 64 << 10 // longer lines are no events
	maxSpans     = 1 << 16  // a loader that reports more is not ours
)

// follower holds the reports of the loader. One goroutine uses it.
type follower struct {
	tail     eventTail
	dir      string
	loadSeen os.FileInfo // of the load that was read last
	loadRead time.Time   // time of that reading
	load     *runfile.Load
	last     *runfile.Event
	spans    []runfile.Span // made from events
}

func newFollower(dir string) *follower {
	return &follower{tail: eventTail{dir: dir}, dir: dir}
}

// readEvents reads new events. It reports whether there were any, and whether the loader has started another
// span.
func (f *follower) readEvents() (news, moved bool, err error) {
	err = f.tail.each(func(e runfile.Event) {
		news = true
		if f.last == nil || f.last.Span != e.Span || f.last.Repetition != e.Repetition {
			moved = true
			if n := len(f.spans); n > 0 {
				f.spans[n-1].End = e.Time
			}
			if len(f.spans) < maxSpans {
				f.spans = append(f.spans, runfile.Span{Kind: e.Span, Repetition: e.Repetition, Start: e.Time})
			}
		}
		f.last = &e
	})
	return news, moved, err
}

// readLoad reads the load file if it has changed. An unreadable file leaves the earlier load in place.
func (f *follower) readLoad(now time.Time) error {
	file, err := shareddir.Open(f.dir, runfile.LoadFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if f.loadSeen != nil && os.SameFile(f.loadSeen, info) && f.loadSeen.ModTime().Equal(info.ModTime()) {
		return nil
	}
	f.loadRead = now
	load, err := runfile.ReadLoad(file)
	if err != nil {
		return fmt.Errorf("%s is not as a loader writes it", runfile.LoadFile) // its content must not get into messages
	}
	f.loadSeen, f.load = info, &load
	return nil
}

// done reports whether the loader has finished. Between the end of the load and that moment it cleans up, and
// may add to the reason of a failure.
func (f *follower) done() bool {
	if !f.ended() {
		return false
	}
	n := len(f.load.Spans)
	return n > 0 && f.load.Spans[n-1].Kind == runfile.SpanDone
}

// ended reports whether the loader has sent its final event: its load is complete or has a failure.
func (f *follower) ended() bool {
	return f.load != nil && (!f.load.Partial || f.load.Failure != nil)
}

// partialLoad returns the known part of a load that has not ended.
func (f *follower) partialLoad() runfile.Load {
	load := runfile.Load{Partial: true}
	if f.load != nil {
		load = *f.load
	}
	if !f.ended() && lastStart(f.spans).After(lastStart(load.Spans)) {
		load.Spans = append([]runfile.Span(nil), f.spans...)
	}
	return load
}

func lastStart(spans []runfile.Span) time.Time {
	if len(spans) == 0 {
		return time.Time{}
	}
	return spans[len(spans)-1].Start
}

// eventTail reads the events file while it grows. It skips and reports lines that are not events, because the
// loader may have been killed while it wrote a line.
type eventTail struct {
	dir    string
	file   *os.File // nil until the file exists. While it is open, its inode is not reused
	offset int64
	rest   []byte // an incomplete line
}

// each calls fn for the events since the last call, and returns the first error of an unreadable event. A
// missing file has no events. each does not read a file that has replaced the first one. The next call reads
// the events that exceed the bound of one call.
func (t *eventTail) each(fn func(runfile.Event)) error {
	now, err := shareddir.Open(t.dir, runfile.EventsFile)
	if errors.Is(err, fs.ErrNotExist) && t.file == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if t.file == nil {
		t.file = now
	} else if err := errors.Join(t.isSame(now), now.Close()); err != nil {
		return err
	}
	var bad error
	for range maxTails {
		chunk, err := io.ReadAll(io.NewSectionReader(t.file, t.offset, maxTailBytes))
		if err != nil {
			return err
		}
		if len(chunk) == 0 {
			break
		}
		t.offset += int64(len(chunk))
		bad = cmp.Or(bad, t.take(chunk, fn))
	}
	return bad
}

func (t *eventTail) isSame(now *os.File) error {
	was, err1 := t.file.Stat()
	is, err2 := now.Stat()
	if err := errors.Join(err1, err2); err != nil || os.SameFile(was, is) {
		return err
	}
	return fmt.Errorf("another file has replaced %s, and is not read", runfile.EventsFile)
}

func (t *eventTail) take(chunk []byte, fn func(runfile.Event)) (bad error) {
	lines := bytes.Split(append(t.rest, chunk...), []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e runfile.Event
		if json.Unmarshal(line, &e) != nil || !slices.Contains(runfile.SpanKinds(), e.Span) {
			bad = fmt.Errorf("a line of %s is no event", runfile.EventsFile) // its content must not get into messages
			continue
		}
		fn(e)
	}
	t.rest = bytes.Clone(lines[len(lines)-1])
	if len(t.rest) > maxLineBytes {
		t.rest, bad = nil, fmt.Errorf("a line of %s is longer than %d bytes", runfile.EventsFile, maxLineBytes)
	}
	return bad
}

// crashedLoad returns the result of a loader that sent no final event: its reports until then, and a failure
// with its last position.
func crashedLoad(load runfile.Load, last *runfile.Event) runfile.Load {
	const advice = "see the log of its container, and whether it was killed for its memory limit"
	message := "the loader ended without a final event and before it reported anything: " + advice
	if last != nil {
		where := last.Span
		if last.Repetition > 0 {
			where = fmt.Sprintf("%s of repetition %d", last.Span, last.Repetition)
		}
		message = fmt.Sprintf("the loader ended without a final event, "+
			"last seen in %s with %d percent of the run done at %s: %s",
			where, last.Percent, last.Time.UTC().Format(time.RFC3339), advice)
	}
	load.Partial, load.Failure = true, &runfile.Failure{Code: runfile.FailureLoaderCrashed, Message: message}
	return load
}

// closedAt returns the spans with the open one closed at the last event, so that it can have a window.
func closedAt(spans []runfile.Span, last *runfile.Event) []runfile.Span {
	out := slices.Clone(spans)
	if n := len(out); n > 0 && last != nil && out[n-1].End.IsZero() && last.Time.After(out[n-1].Start) {
		out[n-1].End = last.Time
	}
	return out
}
