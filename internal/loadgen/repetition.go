package loadgen

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	leastDrain = 10 * time.Second // minimum time for the last I/Os to end
	// endedDrain is the maximum time for the last I/Os to end after the run is cancelled or its time is over:
	// its pod will soon be killed.
	endedDrain = 20 * time.Second
)

// measuring is the state of a running repetition.
type measuring struct {
	index int32
	load  *levelLoad
	runloop.Level
	read     [2]recorder.Snapshot // the current and the previous second
	write    [2]recorder.Snapshot
	batches  struct{ read, write recorder.Batches } // of the window
	channels []runfile.Channel                      // at the last sample
	atFrom   reading                                // when the window began
	late     time.Duration                          // how much later atFrom was read
	inside   bool                                   // the window has begun
	level    *levelReport                           // for a search for capacity
	sentinel *sentinel                              // of the window; nil without Options.Nap
}

// reading holds the values that are read once at each end of the window.
type reading struct {
	channels []runfile.Channel
	servers  []runfile.NFSServer
	cpu      time.Duration
}

// Measure implements runloop.Engine: it runs warm-up and window.
func (r *Runner) Measure(ctx context.Context, rep int32, l runloop.Level) (runloop.Outcome, error) {
	r.engine.take(l.Step)
	defer target.ProvideThreads(r.engine.threads() + 1)() // and the sentinel
	m := &measuring{index: rep, Level: l, channels: r.target.Channels(), level: r.newLevelReport(rep, l)}
	// In-flight I/Os outlive a cancelled run: they are drained, not cancelled.
	ioCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if m.Warmup > 0 {
		r.loop.Enter(runfile.SpanWarmup, rep, time.Time{})
	}
	m.load = r.engine.start(ioCtx, time.Duration(m.Warmup)*time.Second, time.Duration(m.Window)*time.Second)
	err := r.watch(ctx, m)
	m.load.stop()
	m.sentinel.stop()
	end := min(r.opt.Now().Sub(m.load.base), m.load.to)
	m.load.until.Store(int64(end))
	if m.inside {
		r.putRepetition(m, end)
		r.loop.CloseSpan(m.load.base.Add(end))
		// Save the measurements before anything else: a loader that is killed while it cools down or verifies loses
		// none of them.
		r.loop.Save()
	}
	patience := max(leastDrain, time.Duration(r.opt.Plan.Engine.CallTimeoutSeconds)*time.Second)
	if ctx.Err() != nil {
		patience = min(patience, endedDrain)
	}
	drained := r.engine.drain(m.load, cancel, patience)
	switch stuck := errors.Is(drained, runloop.ErrStuck); {
	case !m.inside:
	case stuck:
		r.repetition().Pauses = r.engine.pauses(m.load, end, 0)
	default:
		r.putStonewall(m)
	}
	if !errors.Is(drained, runloop.ErrStuck) {
		r.load.Verification = new(r.engine.checked())
	}
	if drained != nil {
		return runloop.Outcome{}, errors.Join(err, drained)
	}
	select {
	case failed := <-m.load.failed: // while draining
		err = cmp.Or(err, failed)
	default:
	}
	if m.level != nil && err == nil {
		r.repetition().Level = m.level.finish(r.engine, m.load, r.opt.Plan.ReportParts())
		r.loop.Save()
		return runloop.Outcome{Level: &m.level.LevelReport}, nil
	}
	var reads recorder.Snapshot
	r.engine.rec.Read(&reads, recorder.Read, recorder.Measure)
	return runloop.Outcome{PerSecond: float64(reads.Count) / float64(l.Window), Mean: reads.Mean()}, err
}

