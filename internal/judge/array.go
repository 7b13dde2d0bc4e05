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
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func checkStandIn(c *facts, found *findings) {
	database := slices.ContainsFunc(c.Oracles, func(o runfile.Oracle) bool { return o.StandIn })
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

// checkMissing reports the numbers that the array did not return, and sources without usable counters.
func checkMissing(c *facts, found *findings) {
	for _, m := range c.Survey.Missing {
		fix := ""
		if m.Fix != "" {
			fix = " " + strings.TrimSuffix(m.Fix, ".") + "."
		}
		found.info(ArrayMetricsPartial, "The array did not report %s: %s.%s", m.What, strings.TrimSuffix(m.Why, "."), fix)
	}
	for _, s := range c.Silent {
		found.warn(ArrayMetricsPartial, "Source %s has no usable counters in %d of %d repetitions: %s.", s.Source,
			s.Repetitions, len(c.Shown()), silenceWords(s))
	}
}

// silenceWords says why a source has no usable window.
func silenceWords(s measure.Silence) string {
	const unchanged = "its counters did not change between two readings"
	switch {
	case s.Failed != nil:
		return fmt.Sprintf("it could not be read %d times (%s)", s.Failed.Count, strings.TrimSuffix(s.Failed.Message, "."))
	case s.Reason == measure.SilenceReset:
		return "its counters went back, as after a takeover or a restart"
	case s.Reason == measure.SilenceUnchangedLevel:
		return unchanged + ": levels end earlier than the storage updates its counters, every few seconds (ONTAP: 15)"
	case s.Reason == measure.SilenceUnchanged:
		return unchanged + "; the storage updates them every few seconds (ONTAP: 15), so use run.durationSeconds of 60 or " +
			"more"
	default:
		return "there are no two readings of it in the window: use a longer run.durationSeconds"
	}
}

func checkStorageCPU(c *facts, found *findings) {
	if reason := c.limitedBy(measure.LimitStorageCPU); reason != "" {
		found.warn(StorageCPUBound, "%s It limits the capacity: spread the load over more nodes, or use a larger one.",
			reason)
		return
	}
	for _, busy := range busyStorage(c.Overall) {
		found.warn(StorageCPUBound, "%s: it is the limit. Spread the load over more nodes, or use a larger one.",
			capital(busy))
	}
}

// bindsLoad reports whether the CPU of a node limits the load: the node is busy, and with this load. If the owner is
// known, a busy node that neither owns the data nor has a path works for others.
func bindsLoad(nodes []measure.StorageNode, n measure.StorageNode) bool {
	ownerKnown := slices.ContainsFunc(nodes, func(o measure.StorageNode) bool { return o.Owner && o.Source == n.Source })
	return measure.AtLeastPermille(n.CPUPermille, cpuBusy) && (n.Owner || n.Entry || !ownerKnown)
}

// disagreement is a difference between the bytes of the storage and of the clients in one direction, in the
// repetition with the largest difference.
type disagreement struct {
	source, direction string
	more              bool
	array, clients    float64 // bytes per second
	repetitions       []string
}

// checkArray compares the bytes of the storage with those of the clients. If
// the storage counted more, others used it; if it counted less, a cache
// answered the rest.
func checkArray(c *facts, found *findings) {
	var all []disagreement
	for _, s := range c.Repetitions {
		for _, w := range s.StorageWindows {
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

// withDisagreement merges a disagreement with the same one of other repetitions and keeps the worst numbers.
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

// disagreements returns the disagreements of one repetition and source, over the seconds that the storage counted.
func (c *facts) disagreements(s measure.RepetitionFacts, w runfile.StorageWindow) []disagreement {
	uncounted := c.engine.database && s.Total.Ops == 0
	// Prometheus samples are older than their timestamps, which does not matter in long windows.
	stale := w.Seconds < scrapedSeconds && c.IsPrometheus(w)
	if stale || s.DurationMilliseconds <= 0 || uncounted {
		return nil
	}
	var found []disagreement
	for _, d := range []struct {
		name  string
		array *int64
		of    *measure.Direction
		kind  measure.OpKind
	}{
		{"reads", w.ReadBytes, s.Read, measure.Reads},
		{"writes", w.WriteBytes, s.Write, measure.Writes},
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

// expected is the rate that the storage should have counted, in bytes per second: the clients' rate, and the least
// and most that agree with it.
type expected struct{ rate, least, most float64 }

// clientsDid returns the bytes per second that the clients moved in one direction during a storage window, from their
// samples of these seconds. Without samples it uses their mean. The tolerance then grows by the part of the
// repetition outside the window or without all clients, where the load may have differed.
func (c *facts) clientsDid(
	s measure.RepetitionFacts, w runfile.StorageWindow, d *measure.Direction, kind measure.OpKind,
) expected {
	if e, known := c.sampledDid(s, w, kind); known {
		return e
	}
	e := expected{rate: bench.OrZero(d).ByteRate}
	coverage := min(w.Seconds*1000/float64(s.DurationMilliseconds), 1)
	tolerance := (arrayTolerance+edgePermille(s.Summary))/1000 + 1 - coverage + 1 - s.Together
	e.least = e.rate*(1-tolerance) - foreignBytesPerSecond
	e.most = e.rate*(1+tolerance) + foreignBytesPerSecond
	return e
}

// sampledDid returns what the clients did during a storage window according to their samples.
func (c *facts) sampledDid(
	s measure.RepetitionFacts, w runfile.StorageWindow, kind measure.OpKind,
) (e expected, known bool) {
	did, known := c.SampledIn(s, w, kind)
	slack := max(s.Total.ByteRate*foreignShare/1000, ownBytesPerSecond)
	e.rate = did.Bytes / w.End.Sub(w.Start).Seconds()
	e.least = did.Least/w.Seconds*(1-sampledTolerance/1000.0) - slack
	e.most = did.Most/w.Seconds*(1+sampledTolerance/1000.0) + slack
	return e, known
}

// mayMiss reports whether the array may count less than the clients: a client cache answers reads, and a database
// writes redo to an export beside the counted volume.
func (c *facts) mayMiss(kind measure.OpKind) bool {
	if kind == measure.Writes {
		return bench.OrZero(c.Plan.Database).RedoDirectory != ""
	}
	if !c.Kernel() {
		return false
	}
	var found findings
	checkClientCache(c, &found)
	checkServerCache(c, &found)
	return slices.ContainsFunc(found, func(f bench.Finding) bool { return f.Severity == bench.SeverityWarning })
}

// checkQoS compares the load with the QoS ceiling of the volume. The ceiling counts NFS operations, as the clients
// do; the counters of a volume count other operations (LayerVolume) for the same bytes.
func checkQoS(c *facts, found *findings) {
	q := c.Volume.QoS
	if q == nil {
		return
	}
	ops, bytes := 0.0, c.Overall.Total.ByteRate
	for _, p := range c.Overall.Paths { // an I/O may take several operations
		ops += float64(p.Replies) * 1000 / float64(max(c.Overall.DurationMilliseconds, 1))
	}
	ops = max(ops, c.Overall.Total.OperationRate)
	bytes = max(bytes, float64(bench.OrZero(c.Overall.Storage.BytesPerSecond)))
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
			"measure it.", q.Policy, volumeName(c.Volume), strings.Join(at, ", "), q.Policy)
	}
}

// capital returns the words with an upper-case first letter.
func capital(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// place is the last known node of a volume or LIF, with functions that read its node.
type place struct {
	what, node string
	here       func(runfile.StorageSample) string   // the node in a reading
	seen       func(runfile.StorageWindow) []string // the nodes in a window, in order
}

// checkMoves follows the volume, and the LIFs in use, from the survey through the measured windows: after a move, the
// numbers belong to another node.
func checkMoves(c *facts, found *findings) {
	places := map[string][]*place{} // by source
	for _, rep := range c.Repetitions {
		for _, w := range rep.StorageWindows {
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

// places returns the objects to follow, with their nodes before the run.
func (c *facts) places(source string) []*place {
	all := []*place{{
		what: volumeName(c.Volume),
		node: c.Volume.Node,
		here: func(s runfile.StorageSample) string { return s.VolumeNode },
		seen: func(w runfile.StorageWindow) []string { return w.VolumeNodes },
	}}
	used := c.EverUsed()
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
		if l := c.Survey.LIF(address); l != nil {
			p.what, p.node = fmt.Sprintf("LIF %s (%s)", cmp.Or(l.Name, "?"), address), l.Node
		}
		all = append(all, p)
	}
	if c.Survey.Source != source {
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
	if t, seen := c.Arrival(source, was, node, p.here); seen {
		when = " at " + t.UTC().Format(time.RFC3339)
	}
	found.warn(VolumeMoved, "%s moved from node %s to %s%s (seen in repetition %d): the numbers mix two places, and "+
		"the move itself is a load. Run again when nothing moves.", capital(p.what), was, node, when,
		repetition)
}
