package loadgen

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// users describes a load whose steps differ in the number of users or of outstanding reads. One set of
// workers serves all steps: in a smaller step only the first of them work, over the same connections and open
// files.
type users struct {
	perUser      int // workers of each user: reads ahead
	small, large int64
	fileBytes    int64
	tables       []*job // all files
	most         int    // workers of the largest step
	wide         int    // number of the first workers that do large operations
}

// user is the state of a worker in a load with users. It belongs to the caller of the worker's next.
type user struct {
	slot  int    // workers with lower slots work first
	whole []byte // the worker's buffer; a step may use only its beginning
	// tables are the files from which each read draws one; nil = the worker's own file.
	tables        []*job
	updatePercent int
	think         think

	done  int64         // operations since the last pause
	until time.Duration // end of the current pause; 0 = there is none
}

// think defines the pauses of a user.
type think struct {
	every       int64 // operations; 0 = never
	least, most time.Duration
}

// thinkOf returns the pauses of a plan. They come after a number of statements. A statement of SLOB touches
// WorkUnit blocks, each of which is an operation here. Beyond that a work unit has no meaning for storage,
// because its blocks are read one after the other.
func thinkOf(s *bench.SLOBWorkload) think {
	if s.Think == nil {
		return think{}
	}
	return think{
		every: int64(s.Think.Frequency) * int64(max(s.WorkUnit, 1)),
		least: time.Duration(s.Think.MinimumMilliseconds) * time.Millisecond,
		most:  time.Duration(s.Think.MaximumMilliseconds) * time.Millisecond,
	}
}

// begin resets the state of an earlier level.
func (u *user) begin() { u.done, u.until = 0, 0 }

// pause returns how long the worker still thinks before its next operation. Think time is not latency. It is
// bounded like the wait of an open loop, so that a stream notices the end of the level.
func (w *worker) pause(now time.Duration) time.Duration {
	u := w.user
	if u.think.every == 0 || u.done < u.think.every {
		return 0
	}
	if u.until == 0 {
		u.until = now + u.think.least
		if spread := u.think.most - u.think.least; spread > 0 {
			u.until += time.Duration(w.random.Int64N(int64(spread) + 1))
		}
	}
	if now < u.until {
		return min(u.until, w.load.to, now.Truncate(longestWait)+longestWait) - now
	}
	u.begin()
	return 0
}

// draw chooses the next operation of a user, except its block.
func (w *worker) draw() {
	u := w.user
	u.done++
	if u.tables != nil {
		w.job = u.tables[w.random.IntN(len(u.tables))]
	}
	w.updates = u.updatePercent > 0 && w.random.IntN(100) < u.updatePercent
}

// mostStreams bounds the connections and threads, which many users share; slotsPerStream is the number of
// outstanding reads that justify another stream.
const (
	mostStreams    = 4
	slotsPerStream = 64
)

// newUserEngine prepares the workers of a calibration or a SLOB load, enough for its largest step,
// for a target with the given number of channels.
func newUserEngine(plan *runfile.Plan, client int32, jobs []fileset.Job, channels int,
	now func() time.Time,
) (*engine, error) {
	u := newUsers(plan)
	for i := range jobs {
		u.tables = append(u.tables, &job{Job: jobs[i]})
	}
	e := &engine{
		now: now, users: u, draws: plan.Workload.Calibrate != nil, blockBytes: u.large, paces: newArrivals(plan, client),
	}
	if u.wide == 0 {
		e.blockBytes, e.draws = u.small, true
	}
	streams, together := u.streams(), max(channels, 1)
	e.perStream = (u.most + streams*together - 1) / (streams * together) * together
	e.workers = make([]worker, streams*e.perStream)
	narrow, err := e.buffers(len(e.workers), u.small)
	if err != nil {
		return nil, err
	}
	wide, err := e.buffers(max(u.wide, 1), u.large)
	if err != nil {
		return nil, errors.Join(err, e.release())
	}
	for i := range e.workers {
		// A stream spreads its slots over the channels in turn. Each stream therefore gets that many slots in a
		// row; otherwise the first users would share the first channel.
		stream, of := i/e.perStream, i%e.perStream
		slot := (of/together*streams+stream)*together + of%together
		w := &e.workers[i]
		w.engine, w.index, w.idle, w.turn = e, slot/u.perUser, true, uint64(i)
		w.user = &user{slot: slot, whole: narrow.Buffer(i)}
		if slot < u.wide {
			w.user.whole = wide.Buffer(slot)
		}
		w.source = *rand.NewPCG(plan.Seed, uint64(client)<<48|uint64(slot))
		w.random = *rand.New(&w.source)
	}
	u.assign(plan.Workload, e.workers)
	return e, nil
}

