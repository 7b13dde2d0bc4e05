package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func checkStandIn(c *facts, found *findings) {
	database := slices.ContainsFunc(c.oracles, func(o runfile.Oracle) bool { return o.StandIn })
	if database {
		found.info(SimulatedDatabase, "The database was a stand-in for Oracle. The numbers show that nfsbench works, and "+
			"nothing about Oracle. Use an image of Oracle.")
	}
	source := func(s runfile.Source) bool { return strings.Contains(s.Name, runfile.StandIn) }
	if c.Simulated && !database || c.Plan.Survey.IsStandIn() || slices.ContainsFunc(c.Plan.Collect.Sources, source) {
		found.info(SimulatedStorage, "A stand-in for real storage took part. The numbers show that nfsbench works, and "+
			"nothing about an array. Set spec.storage to an export or a claim of yours.")
	}
}

// checkMissing reports what the array did not.
func checkMissing(c *facts, found *findings) {
	for _, m := range c.survey.Missing {
		fix := ""
		if m.Fix != "" {
			fix = " " + strings.TrimSuffix(m.Fix, ".") + "."
		}
		found.info(ArrayMetricsPartial, "The array did not report %s: %s.%s", m.What, strings.TrimSuffix(m.Why, "."), fix)
	}
	for _, s := range c.silent {
		found.warn(ArrayMetricsPartial, "Source %s has no usable counters in %d of %d repetitions: %s.", s.source,
			s.repetitions, len(c.shown()), s.why)
	}
}

// silence is a source without a usable window in some repetitions.
type silence struct {
	source      string
	repetitions int
	why         string
}

// silences leaves out what the embedded server does not report, which is NotCollected. A source that only one
// client samples is not expected from the others.
func (c *facts) silences() (all []silence) {
	if len(c.Clients) == 0 || c.Clients[0].Observed == nil {
		return nil
	}
	for _, source := range c.Plan.Collect.Sources {
		if s := c.silenceOf(source.Name); s.repetitions > 0 && source.Kind != runfile.SourceEmbedded {
			all = append(all, s)
		}
	}
	return all
}

func (c *facts) silenceOf(source string) silence {
	s := silence{source: source}
	is := func(w runfile.StorageWindow) bool { return w.Source == source }
	for _, rep := range c.shown() {
		if !slices.ContainsFunc(rep.storage, is) {
			s.repetitions++
			s.why = cmp.Or(s.why, unusable(rep.parts, is))
		}
	}
	for _, cl := range c.Clients {
		for _, p := range bench.OrZero(cl.Observed).Problems {
			if p.Source == source {
				s.why = fmt.Sprintf("it could not be read %d times (%s)", p.Count, strings.TrimSuffix(p.Message, "."))
			}
		}
	}
	return s
}

func unusable(parts []clientRep, is func(runfile.StorageWindow) bool) string {
	for _, p := range parts {
		for _, w := range bench.OrZero(p.window).Storage {
			switch {
			case !is(w):
			case w.Reset:
				return "its counters went back, as after a takeover or a restart"
			case p.rep.Step != nil && p.rep.Step.Kind == runfile.StepRate:
				return "its counters did not change between two readings: levels end earlier than the storage updates its " +
					"counters, every few seconds (ONTAP: 15)"
			default:
				return "its counters did not change between two readings; the storage updates them every few seconds (ONTAP: " +
					"15), so use run.durationSeconds of 60 or more"
			}
		}
	}
	return "there are no two readings of it in the window: use a longer run.durationSeconds"
}

func checkStorageCPU(c *facts, found *findings) {
	if reason := c.limitedBy(LimitStorageCPU); reason != "" {
		found.warn(StorageCPUBound, "%s It limits the capacity: spread the load over more nodes, or use a larger one.",
			reason)
		return
	}
	for _, busy := range busyStorage(c.overall) {
		found.warn(StorageCPUBound, "%s: it is the limit. Spread the load over more nodes, or use a larger one.",
			capital(busy))
	}
}

