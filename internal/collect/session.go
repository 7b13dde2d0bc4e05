// Package collect observes a load: it samples the counters of the client and of the storage, assigns them to
// the windows of the loader, and publishes progress and result.
//
// Start returns a Session, which only samples; a program that makes the load itself embeds it. Run is the
// sidecar of a loader in another container. The two share a run directory, see package runfile:
//
//	loader                      collector (Run)
//	                            collector-ready: the loader may start
//	events.jsonl  ───────────▶  spans, progress
//	load.json     ───────────▶  partial and final results
//	              ◀───────────  release: all clients may start
//	                            collector-final: the last result is published
//
// The collector never fails a load: it reports counters that it cannot sample as a Problem in the result, and
// tries again to publish after an error. If it is asked to stop before the loader has sent a final event, the
// loader has crashed: the result says so and has everything that was measured until then.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	defaultInterval = time.Second
	shortestSample  = 10 * time.Millisecond
	// sourceTimeout bounds one call to a storage source.
	sourceTimeout = 5 * time.Second
	// firstPatience is how long a source that never answered may refuse connections: a node learns of a new
	// Service only a moment later.
	firstPatience = 3 * time.Second
	firstPause    = 200 * time.Millisecond
)

// Options configures a Session. Plan, Now and Log must be set.
type Options struct {
	Plan runfile.Plan
	Now  func() time.Time
	Log  *slog.Logger
	// Sources are the storage sources; nil = the plan's sources.
	Sources []storage.Source
	// Root is the file tree with proc and sys; nil = the file tree of this machine.
	Root fs.FS
	// SameProcess means that the load runs in this process, so that the collector can read the control group of
	// the load.
	SameProcess bool
	// Client is the index of this client. Only the first client samples a source that needs one client.
	Client int32
	// SecretsDir is the folder with the credentials of sources.
	SecretsDir string
	// Journal is a file that keeps the samples for a successor if this process is killed. The session takes over
	// its present content. Empty = no journal.
	Journal string
}

func (o Options) interval() time.Duration { return interval(o.Plan.Collect.IntervalMilliseconds) }

// sourceInterval returns the interval of a source: its own, or else the interval of the session.
func (o Options) sourceInterval(name string) time.Duration {
	for _, s := range o.Plan.Collect.Sources {
		if s.Name == name && s.IntervalMilliseconds > 0 {
			return interval(s.IntervalMilliseconds)
		}
	}
	return o.interval()
}

func interval(milliseconds int32) time.Duration {
	if milliseconds <= 0 {
		return defaultInterval
	}
	return max(time.Duration(milliseconds)*time.Millisecond, shortestSample)
}

// Session samples client and storage until Finish. Client and each source have their own goroutine, so that a
// slow source delays no other. Its methods are safe for concurrent use.
type Session struct {
	opt        Options
	problems   problems
	interfaces []runfile.Interface
	host       *hostReader
	samplers   []*sampler
	opened     []storage.Source // by the session, which closes them
	stop       context.CancelFunc
	running    sync.WaitGroup
	finish     sync.Once
	resumed    time.Time // time of the last sample of a killed collector; zero: there was none

	mu       sync.Mutex
	finished bool
	hosts    series[runfile.HostSample]
	readings []series[Reading] // one for each source
	journal  *journal
	event    *runfile.Event      // the last event of the loader, for Metrics; nil: there was none
	second   *runfile.LoadSample // the last second of its load, for Metrics
}

