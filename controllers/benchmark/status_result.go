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
	maxPaths       = 64
	maxRepetitions = 50
	maxFindings    = 64
	maxNodes       = 64
	maxFinding     = 1000
)

// setNumbers copies the judgement into the status.
func setNumbers(s *scope) {
	st := &s.b.Status
	if s.plan != nil && st.Summary == nil {
		st.Summary = &v1alpha1.Summary{Workload: statussize.ClipTo(workloadWords(*s.plan), 128), Protocol: protocolWords(*s.plan), Engine: engineOf(*s.plan)}
	}
	if st.Summary != nil && st.Summary.Paths == "" && st.Resolved != nil {
		st.Summary.Paths = pathWords(st.Resolved.Paths)
	}
	if s.result != nil && len(s.result.Clients) > 0 && s.outcome != nil {
		st.ResultRef = &v1alpha1.ResultReference{Kind: "ConfigMap", Name: s.names.Result, Keys: resultKeys(s.result)}
	}
	j := s.judgement
	setDatabase(s)
	if j == nil {
		return
	}
	st.Findings = findings(j.Findings)
	st.Repetitions = repetitions(j.Repetitions)
	st.Steps = steps(j.Steps)
	if j.Summary == nil {
		return
	}
	fillSummary(st.Summary, s, j)
	st.Paths = paths(s.result)
	st.StorageNodes = storageNodes(j.Summary.StorageNodes)
	st.StoragePaths = storagePaths(j.Repetitions)
}

func resultKeys(r *runfile.Result) []string {
	var keys []string
	for _, c := range r.Clients {
		keys = append(keys, runfile.ResultKey(c.Index))
	}
	return keys
}

func fillSummary(sum *v1alpha1.Summary, s *scope, j *judge.Judgement) {
	m := j.Summary
	sum.ThroughputBytesPerSecond = known(m.Total.BytesPerSecond)
	sum.ThroughputMegabytesPerSecond = known(m.Total.BytesPerSecond / 1e6)
	sum.IOPS = known(m.Total.OperationsPerSecond)
	if m.Read != nil {
		sum.ReadBytesPerSecond = &m.Read.BytesPerSecond
	}
	if m.Write != nil {
		sum.WriteBytesPerSecond = &m.Write.BytesPerSecond
	}
	fillLatency(sum, m.Total)
	if m.WirePermille != nil {
		sum.WirePercent = new((*m.WirePermille + 5) / 10)
	}
	fillWire(sum, j.Wire, m)
	sum.VariationPermille = j.VariationPermille
	sum.ClientCPUPermille = m.ClientCPU.BusiestNodePermille
	sum.ClientCPUMicrosecondsPerMebibyte = m.ClientCPU.MicrosecondsPerMiB
	sum.MeasuredSeconds = new(m.DurationMilliseconds / 1000)
	fillStorage(sum, m)
	fillVerification(sum, s.result)
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

// fillWire gives the limit of the busier direction, which is the one that
// wirePercent compares with.
func fillWire(sum *v1alpha1.Summary, w *judge.WireLimit, m *judge.Summary) {
	if w == nil {
		return
	}
	limit := w.ReadBytesPerSecond
	if m.Write != nil && (m.Read == nil || m.Write.BytesPerSecond > m.Read.BytesPerSecond) {
		limit = w.WriteBytesPerSecond
	}
	sum.WireLimitBytesPerSecond = &limit
	sum.WireLimitSource = string(w.Source)
}

func fillVerification(sum *v1alpha1.Summary, r *runfile.Result) {
	var checked, wrong int64
	var seen bool
	for _, c := range r.Clients {
		if v := c.Load.Verification; v != nil {
			seen = true
			checked += v.BlocksChecked
			wrong += v.BlocksWrong
		}
	}
	if seen {
		sum.BlocksVerified, sum.BlocksWrong = &checked, &wrong
	}
}

// repetitions are those of the summary: where the load has steps, the rounds of
// one of them, and the others are in the steps.
func repetitions(all []judge.Summary) []v1alpha1.RepetitionStatus {
	if len(all) < 2 {
		return nil
	}
	var out []v1alpha1.RepetitionStatus
	for _, m := range all[:min(len(all), maxRepetitions)] {
		index := m.Repetition
		if m.Step != nil {
			index = m.Step.Round // what its user calls a repetition
		}
		if index < 1 || slices.ContainsFunc(out, func(o v1alpha1.RepetitionStatus) bool { return o.Index == index }) {
			continue // the index is the key of the list
		}
		rs := v1alpha1.RepetitionStatus{
			Index: index, ThroughputBytesPerSecond: new(m.Total.BytesPerSecond), IOPS: new(m.Total.OperationsPerSecond),
		}
		if l := m.Total.Latency; l != nil {
			rs.MeanLatencyMicroseconds, rs.P99LatencyMicroseconds = &l.MeanMicroseconds, p99Of(l)
		}
		out = append(out, rs)
	}
	return out
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
	var all int64
	for _, c := range r.Clients {
		first := len(out)
		for _, rep := range c.Load.Repetitions {
			window := rep.End.Sub(rep.Start).Milliseconds() // a loss may begin before it
			for i, ch := range rep.Channels {
				if first+i == len(out) {
					out = append(out, v1alpha1.PathStatus{
						Client: c.Index, Local: statussize.ClipTo(ch.Local, 64), Path: statussize.ClipTo(ch.Path, 253),
						ReadBytes: new(int64), WriteBytes: new(int64), Reconnects: new(int64), DownMilliseconds: new(int64),
					})
				}
				p := &out[first+i]
				*p.ReadBytes += ch.BytesRead
				*p.WriteBytes += ch.BytesWritten
				*p.Reconnects += ch.Reconnects
				*p.DownMilliseconds += min(ch.DownMilliseconds, window)
				all += ch.BytesRead + ch.BytesWritten
			}
		}
	}
	for i := range out {
		if all > 0 {
			out[i].SharePermille = new(int32((*out[i].ReadBytes + *out[i].WriteBytes) * 1000 / all)) //nolint:gosec // at most 1000
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
