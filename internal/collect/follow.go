package collect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// follower knows what the loader has reported so far. One goroutine uses it.
type follower struct {
	tail     eventTail
	loadPath string
	loadSeen os.FileInfo // of the load that was read last
	loadRead time.Time   // when that was
	load     *runfile.Load
	last     *runfile.Event
	spans    []runfile.Span // made from events
}

func newFollower(dir string) *follower {
	return &follower{
		tail:     eventTail{path: filepath.Join(dir, runfile.EventsFile)},
		loadPath: filepath.Join(dir, runfile.LoadFile),
	}
}

// readEvents takes in what is new. It reports whether there was anything, and
// whether the loader has gone on to another span.
func (f *follower) readEvents() (news, moved bool, err error) {
	events, err := f.tail.next()
	for _, e := range events {
		if f.last == nil || f.last.Span != e.Span || f.last.Repetition != e.Repetition {
			moved = true
			f.startSpan(e)
		}
		f.last = &e
	}
	return len(events) > 0, moved, err
}

func (f *follower) startSpan(e runfile.Event) {
	if n := len(f.spans); n > 0 {
		f.spans[n-1].End = e.Time
	}
	f.spans = append(f.spans, runfile.Span{Kind: e.Span, Repetition: e.Repetition, Start: e.Time})
}

// readLoad reads the load file if it is another than the last time. A load
// that can not be read leaves the one before.
func (f *follower) readLoad(now time.Time) error {
	file, err := os.Open(f.loadPath)
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
		return err
	}
	f.loadSeen, f.load = info, &load
	return nil
}

// done reports whether the loader has nothing more to say. Between its end and
// that it cleans up, and may add to the reason why it failed.
func (f *follower) done() bool {
	if !f.ended() {
		return false
	}
	n := len(f.load.Spans)
	return n > 0 && f.load.Spans[n-1].Kind == runfile.SpanDone
}

// ended reports whether the loader has said its last word: it went as planned,
// or it says why it did not.
func (f *follower) ended() bool {
	return f.load != nil && (!f.load.Partial || f.load.Failure != nil)
}

// partialLoad is the best that is known of a load that has not ended.
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

// repetitions counts those that the loader has reported in full.
func (f *follower) repetitions() int {
	if f.load == nil {
		return 0
	}
	return len(f.load.Repetitions)
}

func lastStart(spans []runfile.Span) time.Time {
	if len(spans) == 0 {
		return time.Time{}
	}
	return spans[len(spans)-1].Start
}
