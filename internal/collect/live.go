package collect

import (
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// stale is for how long the last report of the loader counts as current. The
// loader tells each second, and replaces its load file every few.
const stale = 15 * time.Second

// live is what was seen last of a run under way.
type live struct {
	event   *runfile.Event      // nil: the loader has reported nothing of late
	sample  *runfile.LoadSample // nil: it makes no load, or counts none by the second
	host    *runfile.ObservedWindow
	storage []runfile.StorageWindow
}

// latest keeps the last report of the loader, for the readers of live. It is safe
// for several goroutines.
type latest struct {
	mu     sync.Mutex
	event  *runfile.Event
	sample *runfile.LoadSample
}

func (h *latest) setEvent(e runfile.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.event = &e
}

// setLoad takes the last second of a load. The load may change afterwards.
func (h *latest) setLoad(l *runfile.Load) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(l.Samples); n > 0 {
		last := l.Samples[n-1]
		h.sample = &last
	}
}

// since gives the words that are not older than a time.
func (h *latest) since(t time.Time) (*runfile.Event, *runfile.LoadSample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	event, sample := h.event, h.sample
	if event != nil && event.Time.Before(t) {
		event = nil
	}
	if sample != nil && sample.Time.Before(t) || event == nil {
		sample = nil
	}
	return event, sample
}

// live computes what happened between the last two samples of everything. It
// costs little, however long the run has lasted.
func (s *Session) live() live {
	var out live
	now := s.wallTime()
	out.event, out.sample = s.latest.since(now.Add(-stale))
	s.mu.Lock()
	hosts := s.hosts.latest(2)
	readings := make([][]Reading, 0, len(s.readings))
	for i := range s.readings {
		readings = append(readings, s.readings[i].latest(2))
	}
	s.mu.Unlock()
	if len(hosts) == 2 && now.Sub(hosts[1].Time) < max(stale, 3*s.opt.interval()) {
		out.host = &runfile.ObservedWindow{}
		fillHostWindow(out.host, hosts)
	}
	for _, r := range readings {
		if len(r) < 2 {
			continue
		}
		source := r[0].Sample.Source
		if now.Sub(r[1].At) < max(stale, 3*s.opt.sourceInterval(source)) {
			out.storage = append(out.storage, storageWindow(source, r))
		}
	}
	return out
}
