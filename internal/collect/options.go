package collect

import (
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	defaultInterval = time.Second
	shortestSample  = 10 * time.Millisecond
	// sourceTimeout bounds one call to a storage source.
	sourceTimeout = 5 * time.Second
	// firstPatience is how long a source that never answered may refuse connections: a
	// Service that was just made is known on a node only a moment later.
	firstPatience = 3 * time.Second
	firstPause    = 200 * time.Millisecond
)

// Options says what a Session samples. Plan, Now and Log must be set.
type Options struct {
	Plan runfile.Plan
	Now  func() time.Time
	Log  *slog.Logger
	// Sources are the storage's counters; nil makes those of the plan.
	Sources []storage.Source
	// Root is the file tree with proc and sys; nil is that of this machine.
	Root fs.FS
	// SameProcess says that the load runs in this process, so that its control
	// group is ours and can be seen.
	SameProcess bool
	// Client is the index of this client: sources of which one client suffices
	// are left to the first.
	Client int32
	// SecretsDir is the folder with the credentials of sources.
	SecretsDir string
	// Journal is a file that keeps the samples for a successor, should this
	// process be killed; what it holds already is taken over. Empty is none.
	Journal string
}

func (o Options) withDefaults() Options {
	if o.Root == nil {
		o.Root = os.DirFS("/")
	}
	return o
}

func (o Options) interval() time.Duration { return interval(o.Plan.Collect.IntervalMilliseconds) }

// sourceInterval is that of a source which has one of its own.
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