// bindsLoad reports whether the CPU of a node holds the load back: it is busy, and
// the load is its work. Where the owner is known, a node that neither owns the
// data nor has a path is busy for somebody else.
func bindsLoad(nodes []StorageNode, n StorageNode) bool {
	ownerKnown := slices.ContainsFunc(nodes, func(o StorageNode) bool { return o.Owner && o.Source == n.Source })
	return atLeastPermille(n.CPUPermille, cpuBusy) && (n.Owner || n.Entry || !ownerKnown)
}

// disagreement compares what the storage counted in one direction with what the clients did, in the
// repetition with the largest difference.
type disagreement struct {
	source, direction string
	more              bool
	array, clients    float64 // bytes per second
	repetitions       []string
}

// checkArray compares the storage's bytes with the clients'. More are somebody
// else's; fewer were answered on the way.
func checkArray(c *facts, found *findings) {
	var all []disagreement
	for _, s := range c.repetitions {
		for _, w := range s.storage {
			for _, d := range c.disagreements(s, w) {
				all = withDisagreement(all, d)
			}
		}
	}
	for _, d := range all {
		meaning := "somebody else uses it. Run again when it is quiet"
		if !d.more {
			meaning = "a cache on the way answered the rest, or storage.array names another volume than the load uses. " +
				"Use direct I/O and files larger than the caches, and check the name of the volume"
		}
		found.warn(ArrayDisagrees, "Storage %s counted %s of %s and the clients %s (repetition %s): %s.", d.source,
			human.Throughput(d.array), d.direction, human.Throughput(d.clients), listed(d.repetitions), meaning)
	}
}

// withDisagreement says the same of several repetitions once, with the worst.
func withDisagreement(all []disagreement, d disagreement) []disagreement {
	i := slices.IndexFunc(all, func(o disagreement) bool {
		return o.source == d.source && o.direction == d.direction && o.more == d.more
	})
	if i < 0 {
		return append(all, d)
	}
	repetitions := slices.Concat(all[i].repetitions, d.repetitions)
	if math.Abs(all[i].array-all[i].clients) < math.Abs(d.array-d.clients) {
		all[i] = d
	}
	all[i].repetitions = repetitions
	return all
}

// disagreements returns those of one repetition and source, over the seconds that the storage counted.
func (c *facts) disagreements(s repetition, w runfile.StorageWindow) []disagreement {
	uncounted := c.Plan.Database != nil && s.Total.Ops == 0
	// The samples of a Prometheus are older than their time, which long windows forgive.
	stale := w.Seconds < scrapedSeconds && c.isPrometheus(w)
	if stale || s.DurationMilliseconds <= 0 || uncounted {
		return nil
	}
	var found []disagreement
	for _, d := range []struct {
		name  string
		array *int64
		of    *Direction
		kind  direction
	}{
		{"reads", w.ReadBytes, s.Read, reads},
		{"writes", w.WriteBytes, s.Write, writes},
	} {
		if d.array == nil {
			continue
		}
		array, did := float64(*d.array)/w.Seconds, c.clientsDid(s, w, d.of, d.kind)
		more := array > did.most
		if more || array < did.least && !c.mayMiss(d.kind) {
			found = append(found, disagreement{
				source: w.Source, direction: d.name, more: more, array: array, clients: did.rate,
				repetitions: []string{fmt.Sprint(s.Repetition)},
			})
		}
	}
	return found
}

// expected is what the storage should have counted, in bytes per second: the clients' rate, and the
// least and most that agree with it.
type expected struct{ rate, least, most float64 }

// clientsDid returns what the clients did in one direction in the seconds of a storage window, from
// their samples of these seconds. Without samples it uses their mean. The tolerance then grows by the
// part of the repetition outside the window or without all clients, where the load may have differed.
func (c *facts) clientsDid(s repetition, w runfile.StorageWindow, d *Direction, kind direction) expected {
	if e, known := c.sampledDid(s, w, d, kind); known {
		return e
	}
	e := expected{rate: bench.OrZero(d).bytesPerSec}
	coverage := min(w.Seconds*1000/float64(s.DurationMilliseconds), 1)
	tolerance := (arrayTolerance+s.edgePermille())/1000 + 1 - coverage + 1 - s.together
	e.least = e.rate*(1-tolerance) - foreignBytesPerSecond
	e.most = e.rate*(1+tolerance) + foreignBytesPerSecond
	return e
}

