package benchmark

import (
	"cmp"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// The longest lists that a status holds. The result object has all.
const (
	maxPaths    = 64
	maxFindings = 64
	maxNodes    = 64
	maxSteps    = 64
)

// setNumbers copies the judgement into the status.
func setNumbers(s *scope) {
	st := &s.b.Status
	if s.plan != nil && st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Workload: statussize.ClipTo(workloadWords(*s.plan), 128), Protocol: protocolWords(*s.plan)}
	}
	if st.Summary != nil && st.Summary.Paths == "" && st.Resolved != nil {
		st.Summary.Paths = pathWords(st.Resolved.Paths)
	}
	if s.result != nil && len(s.result.Clients) > 0 && s.outcome != nil {
		st.ResultRef = &v1alpha1.ResultReference{Name: s.names.Result}
	}
	j := s.judgement
	if j == nil {
		return
	}
	st.Findings = findings(j.Findings)
	st.Steps = steps(j.Steps)
	if j.Summary == nil {
		return
	}
	fillSummary(st.Summary, j.Summary)
	st.Paths = paths(s.result)
	st.StorageNodes = storageNodes(j.Summary.StorageNodes)
}

func fillSummary(sum *v1alpha1.Summary, m *judge.Summary) {
	sum.ThroughputBytesPerSecond = known(m.Total.BytesPerSecond)
	sum.ThroughputMegabytesPerSecond = known(m.Total.BytesPerSecond / 1e6)
	sum.IOPS = known(m.Total.OperationsPerSecond)
	fillLatency(sum, m.Total)
	if m.WirePermille != nil {
		sum.WirePercent = new((*m.WirePermille + 5) / 10)
	}
	sum.ClientCPUPermille = m.ClientCPU.BusiestNodePermille
	sum.StorageCPU = statussize.ClipTo(storageCPUWords(m.StorageNodes), 256)
	sum.StorageMeanLatencyMicroseconds = m.Storage.MeanLatencyMicroseconds
}

// known leaves out a rate of zero: a calibration may have found one of its two,
// and a loaded system does not do nothing.
func known(rate int64) *int64 {
	if rate == 0 {
		return nil
	}
	return &rate
}

func fillLatency(sum *v1alpha1.Summary, d judge.Direction) {
	l := d.Latency
	if l == nil {
		return
	}
	sum.MeanLatencyMicroseconds = &l.MeanMicroseconds
	sum.MeanLatency = latencyWords(l.MeanMicroseconds)
	if l.MeanOnly {
		return // a database reports no more, and 0 would be a number
	}
	sum.P50LatencyMicroseconds = &l.P50Microseconds
	sum.P95LatencyMicroseconds = &l.P95Microseconds
	sum.P99LatencyMicroseconds = &l.P99Microseconds
	sum.P999LatencyMicroseconds = &l.P999Microseconds
	sum.MaxLatencyMicroseconds = &l.MaxMicroseconds
	sum.P99Latency = latencyWords(l.P99Microseconds)
}

// p99Of is nil where a database reported the mean only.
func p99Of(l *stats.Latency) *int64 {
	if l.MeanOnly {
		return nil
	}
	return &l.P99Microseconds
}

// paths are the channels of each client over all measured windows, those first
// that were away.
func paths(r *runfile.Result) []v1alpha1.PathStatus {
	var out []v1alpha1.PathStatus
	for _, c := range r.Clients {
		first := len(out)
		for _, rep := range c.Load.Repetitions {
			window := rep.End.Sub(rep.Start).Milliseconds() // a loss may begin before it
			for i, ch := range rep.Channels {
				if first+i == len(out) {
					out = append(out, v1alpha1.PathStatus{
						Client: c.Index, Local: statussize.ClipTo(ch.Local, 64), Path: statussize.ClipTo(ch.Path, 253),
						ReadBytes: new(int64), WriteBytes: new(int64), DownMilliseconds: new(int64),
					})
				}
				p := &out[first+i]
				*p.ReadBytes += ch.BytesRead
				*p.WriteBytes += ch.BytesWritten
				*p.DownMilliseconds += min(ch.DownMilliseconds, window)
			}
		}
	}
	// What matters most comes first, for the end may be cut off.
	slices.SortStableFunc(out, func(a, b v1alpha1.PathStatus) int { return cmp.Compare(*b.DownMilliseconds, *a.DownMilliseconds) })
	return out[:min(len(out), maxPaths)]
}

func findings(all []judge.Finding) []v1alpha1.Finding {
	var out []v1alpha1.Finding
	for _, f := range all[:min(len(all), maxFindings)] {
		out = append(out, v1alpha1.Finding{Code: string(f.Code), Severity: v1alpha1.Severity(f.Severity), Message: statussize.Clip(f.Message)})
	}
	return out
}

func verdictOf(s *scope) v1alpha1.Verdict {
	switch {
	case s.outcome != nil && s.outcome.phase != v1alpha1.PhaseSucceeded:
		return v1alpha1.VerdictInconclusive
	case s.judgement == nil:
		return v1alpha1.VerdictNotEvaluated
	default:
		return v1alpha1.Verdict(s.judgement.Verdict)
	}
}

func validityOf(s *scope) v1alpha1.Validity {
	if s.judgement == nil || s.judgement.Summary == nil {
		return "" // there are no numbers to believe or not
	}
	return v1alpha1.Validity(s.judgement.Validity)
}

func latencyWords(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.String()
	}
}

// oracleOf is the database of a run, which has one client.
func oracleOf(r *runfile.Result) *runfile.Oracle {
	if r == nil {
		return nil
	}
	for _, c := range r.Clients {
		if c.Load.Oracle != nil {
			return c.Load.Oracle
		}
	}
	return nil
}

// steps are the levels of load in the order in which they were gone through.
func steps(all []judge.StepSummary) []v1alpha1.StepStatus {
	var out []v1alpha1.StepStatus
	for _, s := range all {
		t := s.Summary.Total
		st := v1alpha1.StepStatus{
			Kind: statussize.ClipTo(s.Kind, 32), Users: s.Users, Knee: s.Knee,
			ThroughputBytesPerSecond: known(t.BytesPerSecond), IOPS: known(t.OperationsPerSecond),
		}
		if l := t.Latency; l != nil {
			st.MeanLatencyMicroseconds, st.P99LatencyMicroseconds = new(l.MeanMicroseconds), p99Of(l)
		}
		out = append(out, st)
	}
	for len(out) > maxSteps {
		out = thinner(out)
	}
	return out
}

// thinner leaves out one level of load: of those between the first and the last
// that are not the knee, the one whose neighbours are nearest, so that the course
// of the curve stays.
func thinner(all []v1alpha1.StepStatus) []v1alpha1.StepStatus {
	at, nearest := -1, 0.0
	for i := 1; i < len(all)-1; i++ {
		if all[i].Knee || all[i-1].Kind != all[i].Kind || all[i+1].Kind != all[i].Kind {
			continue
		}
		distance := float64(all[i+1].Users) / float64(max(all[i-1].Users, 1))
		if at < 0 || distance < nearest {
			at, nearest = i, distance
		}
	}
	if at < 0 {
		return statussize.Shorter(all)
	}
	return slices.Delete(slices.Clone(all), at, at+1)
}
