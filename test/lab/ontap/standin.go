// Package ontap is a stand-in for the REST interface of a NetApp ONTAP cluster.
//
// It plays the part of ONTAP in tests and says so in its name and version, so that nobody takes a figure
// for one of a NetApp. Its counters come from a Truth: real processes that really serve NFS, or values from
// a test. Names, units, defaults and traps are those of ONTAP 9.12 and later, as in its own documentation,
// Trident and Harvest: expensive fields only on request, pages, statistics that stand still for 15 seconds,
// an account that may not see the cluster, and error bodies whose code is text or a number.
package ontap

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Version is the version that the stand-in reports: nobody may take it for a real array.
const Version = "NetApp Release 9.14.1 (nfsbench stand-in): simulated, no array of NetApp"

// mark is in the name of each cluster that the stand-in plays: a survey names its
// cluster, and a result with that survey is known to be simulated.
const mark = "stand-in"

// Options are the settings of a stand-in.
type Options struct {
	Truth Truth
	Model Model
	// Grid is the interval of statistics and their timestamps; 0 = 15 s, as with ONTAP. The timestamp
	// of a reading is a multiple of Grid. The reading is taken up to one timestamp step later: a whole
	// second with ONTAP, here a fifteenth of Grid.
	Grid time.Duration
	// Now is the array's clock; nil = this machine's clock. StartTLS then reads the truth on the grid;
	// with another clock the first request after a step of the grid reads it.
	Now func() time.Time
	// Replication is how long the data of a moved volume is on its way before
	// the truth is asked to cut over.
	Replication time.Duration
	// Queue is how long the job of a move waits before the volume reports it: until then the volume
	// shows its previous move, if there was one.
	Queue time.Duration
	// Wait lets the time of Replication and Queue pass, unless the context ends; nil = on the clock of
	// this machine.
	Wait func(context.Context, time.Duration) error
	// JobEndsEarly ends the job of a move successfully when the move has begun, so that only
	// movement.state shows when it is done.
	JobEndsEarly bool
	// Certificate is the certificate of StartTLS.
	Certificate Certificate
}

// Standin plays ONTAP. Its methods may be called at once and while it serves.
type Standin struct {
	opt   Options
	truth Truth
	now   func() time.Time

	mu     sync.Mutex // guards what follows
	model  Model
	jobs   map[string]*job
	moves  map[string]*movement // by UUID of the volume
	faults []*fault
	seen   []Request

	stats statistics

	ctx   context.Context //nolint:containedctx // the life of the goroutines, ended by Close
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// Request is one request that was answered, faults included.
type Request struct {
	Method, Path, Query, User string
}

// New makes a stand-in that does not serve yet.
func New(opt Options) *Standin {
	opt.Grid = cmp.Or(opt.Grid, 15*time.Second) // as with ONTAP
	s := &Standin{
		opt: opt, truth: opt.Truth, now: opt.Now, model: opt.Model.clone(),
		jobs: map[string]*job{}, moves: map[string]*movement{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.opt.Wait == nil {
		s.opt.Wait = pause
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Handler answers requests below /api.
func (s *Standin) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Close ends moves and readings that are under way and waits for them. What
// StartTLS began to serve is ended too.
func (s *Standin) Close() {
	s.stop()
	s.tasks.Wait()
}

// Model returns a copy of the stand-in's current state.
func (s *Standin) Model() Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.clone()
}

// Change lets f change what the stand-in knows.
func (s *Standin) Change(f func(*Model)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.model)
	s.model = s.model.clone() // f may have kept what it put in
}

// Requests are those that were answered so far, in order: the last 5000 at least.
func (s *Standin) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// uuidOf makes a UUID that is always the same for the same thing.
func uuidOf(kind, name string) string {
	h := sha256.Sum256([]byte(kind + "/" + name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