// sampledDid returns false in three cases: the samples do not cover all of the load (Oracle counts
// the reads of its own processes elsewhere), the window is so short that a small error of its
// length matters, or the times of the counters are unknown. A Prometheus reports values older than
// their time, and each node of a FlexGroup counts at its own time.
func (c *facts) sampledDid(s repetition, w runfile.StorageWindow, d *Direction, kind direction) (expected, bool) {
	length := w.End.Sub(w.Start)
	if w.Start.IsZero() || length < sampledLeast || s.Total.Ops == 0 || c.isPrometheus(w) ||
		c.volume.Style == "flexgroup" || !c.sampledAll(s, d, kind) {
		return expected{}, false
	}
	offsets := clockOffsets(s.parts)
	// The offset between the clocks of storage and client is known only to within one sampling
	// interval. In addition, each end of the window may be later than its timestamp, by stampError.
	unsure := c.sourceInterval(w.Source)
	var e expected
	for i, shift := range []time.Duration{0, -unsure, -unsure / 2, unsure / 2, unsure} {
		var bytes, least, most float64
		for k, p := range s.parts {
			// The window uses the clock of the first client, which queries the storage.
			start := w.Start.Add(shift + offsets[0] - offsets[k])
			ops := [2]*runfile.Ops{reads: p.rep.Read, writes: p.rep.Write}
			load, rate := c.timelines[p.client.Index], float64(bench.OrZero(ops[kind]).Bytes)/p.seconds
			did, _ := load.between(start, start.Add(length), kind, rate)
			low, _ := load.between(start.Add(stampError), start.Add(length), kind, rate)
			_, high := load.between(start, start.Add(length+stampError), kind, rate)
			bytes, least, most = bytes+did, least+low, most+high
		}
		if i == 0 {
			e = expected{rate: bytes / length.Seconds(), least: least, most: most}
		}
		e.least, e.most = min(e.least, least), max(e.most, most)
	}
	slack := max(s.Total.bytesPerSec*foreignShare/1000, ownBytesPerSecond)
	e.least = e.least/w.Seconds*(1-sampledTolerance/1000.0) - slack
	e.most = e.most/w.Seconds*(1+sampledTolerance/1000.0) + slack
	return e, true
}

// sampledAll reports whether the samples of a repetition add up to its load.
func (c *facts) sampledAll(s repetition, d *Direction, kind direction) bool {
	missing := bench.OrZero(d).Bytes
	for _, p := range s.parts {
		load := c.timelines[p.client.Index]
		if load == nil {
			return false
		}
		missing -= load.measured[s.Repetition][kind]
	}
	return math.Abs(float64(missing))*1000 <= float64(s.Total.Bytes)*sampledMissing
}

// direction is the kind of an operation.
type direction int

const (
	reads direction = iota
	writes
)

// timeline is what one client did, cumulative over its samples.
type timeline struct {
	began, ended []time.Time        // of each sample
	covered      []time.Duration    // time covered by all samples before each
	bytes        [][2]float64       // bytes of all samples before each
	measured     map[int32][2]int64 // bytes sampled in each repetition
}