// Start starts sampling. Sampling ends with ctx or with Finish, which must be called in either case.
func Start(ctx context.Context, o Options) *Session {
	if o.Root == nil {
		o.Root = os.DirFS("/")
	}
	s := &Session{opt: o, hosts: series[runfile.HostSample]{limit: maxSamples}}
	if o.Sources == nil {
		o.Sources = planSources(o, s.problem)
		s.opened = o.Sources
	}
	s.host = newHostReader(o, s.problem)
	interfaces, err := procfs.Reader{Root: o.Root}.Interfaces()
	if err != nil {
		s.problem("host interfaces", err)
	}
	s.interfaces = interfaces
	s.samplers = append(s.samplers, newSampler(o.interval(), s.takeHost))
	for n, source := range o.Sources {
		s.readings = append(s.readings, newReadings())
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

// Mark requests a sample of everything now, because a window begins or ends. It does not wait for the
// samples.
func (s *Session) Mark() {
	for _, sampler := range s.samplers {
		sampler.mark()
	}
}

// Observe returns the observations so far, with a window for each closed Baseline and Measure span of a load
// and each phase of its calibrations.
func (s *Session) Observe(load runfile.Load) *runfile.Observed {
	s.mu.Lock()
	hosts, thinned := s.hosts.values(), s.hosts.thinned
	var readings []Reading
	for _, series := range s.readings {
		readings = append(readings, series.values()...)
		thinned = max(thinned, series.thinned)
	}
	s.mu.Unlock()
	observed := &runfile.Observed{
		IntervalMilliseconds: milliseconds(s.opt.interval(), thinned),
		Interfaces:           s.interfaces,
		Windows:              Align(slices.Concat(load.Spans, phases(load)), hosts, readings),
		Samples:              hosts,
		Problems:             s.problems.snapshot(),
	}
	for _, r := range readings {
		observed.Storage = append(observed.Storage, r.Sample)
	}
	return observed
}

// Finish takes the last samples, stops sampling, and returns the observations of the load. It takes at most
// as long as the slowest source, or until ctx ends. Further calls take no more samples.
func (s *Session) Finish(ctx context.Context, load runfile.Load) *runfile.Observed {
	s.finish.Do(func() {
		s.stop()
		s.running.Wait()
		var last sync.WaitGroup
		for _, sampler := range s.samplers {
			last.Go(func() { sampler.take(ctx, true) })
		}
		last.Wait()
		for _, source := range s.opened {
			last.Go(func() {
				// An abandoned session on the storage expires, and does not affect the measurement.
				if err := storage.Close(source); err != nil {
					s.opt.Log.Info("A source was not closed", slog.String("source", source.Name()), slog.Any("error", err))
				}
			})
		}
		last.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.finished = true
		s.journal.close()
	})
	return s.Observe(load)
}

func (s *Session) takeHost(_ context.Context, mark bool) {
	sample := s.host.sample(s.wallTime())
	sample.TookMilliseconds = max(0, s.wallTime().Sub(sample.Time).Milliseconds())
	s.mu.Lock()
	before := s.hosts.latest(1)
	thinned := s.hosts.add(sample, mark)
	s.keep(entry{Host: &sample, Edge: mark}, thinned)
	s.mu.Unlock()
	switch both := append(before, sample); {
	case mountWentBack(both):
		s.problem(problemMount, errMountWentBack)
	case connectionsChanged(both):
		s.problem(problemMount, errConnections)
	}
}

func (s *Session) takeStorage(ctx context.Context, n int, source storage.Source, mark bool) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	answered := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.readings[n].items) > 0
	}
	before := s.opt.Now()
	snapshot, err := source.Sample(ctx)
	for until := before.Add(firstPatience); errors.Is(err, syscall.ECONNREFUSED) && !answered() &&
		s.opt.Now().Before(until) && sleep(ctx, firstPause); {
		before = s.opt.Now()
		snapshot, err = source.Sample(ctx)
	}
	took := s.opt.Now().Sub(before)
	if err != nil {
		if outer.Err() == nil { // after a stop the error is not a failure of the source
			s.problem(source.Name(), err)
		}
		return
	}
	at := before.Add(took / 2).Round(0)
	snapshot.Source, snapshot.Time = source.Name(), snapshot.Time.Round(0)
	if snapshot.Time.IsZero() {
		snapshot.Time = at
	}
	reading := Reading{At: at, Epoch: snapshot.Epoch, Sample: snapshot.StorageSample}
	if size := reading.bytes(); size > maxReadingBytes {
		s.problem(source.Name(), fmt.Errorf("a sample takes %d bytes, more than %d: it has %d nodes, %d addresses and "+
			"%d clients", size, maxReadingBytes, len(snapshot.Nodes), len(snapshot.Paths), len(snapshot.Clients)))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	thinned := s.readings[n].add(reading, mark)
	s.keep(entry{Reading: &reading, Edge: mark}, thinned)
}

// wallTime returns the time without Go's monotonic reading: the loader's times have none, and all times must
// be compared on the same clock.
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

// milliseconds returns the largest distance between samples after thinning them 2:1 several times.
func milliseconds(interval time.Duration, thinned int) int32 {
	distance := float64(interval.Milliseconds()) * math.Pow(2, float64(thinned))
	return int32(min(distance, math.MaxInt32))
}
