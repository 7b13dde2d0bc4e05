package measure

import (
	"cmp"
	"math"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Pause is a time in which a client or one of its paths had no answer, and what it cost.
type Pause struct {
	Client            int32     `json:"client"`
	Path              string    `json:"path,omitempty"` // empty: on no path
	Start             time.Time `json:"start"`          // on the clock of the client
	StartMilliseconds int64     `json:"startMilliseconds"`
	Milliseconds      int64     `json:"milliseconds"`
	// Long says that operations take much less time, and that answers are much less apart.
	Long bool `json:"long,omitempty"`
	// MissingOperations are those that the rate before the pause would have given until the rate was back, or to the
	// end of the window. Nil, like the fields below, for a path, or if the rate before is not known.
	MissingOperations *int64 `json:"missingOperations,omitempty"`
	// BackMilliseconds is the time from the end of the pause until the rate stayed at 95 % of the rate before. Nil
	// if it did not until the end of the window.
	BackMilliseconds *int64 `json:"backMilliseconds,omitempty"`
	// Lost is the loss of a connection in the pause whose path had an answer first; nil if none was lost, or if that
	// is not known. RecoveryMilliseconds is how long I/O waited for the state of NFSv4 in the repetition.
	Lost                 *runfile.ChannelLoss `json:"lost,omitempty"`
	LostPath             string               `json:"lostPath,omitempty"`
	RecoveryMilliseconds int64                `json:"recoveryMilliseconds,omitempty"`
	// LateMilliseconds is how late the client itself woke at most in the repetition; 0 = not known.
	LateMilliseconds int64 `json:"lateMilliseconds,omitempty"`
	// LevelPermille is the rate afterwards, relative to the rate before.
	LevelPermille *int32 `json:"levelPermille,omitempty"`
}

// End is the end of the pause, in milliseconds since the start of the window.
func (p Pause) End() int64 { return p.StartMilliseconds + p.Milliseconds }

// pausesOf lists the pauses of a repetition, those of clients first. longest is that of a client, in microseconds, and
// 0 if none was long enough to be listed; nil if the clients do not say.
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

// pause returns a pause of a client or of its path if it lies in its window; the file may say anything.
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

// ways notes over which path the pause ended, and how.
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
	// rateBefore is how many intervals before a pause give the rate before it, and leastBefore how many are needed.
	rateBefore, leastBefore = 60, 5
	// backFor is how many means of backOver intervals must be at backShare of the rate before.
	backFor, backOver = 30, 5
	backShare         = 0.95
)

// cost fills in what a pause of a client cost, from the rates of this client.
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

// ratesOf returns the operations per second of a client in the intervals of its window; none if the first one is not
// the first of the window.
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

// whenBack returns the first place from which on the means of rates stay at a level, or the number of rates.
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

// isLong says whether a pause is a Long one.
func (p Pause) isLong(s *RepetitionFacts) bool {
	if p.Milliseconds < PausedMilliseconds {
		return false
	}
	if l := s.Total.Latency; l != nil && !l.MeanOnly && p.Milliseconds*1000 < pausedLatencies*l.P50Microseconds {
		return false
	}
	lanes := int64(max(len(s.Paths), 1)) * int64(max(s.Clients, 1))
	return float64(p.Milliseconds)*float64(s.Total.Ops) >= pausedLatencies*float64(lanes)*float64(s.DurationMilliseconds)
}

// longestPause is that of all repetitions that count; nil if it is not known.
func longestPause(all []RepetitionFacts) *int64 {
	var longest *int64
	for _, s := range all {
		if v := s.LongestPauseMicroseconds; v != nil && (longest == nil || *v > *longest) {
			longest = v
		}
	}
	return longest
}