// newTimeline returns nil if samples are missing.
func newTimeline(load runfile.Load) *timeline {
	samples := load.Samples
	byTime := func(a, b runfile.LoadSample) int { return a.Time.Compare(b.Time) }
	if load.SampleSeconds > 1 || len(samples) == 0 || !slices.IsSortedFunc(samples, byTime) {
		return nil
	}
	t := &timeline{covered: make([]time.Duration, 1), bytes: make([][2]float64, 1), measured: map[int32][2]int64{}}
	for i, s := range samples {
		began := s.Time.Add(-time.Second)
		// A late sample, and the last sample of a span, have a different length.
		last := samples[max(i-1, 0)]
		if i > 0 && (last.Time.After(began) || last.Span == s.Span && last.Repetition == s.Repetition) {
			began = last.Time
		}
		sum := t.bytes[i]
		measured := t.measured[s.Repetition]
		for kind, ops := range []*runfile.SampleOps{s.Read, s.Write} {
			sum[kind] += float64(bench.OrZero(ops).Bytes)
			measured[kind] += bench.OrZero(ops).Bytes
		}
		if s.Span == runfile.SpanMeasure {
			t.measured[s.Repetition] = measured
		}
		t.began, t.ended = append(t.began, began), append(t.ended, s.Time)
		t.covered, t.bytes = append(t.covered, t.covered[i]+s.Time.Sub(began)), append(t.bytes, sum)
	}
	return t
}

// between returns the least and the most that was done in a period. Time without a sample counts as
// idle for the least, and as the given rate of bytes per second for the most.
func (t *timeline) between(from, to time.Time, kind direction, rate float64) (least, most float64) {
	coveredFrom, bytesFrom := t.until(from, kind)
	coveredTo, bytesTo := t.until(to, kind)
	least = bytesTo - bytesFrom
	return least, least + rate*(to.Sub(from)-(coveredTo-coveredFrom)).Seconds()
}

// until returns the time and bytes that the samples cover up to a moment, with a share of a partial sample.
func (t *timeline) until(at time.Time, kind direction) (covered time.Duration, bytes float64) {
	i, _ := slices.BinarySearchFunc(t.ended, at, time.Time.Compare)
	covered, bytes = t.covered[i], t.bytes[i][kind]
	if i < len(t.ended) && at.After(t.began[i]) {
		part, length := at.Sub(t.began[i]), t.ended[i].Sub(t.began[i])
		covered += part
		bytes += (t.bytes[i+1][kind] - t.bytes[i][kind]) * part.Seconds() / length.Seconds()
	}
	return covered, bytes
}

// sourceInterval returns the time between two readings of a source.
func (c *facts) sourceInterval(name string) time.Duration {
	interval := c.Plan.Collect.IntervalMilliseconds
	for _, s := range c.Plan.Collect.Sources {
		if s.Name == name && s.IntervalMilliseconds > 0 {
			interval = s.IntervalMilliseconds
		}
	}
	return time.Duration(cmp.Or(interval, 1000)) * time.Millisecond
}

// mayMiss says that the array may count less than the clients: reads that a cache of the client
// answers, and the redo that a database writes to an export beside the volume that is counted.
func (c *facts) mayMiss(kind direction) bool {
	if kind == writes {
		return bench.OrZero(c.Plan.Database).RedoDirectory != ""
	}
	if !c.kernel() {
		return false
	}
	var found findings
	checkClientCache(c, &found)
	checkServerCache(c, &found)
	return slices.ContainsFunc(found, func(f bench.Finding) bool { return f.Severity == bench.SeverityWarning })
}

func (c *facts) isPrometheus(w runfile.StorageWindow) bool {
	return slices.ContainsFunc(c.Plan.Collect.Sources, func(s runfile.Source) bool {
		return s.Name == w.Source && s.Kind == runfile.SourcePrometheus
	})
}

