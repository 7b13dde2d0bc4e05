package collect

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// Session samples client and storage until Finish. Each of them has its own
// goroutine, so that a slow source delays no other. Its methods are safe for
// several goroutines.
type Session struct {
	opt        Options
	problems   problems
	interfaces []runfile.Interface
	host       *hostReader
	samplers   []*sampler
	opened     []storage.Source // by us, to be closed by us
	stop       context.CancelFunc
	running    sync.WaitGroup
	finish     sync.Once
	latest     latest    // of the loader, for Metrics
	resumed    time.Time // of the last sample of a collector that was killed; zero: there was none

	mu       sync.Mutex
	finished bool
	hosts    series[runfile.HostSample]
	readings []series[Reading] // one for each source
	journal  *journal
}

// Start begins to sample. The samples end when ctx ends or with Finish, which
// must be called in either case.
func Start(ctx context.Context, o Options) *Session {
	o = o.withDefaults()
	s := &Session{opt: o, hosts: series[runfile.HostSample]{limit: maxSamples}}
	if o.Sources == nil {
		o.Sources = planSources(o, s.problem)
		s.opened = o.Sources
	}
	s.host = newHostReader(o, s.problem)
	interfaces, err := procfs.Reader{Root: o.Root}.Interfaces()
	if err != nil {
		s.problem(problemInterfaces, err)
	}
	s.interfaces = interfaces
	s.samplers = append(s.samplers, newSampler(o.interval(), s.takeHost))
	for n, source := range o.Sources {
		s.readings = append(s.readings, series[Reading]{limit: maxSamples})
		take := func(ctx context.Context, mark bool) { s.takeStorage(ctx, n, source, mark) }
		s.samplers = append(s.samplers, newSampler(o.sourceInterval(source.Name()), take))
	}
	s.restore()
	ctx, s.stop = context.WithCancel(ctx)
	for _, sampler := range s.samplers {
		s.running.Go(func() { sampler.run(ctx) })
	}
	return s
}

// Mark takes a sample of everything now, because a window begins or ends. It
// does not wait for the samples.
func (s *Session) Mark() {
	for _, sampler := range s.samplers {
		sampler.mark()
	}
}

// Observe returns what was seen until now, with a window for each closed
// Baseline and Measure span.
func (s *Session) Observe(spans []runfile.Span) *runfile.Observed {
	hosts, readings, thinned := s.snapshot()
	observed := &runfile.Observed{
		IntervalMilliseconds: milliseconds(s.opt.interval(), thinned),
		Interfaces:           s.interfaces,
		Windows:              Align(spans, hosts, readings),
		Samples:              hosts,
		Problems:             s.problems.snapshot(),
	}
	for _, r := range readings {
		observed.Storage = append(observed.Storage, r.Sample)
	}
	return observed
}

// Finish takes the last samples, stops sampling, and returns what was seen of
// the load. It lasts at most as long as the slowest source may take, or until
// ctx ends. Further calls take no more samples.
func (s *Session) Finish(ctx context.Context, load runfile.Load) *runfile.Observed {
	s.finish.Do(func() {
		s.stop()
		s.running.Wait()
		var last sync.WaitGroup
		for _, sampler := range s.samplers {
			last.Go(func() { sampler.take(ctx, true) })
		}
		last.Wait()
		s.closeSources()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.finished = true
		s.journal.close()
	})
	return s.Observe(load.Spans)
}

// closeSources ends the sessions on the storages. One that stays open ends by
// itself some day, and is no problem of the measurement.
func (s *Session) closeSources() {
	var all sync.WaitGroup
	for _, source := range s.opened {
		all.Go(func() {
			if err := storage.Close(source); err != nil {
				s.opt.Log.Info("A source was not closed", slog.String("source", source.Name()), slog.Any("error", err))
			}
		})
	}
	all.Wait()
}

// LastSample returns when the client was last sampled; zero if it never was.
func (s *Session) LastSample() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hosts.items) == 0 {
		return time.Time{}
	}
	return s.hosts.items[len(s.hosts.items)-1].value.Time
}

func (s *Session) takeHost(_ context.Context, mark bool) {
	sample := s.host.sample(s.wallTime())
	s.mu.Lock()
	defer s.mu.Unlock()
	thinned := s.hosts.add(sample, mark)
	s.keep(entry{Host: &sample, Edge: mark}, thinned)
}

func (s *Session) takeStorage(ctx context.Context, n int, source storage.Source, mark bool) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	before := s.opt.Now()
	snapshot, err := source.Sample(ctx)
	for until := before.Add(firstPatience); errors.Is(err, syscall.ECONNREFUSED) && !s.hasAnswered(n) && s.opt.Now().Before(until) && sleep(ctx, firstPause); {
		before = s.opt.Now()
		snapshot, err = source.Sample(ctx)
	}
	took := s.opt.Now().Sub(before)
	if err != nil {
		if outer.Err() == nil { // being stopped is no failure of the source
			s.problem(source.Name(), err)
		}
		return
	}
	at := before.Add(took / 2).Round(0)
	if snapshot.Time.IsZero() {
		snapshot.Time = at
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reading := Reading{At: at, Epoch: snapshot.Epoch, Sample: storageSample(source.Name(), snapshot)}
	thinned := s.readings[n].add(reading, mark)
	s.keep(entry{Reading: &reading, Edge: mark}, thinned)
}

// hasAnswered says whether a source was ever read.
func (s *Session) hasAnswered(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.readings[n].items) > 0
}

// wallTime is without Go's monotonic reading: the loader's times have none,
// and all times must be compared on the same clock.
func (s *Session) wallTime() time.Time { return s.opt.Now().Round(0) }

func (s *Session) problem(source string, err error) {
	now, first := s.problems.add(source, err, s.wallTime())
	if first {
		s.opt.Log.Warn("A source can not be sampled", slog.String("source", source), slog.Any("error", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(entry{Problem: &now}, false)
}

func (s *Session) snapshot() ([]runfile.HostSample, []Reading, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thinned := s.hosts.thinned
	var readings []Reading
	for _, series := range s.readings {
		readings = append(readings, series.values()...)
		thinned = max(thinned, series.thinned)
	}
	return s.hosts.values(), readings, thinned
}

// milliseconds is the largest distance of samples that were thinned 2:1.
func milliseconds(interval time.Duration, thinned int) int32 {
	distance := float64(interval.Milliseconds()) * math.Pow(2, float64(thinned))
	return int32(min(distance, math.MaxInt32))
}
