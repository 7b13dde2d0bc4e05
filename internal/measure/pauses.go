package measure

import (
	"cmp"
	"math"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Pause is a time in which a client or one of its paths had no answer, and the cost of that time.
type Pause struct {
	Client            int32     `json:"client"`
	Path              string    `json:"path,omitempty"` // empty: the whole client
	Start             time.Time `json:"start"`          // by the clock of the client
	StartMilliseconds int64     `json:"startMilliseconds"`
	Milliseconds      int64     `json:"milliseconds"`
	// Long reports that the pause is much longer than the operations, and than the time between answers.
	Long bool `json:"long,omitempty"`
	// MissingOperations is the number of operations that the rate before the pause would have completed until the rate
	// recovered, or until the end of the window. It and the fields below are nil for a path, or if the rate before is
	// unknown.
	MissingOperations *int64 `json:"missingOperations,omitempty"`
	// BackMilliseconds is the time from the end of the pause until the rate stayed at 95 % of the rate before. Nil if
	// the rate did not recover within the window.
	BackMilliseconds *int64 `json:"backMilliseconds,omitempty"`
	// Lost is the loss of a connection during the pause; of several, the one whose path had an answer first. Nil if none
	// was lost, or if unknown. RecoveryMilliseconds is how long I/O waited for NFSv4 state recovery in the repetition.
	Lost                 *runfile.ChannelLoss `json:"lost,omitempty"`
	LostPath             string               `json:"lostPath,omitempty"`
	RecoveryMilliseconds int64                `json:"recoveryMilliseconds,omitempty"`
	// LateMilliseconds is the longest wake-up delay of the client in the repetition; 0 = unknown.
	LateMilliseconds int64 `json:"lateMilliseconds,omitempty"`
	// LevelPermille is the rate after recovery, relative to the rate before the pause.
	LevelPermille *int32 `json:"levelPermille,omitempty"`
}

// End is the end of the pause, in milliseconds since the start of the window.
func (p Pause) End() int64 { return p.StartMilliseconds + p.Milliseconds }

// pausesOf returns the pauses of a repetition, those of clients first, and the longest pause of a client in
// microseconds. The latter is 0 if none was long enough to be listed, and nil if the clients do not report pauses.
func (c *Facts) pausesOf(s *RepetitionFacts) (all []Pause, longest *int64) {
	var paths []Pause
	for _, p := range s.parts {
		known := p.rep.Pauses
		if known == nil {
			continue
		}
		longest = cmp.Or(longest, new(int64))
		for _, of := range known.Client[:min(len(known.Client), runfile.MaxPauses)] {
			if pause, ok := s.pause(p, of, ""); ok {
				c.cost(&pause, p)
				c.ways(&pause, p.rep)
				all, *longest = append(all, pause), max(*longest, pause.Milliseconds*1000)
			}
		}
		for _, of := range known.Paths[:min(len(known.Paths), runfile.MaxPauses)] {
			if pause, ok := s.pause(p, of.Pause, of.Path); ok {
				paths = append(paths, pause)
			}
		}
	}
	return append(all, paths...), longest
}

// pause returns a pause of a client or path. It reports false if the pause is outside of the window: a file may
// contain anything.
func (s *RepetitionFacts) pause(p part, of runfile.Pause, path string) (Pause, bool) {
	window := p.rep.End.Sub(p.rep.Start).Milliseconds()
	if of.StartMilliseconds < 0 || of.StartMilliseconds > window || of.Milliseconds <= 0 {
		return Pause{}, false
	}
	out := Pause{
		Client: p.client.Index, Path: path,
		Start:             p.rep.Start.Add(time.Duration(of.StartMilliseconds) * time.Millisecond),
		StartMilliseconds: of.StartMilliseconds, Milliseconds: min(of.Milliseconds, window-of.StartMilliseconds),
	}
	if believable(p.rep.WakeUps) {
		out.LateMilliseconds = p.rep.WakeUps.MaxMicroseconds / 1000
	}
	out.Long = out.isLong(s)
	return out, true
}

// ways records which path ended the pause after a lost connection, and how long recovery took.
func (c *Facts) ways(p *Pause, rep runfile.Repetition) {
	end := p.Start.Add(time.Duration(p.Milliseconds) * time.Millisecond)
	for _, ch := range rep.Channels {
		for i := range ch.Losses {
			l := &ch.Losses[i]
			if at, ok := l.Answered(); !l.Start.Before(end) || ok && at.Before(p.Start) ||
				l.Start.Before(p.Start.Add(-PausedMilliseconds*time.Millisecond)) {
				continue
			} else if first, known := bench.OrZero(p.Lost).Answered(); p.Lost == nil || ok && (!known || at.Before(first)) {
				p.Lost, p.LostPath = l, c.declaredAs(PathPair{Local: ch.Local, Path: ch.Path}).String()
			}
		}
	}
	for _, s := range rep.Servers {
		p.RecoveryMilliseconds = max(p.RecoveryMilliseconds, s.RecoveryMilliseconds)
	}
}

const (
	// rateBefore is the number of intervals before a pause that determine the rate before it. At least leastBefore are
	// needed.
	rateBefore, leastBefore = 60, 5
	// The rate has recovered when backFor successive means of backOver intervals reach backShare of the rate before.
	backFor, backOver = 30, 5
	backShare         = 0.95
)

// cost computes the cost of a client's pause from the rates of this client.
func (c *Facts) cost(p *Pause, part part) {
	rates, interval := ratesOf(part)
	at := func(milliseconds int64) int { return min(int(milliseconds/interval.Milliseconds()), len(rates)) }
	from, to := at(p.StartMilliseconds), min(at(p.End())+1, len(rates))
	before := rates[max(0, from-rateBefore):from]
	if len(before) < leastBefore || c.Plan.Workload.Calibrate != nil {
		return
	}
	rate := stats.Median(before)
	if rate <= 0 {
		return
	}
	after := rates[to:]
	back := whenBack(after, rate*backShare)
	missing := 0.0
	for _, ops := range rates[from : to+back] {
		missing += max(0, rate-ops) * interval.Seconds()
	}
	p.MissingOperations = new(int64(math.Round(missing)))
	if back < len(after) {
		p.BackMilliseconds = new(max(0, int64(to+back)*interval.Milliseconds()-p.End()))
		after = after[back:]
	}
	if len(after) >= leastBefore {
		p.LevelPermille = PermilleOf(stats.Median(after) / rate)
	}
}

// ratesOf returns the operations a second of a client in each interval of its window; none if the first sample is
// missing.
func ratesOf(p part) (rates []float64, interval time.Duration) {
	seconds := max(p.client.Load.SampleSeconds, 1)
	interval = time.Duration(seconds) * time.Second
	for _, s := range p.client.Load.Samples {
		if s.Span != runfile.SpanMeasure || s.Repetition != p.rep.Index {
			continue
		}
		if len(rates) == 0 && s.Time.Sub(p.rep.Start).Abs() > 3*interval/2 {
			return nil, interval
		}
		rates = append(rates, float64(bench.OrZero(s.Read).Count+bench.OrZero(s.Write).Count))
	}
	return rates, interval
}

// whenBack returns the first index from which the means of rates stay at a level, or the number of rates.
func whenBack(rates []float64, level float64) int {
	back := 0
	for i := 0; i+backOver <= len(rates) && i-back < backFor; i++ {
		sum := 0.0
		for _, v := range rates[i : i+backOver] {
			sum += v
		}
		if sum < level*backOver {
			back = i + 1
		}
	}
	if back+backOver > len(rates) {
		return len(rates)
	}
	return back
}

// isLong reports whether a pause is Long.
func (p Pause) isLong(s *RepetitionFacts) bool {
	if p.Milliseconds < PausedMilliseconds {
		return false
	}
	if l := s.Total.Latency; l != nil && !l.MeanOnly && p.Milliseconds*1000 < pausedLatencies*l.P50Microseconds {
		return false
	}
	connections := int64(max(len(s.Paths), 1)) * int64(max(s.Clients, 1))
	// The mean distance of the answers on one connection is total divided by the number of operations.
	total := float64(connections) * float64(s.DurationMilliseconds)
	return float64(p.Milliseconds)*float64(s.Total.Ops) >= pausedLatencies*total
}

// longestPause returns the longest pause of all repetitions; nil if unknown.
func longestPause(all []RepetitionFacts) *int64 {
	var longest *int64
	for _, s := range all {
		if v := s.LongestPauseMicroseconds; v != nil && (longest == nil || *v > *longest) {
			longest = v
		}
	}
	return longest
}
