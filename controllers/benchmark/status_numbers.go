package benchmark

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// These constants bound the lists of a status, because every watcher of the objects receives it. The result object has
// the full lists.
const (
	maxPaths    = 32
	maxFindings = 32
	maxNodes    = 64
	maxSteps    = 64
)

// setNumbers copies the judgement into the status.
func setNumbers(s *scope) {
	st := &s.b.Status
	if s.plan != nil && st.Summary == nil {
		st.Summary = &v1alpha1.Summary{
			Workload: pass.ClipTo(workloadWords(*s.plan), 128), Protocol: protocolWords(*s.plan),
		}
	}
	if st.Summary != nil && st.Summary.Paths == "" && st.Resolved != nil {
		st.Summary.Paths = pathWords(st.Resolved.Paths)
	}
	if s.result != nil && len(s.result.Clients) > 0 && s.outcome != nil {
		st.ResultRef = &v1alpha1.ResultReference{Name: s.names.Result, Bytes: s.kept}
	}
	j := s.judgement
	if j == nil {
		return
	}
	st.Findings = findings(j.Findings)
	st.Steps = steps(j.Steps)
	if j.Summary != nil {
		fillSummary(st.Summary, j)
		st.Paths = paths(s.judgement.Facts)
		st.StorageNodes = storageNodes(j.Summary.StorageNodes)
	}
	setCapacity(st, j.Capacity)
}

// fillSummary fills the fields of all metrics by their names, and the fields for people.
func fillSummary(sum *v1alpha1.Summary, j *judge.Judgement) {
	*sum = v1alpha1.Summary{
		Workload: sum.Workload, Protocol: sum.Protocol, Paths: sum.Paths,
		Data: pass.ClipTo(j.Data, 512),
	}
	setMetrics(sum, measure.Numbers(*j.Summary, j.Capacity))
	total := j.Summary.Total
	sum.ThroughputMegabytesPerSecond = known(rounded(total.BytesPerSecond, 1e6))
	sum.StorageCPU = pass.ClipTo(storageCPUWords(j.Summary.StorageNodes), 256)
	if l := total.Latency; l != nil {
		sum.MeanLatency = human.Latency(l.MeanMicroseconds)
		if !l.MeanOnly {
			sum.P99Latency = human.Latency(l.P99Microseconds)
		}
	}
	if sum.Intervals == nil {
		return
	}
	sum.Intervals.Throughput = total.Intervals.BytesPerSecond.Text(human.Megabytes)
	sum.Intervals.P99Latency = total.Intervals.P99Microseconds.Text(human.Latency)
}

// setMetrics sets those fields of a part of the status that are metrics.
func setMetrics(part any, numbers []measure.Number) {
	fields, intervals := map[string]any{}, map[string]any{}
	for _, n := range numbers {
		fields[n.Field] = rounded(n.Value, max(n.Divisor, 1))
		if n.Interval != nil {
			low, high := n.Bounds()
			intervals[low], intervals[high] = n.Interval.Low, n.Interval.High
			fields["intervals"] = intervals
		}
	}
	data, _ := json.Marshal(fields) // numbers always encode, and the fields are numbers
	_ = json.Unmarshal(data, part)
}

// rounded divides to the nearest integer, as all texts round.
func rounded(value, divisor int64) int64 { return (value + divisor/2) / divisor }

// known returns nil for a rate of zero: a calibration may have found only one of its two rates, and a loaded system has
// no rate of zero.
func known(rate int64) *int64 {
	if rate == 0 {
		return nil
	}
	return &rate
}

// paths returns the channels of each client over all measured windows, those with the longest outages first.
func paths(f *measure.Facts) []v1alpha1.PathStatus {
	var out []v1alpha1.PathStatus
	for _, ch := range f.ChannelTotals() {
		out = append(out, v1alpha1.PathStatus{
			Client: ch.Client, Local: pass.ClipTo(ch.Local, 64), Path: pass.ClipTo(ch.Path, 253),
			Role: roleOf(ch.Role), Node: nodeOf(&f.Survey, ch.Path),
			ReadBytes: &ch.ReadBytes, WriteBytes: &ch.WriteBytes, DownMilliseconds: &ch.DownMilliseconds,
		})
	}
	// The outages come first, because the end may be cut off.
	slices.SortStableFunc(out, func(a, b v1alpha1.PathStatus) int {
		return cmp.Compare(*b.DownMilliseconds, *a.DownMilliseconds)
	})
	return pass.Head(out, maxPaths)
}

// roleOf returns a valid role of a path. The loader wrote the role, and its image may be a tenant's.
func roleOf(written bench.PathRole) bench.PathRole {
	if written != bench.PathDataServer {
		return ""
	}
	return written
}

func nodeOf(s *runfile.Survey, address string) string {
	if l := s.LIF(address); l != nil {
		return pass.ClipTo(l.Node, 253)
	}
	return ""
}

func findings(all []bench.Finding) []bench.Finding {
	var out []bench.Finding
	for _, f := range pass.Head(all, maxFindings) {
		f.Message = pass.Clip(f.Message)
		out = append(out, f)
	}
	return out
}

func verdictOf(s *scope) bench.Verdict {
	switch {
	case s.outcome != nil && s.outcome.phase != v1alpha1.PhaseSucceeded:
		return bench.VerdictInconclusive
	case s.judgement == nil:
		return bench.VerdictNotEvaluated
	default:
		return s.judgement.Verdict
	}
}