// checkQoS compares the load with the ceiling of the volume. The ceiling counts operations of NFS, as the
// clients do; the counters of a volume have others (LayerVolume), of the same bytes.
func checkQoS(c *facts, found *findings) {
	q := c.volume.QoS
	if q == nil {
		return
	}
	ops, bytes := 0.0, c.overall.Total.bytesPerSec
	for _, p := range c.overall.Paths { // an I/O may take several operations
		ops += float64(p.Replies) * 1000 / float64(max(c.overall.DurationMilliseconds, 1))
	}
	ops = max(ops, c.overall.Total.iopsSec)
	bytes = max(bytes, float64(bench.OrZero(c.overall.Storage.BytesPerSecond)))
	reached := func(ceiling *int64, got float64) bool {
		return ceiling != nil && *ceiling > 0 && got*1000 >= float64(*ceiling)*qosReached
	}
	var at []string
	if reached(q.MaxIOPS, ops) {
		at = append(at, fmt.Sprintf("%.0f of %d IOPS", ops, *q.MaxIOPS))
	}
	if reached(q.MaxBytesPerSecond, bytes) {
		at = append(at, fmt.Sprintf("%s of %s", human.Throughput(bytes), human.Throughput(*q.MaxBytesPerSecond)))
	}
	if len(at) > 0 {
		found.warn(QoSThrottled, "The QoS policy %s of %s was reached: %s. The run measured the policy and not the "+
			"array. Raise the limit (qos policy-group modify -policy-group %s -max-throughput ...), unless you want to "+
			"measure it.", q.Policy, volumeName(c.volume), strings.Join(at, ", "), q.Policy)
	}
}

// capital makes the first letter upper case.
func capital(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// place is where something of the array was, and how to see where it is.
type place struct {
	what, node string
	here       func(runfile.StorageSample) string   // the node by a reading
	seen       func(runfile.StorageWindow) []string // the nodes by a window, in order
}

// checkMoves follows the volume, and the LIFs in use, from the survey through the measured windows:
// after a move, the numbers belong to another place.
func checkMoves(c *facts, found *findings) {
	places := map[string][]*place{} // by source
	for _, rep := range c.repetitions {
		for _, w := range rep.storage {
			if places[w.Source] == nil {
				places[w.Source] = c.places(w.Source)
			}
			for _, p := range places[w.Source] {
				for _, node := range p.seen(w) {
					c.follow(found, p, node, w.Source, rep.Repetition)
				}
			}
		}
	}
}

// places are the objects to follow, with their last places.
func (c *facts) places(source string) []*place {
	all := []*place{{
		what: volumeName(c.volume),
		node: c.volume.Node,
		here: func(s runfile.StorageSample) string { return s.VolumeNode },
		seen: func(w runfile.StorageWindow) []string { return w.VolumeNodes },
	}}
	used := c.everUsed()
	slices.Sort(used)
	for _, address := range used {
		on := func(paths []runfile.StoragePath) string {
			for _, p := range paths {
				if runfile.SameAddress(p.Address, address) {
					return p.Node
				}
			}
			return ""
		}
		p := &place{
			what: "path " + address,
			here: func(s runfile.StorageSample) string { return on(s.Paths) },
			seen: func(w runfile.StorageWindow) []string { return []string{on(w.Paths)} },
		}
		if l := c.survey.LIF(address); l != nil {
			p.what, p.node = fmt.Sprintf("LIF %s (%s)", cmp.Or(l.Name, "?"), address), l.Node
		}
		all = append(all, p)
	}
	if c.survey.Source != source {
		for _, p := range all {
			p.node = ""
		}
	}
	return all
}

// follow reports a move when an object is not where it was.
func (c *facts) follow(found *findings, p *place, node, source string, repetition int32) {
	was := p.node
	if node == "" || node == was {
		return
	}
	p.node = node
	if was == "" {
		return
	}
	when := ""
	if t, seen := c.arrived(*p, was, source); seen {
		when = " at " + t.UTC().Format(time.RFC3339)
	}
	found.warn(VolumeMoved, "%s moved from node %s to %s%s (seen in repetition %d): the numbers mix two places, and "+
		"the move itself is a load. Run again when nothing moves.", capital(p.what), was, node, when,
		repetition)
}

// arrived is the first reading at the new node after one at the old, by the
// array's clock.
func (c *facts) arrived(p place, was, source string) (time.Time, bool) {
	for _, cl := range c.Clients {
		before := c.survey.Source == source
		for _, s := range bench.OrZero(cl.Observed).Storage {
			switch here := p.here(s); {
			case s.Source != source:
			case here == was:
				before = true
			case here == p.node && before:
				return s.Time, true
			}
		}
	}
	return time.Time{}, false
}