// watch follows the load every second until the end of the window.
func (r *Runner) watch(ctx context.Context, m *measuring) error {
	if m.Warmup == 0 {
		r.beginWindow(m)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for second := 1; second <= m.Warmup+m.Window; second++ {
		at := m.load.base.Add(time.Duration(second) * time.Second)
		for again := true; again; again = r.opt.Now().Before(at) { // the clock of a test may stand still
			timer.Reset(at.Sub(r.opt.Now()))
			select {
			case <-timer.C:
			case err := <-m.load.failed:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		r.sample(m, at)
		if second == m.Warmup {
			r.beginWindow(m)
		}
	}
	return nil
}

func (r *Runner) beginWindow(m *measuring) {
	m.inside = true
	m.atFrom = r.reading()
	if r.opt.Nap != nil {
		m.sentinel = startSentinel(r.opt.Now, r.opt.Nap)
	}
	start := m.load.base.Add(m.load.from)
	m.late = r.opt.Now().Sub(start)
	r.loop.Enter(runfile.SpanMeasure, m.index, start)
	r.load.Repetitions = append(r.load.Repetitions, runfile.Repetition{Index: m.index, Start: start, Step: m.Step})
}

func (r *Runner) reading() reading {
	cpu, _ := r.opt.Usage()
	return reading{channels: r.target.Channels(), servers: r.target.Servers(), cpu: cpu}
}

// sample adds one second to the load, which belongs to the span that is ending.
func (r *Runner) sample(m *measuring, at time.Time) {
	rec := r.engine.rec
	m.read[0], m.read[1] = m.read[1], m.read[0]
	m.write[0], m.write[1] = m.write[1], m.write[0]
	rec.Read(&m.read[0], recorder.Read, recorder.Warmup, recorder.Measure, recorder.Failed)
	rec.Read(&m.write[0], recorder.Write, recorder.Warmup, recorder.Measure, recorder.Failed)
	s := runfile.LoadSample{
		Time: at, Span: r.loop.Span(), Repetition: m.index,
		Read: m.read[0].Since(&m.read[1]), Write: m.write[0].Since(&m.write[1]),
	}
	if m.inside {
		m.batches.read.Add(&m.read[0], &m.read[1], time.Second)
		m.batches.write.Add(&m.write[0], &m.write[1], time.Second)
	}
	channels := r.target.Channels()
	for i, c := range channelsSince(m.channels, channels) {
		s.Channels = append(s.Channels,
			runfile.PathBytes{ID: channels[i].ID, BytesRead: c.BytesRead, BytesWritten: c.BytesWritten})
	}
	m.channels = channels
	if m.level != nil && m.inside {
		m.level.second(rec)
	}
	r.loop.Sample(s)
	r.loop.TellAt(at, "")
	if r.loop.SaveDue(at) {
		if m.inside {
			r.putRepetition(m, at.Sub(m.load.base))
		}
		r.loop.SaveAt(at)
	}
}

// repetition returns the repetition that is being measured.
func (r *Runner) repetition() *runfile.Repetition {
	return &r.load.Repetitions[len(r.load.Repetitions)-1]
}

// putRepetition writes the results of the window until end into the load.
func (r *Runner) putRepetition(m *measuring, end time.Duration) {
	out := r.repetition()
	r.putOps(m, out)
	out.Pauses = r.engine.pauses(m.load, end, r.engine.waitsSince(end, r.done()))
	now := r.reading()
	out.End = m.load.base.Add(end)
	out.EdgeMilliseconds = max(0, m.late+r.opt.Now().Sub(out.End)).Milliseconds()
	out.Channels = channelsSince(m.atFrom.channels, now.channels)
	for i := range out.Channels {
		out.Channels[i].Losses = slices.DeleteFunc(out.Channels[i].Losses, func(l runfile.ChannelLoss) bool {
			answered, over := l.Answered()
			return over && answered.Before(out.Start)
		})
	}
	out.Servers = serversSince(m.atFrom.servers, now.servers)
	out.CPUMicroseconds = (now.cpu - m.atFrom.cpu).Microseconds()
	_, out.PeakMemoryBytes = r.opt.Usage()
	out.WakeUps = m.sentinel.wakeUps()
}

// done returns how many operations of the level have ended, including the warm-up.
func (r *Runner) done() (n uint64) {
	var s recorder.Snapshot
	for _, d := range []recorder.Direction{recorder.Read, recorder.Write} {
		r.engine.rec.Read(&s, d, recorder.Warmup, recorder.Measure, recorder.Failed)
		if d == recorder.Write || !r.engine.copies { // a copy is a read and a write
			n += uint64(s.Count + s.Errors)
		}
	}
	return n
}

func (r *Runner) putOps(m *measuring, out *runfile.Repetition) {
	out.Read = r.measured(recorder.Read, &m.batches.read)
	out.Write = r.measured(recorder.Write, &m.batches.write)
}

func (r *Runner) measured(d recorder.Direction, batches *recorder.Batches) *runfile.Ops {
	var s recorder.Snapshot
	r.engine.rec.ReadWindow(&s, d, r.engine.rate != nil)
	ops, err := s.Ops()
	if err != nil {
		r.loop.Tell("the latencies of the window cannot be written: " + err.Error())
	}
	if ops != nil {
		ops.Batches = batches.Ops()
	}
	return ops
}

// putStonewall adds the results that need all workers to have ended.
func (r *Runner) putStonewall(m *measuring) {
	out := r.repetition()
	m.sentinel.end()
	out.WakeUps = m.sentinel.wakeUps()
	end := out.End.Sub(m.load.base)
	out.Pauses = r.engine.pauses(m.load, end, recorder.NothingWaits)
	last := map[int]time.Duration{}
	var started int64
	for i := range r.engine.workers {
		w := &r.engine.workers[i]
		if w.idle {
			continue
		}
		last[w.index] = max(last[w.index], min(w.lastDone, end)-m.load.from)
		started += w.started
		out.LateOps += w.late
	}
	out.FirstDoneNanoseconds = int64(end - m.load.from)
	for _, at := range last {
		out.FirstDoneNanoseconds = min(out.FirstDoneNanoseconds, int64(max(at, 0)))
		out.LastDoneNanoseconds = max(out.LastDoneNanoseconds, int64(at))
	}
	if rate := r.engine.rate; rate != nil {
		due := int64(rate.countBefore(end) - rate.countBefore(m.load.from))
		out.DroppedOps = max(0, due-started)
		if m.level == nil {
			r.engine.waitInVain(m.load, end)
		}
	}
	r.putOps(m, out)
}

// channelsSince returns the differences of the counters at two moments. A channel that layouts opened in
// between counts from zero.
func channelsSince(before, now []runfile.Channel) []runfile.Channel {
	if len(now) == 0 {
		return nil
	}
	out := make([]runfile.Channel, len(now))
	for i, c := range now {
		same := func(b runfile.Channel) bool { return b.ID == c.ID }
		if at := slices.IndexFunc(before, same); at >= 0 {
			b := before[at]
			c.Sends -= b.Sends
			c.Receives -= b.Receives
			c.BytesRead -= b.BytesRead
			c.BytesWritten -= b.BytesWritten
			c.Reconnects -= b.Reconnects
			c.Retransmits -= b.Retransmits
			c.DownMilliseconds -= b.DownMilliseconds
		}
		out[i] = c
	}
	return out
}

// serversSince returns the differences of the counters at two moments. A layout may name any number of data
// servers, so it keeps only the first ones.
func serversSince(before, now []runfile.NFSServer) []runfile.NFSServer {
	if len(now) == 0 {
		return nil
	}
	out := slices.Clone(now[:min(len(now), runfile.MaxServers)])
	for i, s := range out {
		same := func(b runfile.NFSServer) bool { return b.ID == s.ID }
		if at := slices.IndexFunc(before, same); at >= 0 {
			out[i] = s.Since(before[at])
		}
	}
	return out
}