// steps returns the levels of load in the order in which they ran.
func steps(all []measure.StepSummary) []v1alpha1.StepStatus {
	var out []v1alpha1.StepStatus
	for _, s := range all {
		st := v1alpha1.StepStatus{Kind: pass.ClipTo(s.Kind, 32), Users: s.Users, Knee: s.Knee}
		setMetrics(&st, measure.Numbers(s.Summary, nil))
		out = append(out, st)
	}
	return pass.Head(out, maxSteps)
}

// storageCPUWords lists the nodes in one line, the owner of the volume first, such as "fas-a 32%, fas-b 35%". A node
// with unreadable CPU has a question mark, because it also worked; if no CPU is readable, the line is empty.
func storageCPUWords(nodes []measure.StorageNode) string {
	var words []string
	known := false
	for _, n := range nodes {
		if n.CPUPermille == nil {
			words = append(words, n.Name+" ?")
			continue
		}
		known = true
		words = append(words, fmt.Sprintf("%s %d%%", n.Name, (int64(*n.CPUPermille)+5)/10))
	}
	if !known {
		return ""
	}
	return strings.Join(words, ", ")
}

// pathWords describes the paths in use: their number and, if known for all, their locality on the storage, such as "2
// Local+Remote".
func pathWords(paths []bench.ResolvedPath) string {
	if len(paths) == 0 {
		return ""
	}
	words := fmt.Sprint(len(paths))
	var where []string
	for _, p := range paths {
		if p.Locality == "" {
			return words
		}
		where = append(where, string(p.Locality))
	}
	slices.Sort(where) // Local before Remote
	return words + " " + strings.Join(slices.Compact(where), "+")
}

// storageNodes returns the nodes of the summary. Names are list keys, so each may occur only once.
func storageNodes(nodes []measure.StorageNode) []v1alpha1.StorageNodeStatus {
	several := slices.ContainsFunc(nodes, func(n measure.StorageNode) bool { return n.Source != nodes[0].Source })
	var out []v1alpha1.StorageNodeStatus
	for _, n := range nodes {
		name := n.Name
		if several && n.Source != "" && n.Source != n.Name {
			name = n.Source + "/" + n.Name
		}
		name = pass.ClipTo(name, 253)
		known := slices.ContainsFunc(out, func(o v1alpha1.StorageNodeStatus) bool { return o.Name == name })
		if known || len(out) == maxNodes {
			continue
		}
		st := v1alpha1.StorageNodeStatus{Name: name, CPUPermille: n.CPUPermille, BaselineCPUPermille: n.BaselineCPUPermille}
		if n.Owner {
			st.Roles = append(st.Roles, v1alpha1.StorageNodeOwner)
		}
		if n.Entry {
			st.Roles = append(st.Roles, v1alpha1.StorageNodeEntry)
		}
		out = append(out, st)
	}
	return out
}

// setProgress shows the slowest client, which determines the progress of the run.
func setProgress(s *scope) {
	s.b.Status.Progress = nil
	if s.moving != nil {
		s.b.Status.Progress = &v1alpha1.ProgressStatus{Step: "Move", Percent: min(max(s.moving.Percent, 0), 100)}
		return
	}
	if len(s.progress) == 0 {
		return
	}
	slow := slowest(s.progress)
	repetition, _ := levelOf(s.plan, slow.Repetition)
	p := &v1alpha1.ProgressStatus{
		Step: pass.ClipTo(slow.Span, 32), Repetition: repetition,
		Percent: min(max(slow.Percent, 0), 100), ETASeconds: slow.ETASeconds,
	}
	if mbs := throughput(s.progress); mbs > 0 {
		p.ThroughputMegabytesPerSecond = &mbs
	}
	s.b.Status.Progress = p
}

func slowest(all []runfile.Progress) runfile.Progress {
	return slices.MinFunc(all, func(a, b runfile.Progress) int { return cmp.Compare(a.Percent, b.Percent) })
}

func throughput(all []runfile.Progress) int64 {
	var sum int64
	for _, p := range all {
		sum += p.BytesPerSecond
	}
	return sum / 1e6
}

// levelOf returns Plan.Level; a run without a plan has no level.
func levelOf(p *runfile.Plan, index int32) (repetition int32, words string) {
	if p == nil {
		return max(index, 0), ""
	}
	return p.Level(index)
}

func progressMessage(p *runfile.Plan, all []runfile.Progress) string {
	slow := slowest(all)
	if slow.Failed { // the end of the run says why, once
		return "the load has failed, and its result is collected"
	}
	msg := slow.Span
	repetition, words := levelOf(p, slow.Repetition)
	if repetition > 0 {
		msg = fmt.Sprintf("%s %d", msg, repetition)
	}
	msg += words
	msg = fmt.Sprintf("%s, %d %%", msg, slow.Percent)
	if mbs := throughput(all); mbs > 0 {
		msg += fmt.Sprintf(", %d MB/s", mbs)
	}
	if slow.ETASeconds != nil {
		msg += fmt.Sprintf(", %d s to go", *slow.ETASeconds)
	}
	if slow.Message != "" {
		msg += ": " + slow.Message
	}
	return msg
}