// newUsers returns the users of a plan, without their files.
func newUsers(plan *runfile.Plan) *users {
	files := plan.Files()
	u := &users{perUser: 1, small: files.BlockSizeBytes, large: files.LargeReadBytes, fileBytes: files.SizeBytes}
	if c := plan.Workload.Calibrate; c != nil {
		small, large := ceilings(c)
		u.most, u.wide = int(max(small, large)), int(large)
		return u
	}
	s := plan.Workload.SLOB
	most := int32(1)
	for _, n := range s.Ramp() {
		most = max(most, n)
	}
	u.most = int(most)
	if s.Access == bench.SLOBFullTableScan {
		u.perUser = int(max(s.ReadAhead, 1))
		u.most *= u.perUser
		u.wide = u.most
	}
	return u
}

// streams returns the number of streams that share the operations of the largest step.
func (u *users) streams() int { return min(mostStreams, (u.most+slotsPerStream-1)/slotsPerStream) }

// assign gives each worker its file, its updates and its pauses.
func (u *users) assign(load bench.Workload, workers []worker) {
	scans := u.scans(load.SLOB, workers)
	for i := range workers {
		w := &workers[i]
		switch {
		case load.Calibrate != nil:
			w.job, w.user.tables = u.tables[0], u.tables
		case scans != nil:
			w.job = scans[w.index]
		default:
			w.job = u.tables[w.index%len(u.tables)]
			w.user.updatePercent, w.user.think = int(load.SLOB.UpdatePercent), thinkOf(load.SLOB)
		}
	}
}

// scans gives each user of a scan its own place in its schema's table: users of the same table start at even
// distances. The reads ahead of one user share its place.
func (u *users) scans(s *bench.SLOBWorkload, workers []worker) []*job {
	if s == nil || s.Access != bench.SLOBFullTableScan {
		return nil
	}
	count := 0
	for i := range workers {
		count = max(count, workers[i].index+1)
	}
	sharing := (count + len(u.tables) - 1) / len(u.tables)
	pieces := u.fileBytes / u.large
	scans := make([]*job, count)
	for i := range scans {
		scans[i] = &job{Job: u.tables[i%len(u.tables)].Job}
		scans[i].next.Store(uint64(pieces * int64(i/len(u.tables)) / int64(sharing)))
	}
	return scans
}

// take prepares the workers for a step. No level may be running.
func (e *engine) take(step *runfile.Step) {
	if step == nil {
		return
	}
	rated := step.Kind == runfile.StepRate
	if rated {
		e.rate = e.paces.pacer(step.OperationsPerSecond)
	}
	if e.users == nil {
		return
	}
	block := e.blockBytes
	if step.Kind == runfile.StepSmallReads {
		block = e.users.small
	}
	e.blocks = e.users.fileBytes / block
	for i := range e.workers {
		w := &e.workers[i]
		w.idle = w.user.slot >= int(step.Users)*e.users.perUser
		if rated {
			w.idle = w.user.slot >= e.users.most
		}
		w.buf = w.user.whole[:min(block, int64(len(w.user.whole)))] // an idle worker may have a shorter buffer
	}
}
