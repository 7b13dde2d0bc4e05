package score

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnitCapacity is the unit of a row that compares ways to find a capacity: operations per second
// within a latency bound.
const UnitCapacity = "capacity"

// Metrics of a row with UnitCapacity.
const (
	MetricCapacity = "capacity" // operations per second
	MetricTime     = "time"     // seconds until the capacity is known; less is better
)

// Capacity is the highest rate of operations within a latency bound, and how it was found.
type Capacity struct {
	OperationsPerSecond float64 `json:"operationsPerSecond"`
	// Low and High are the ends of its interval; 0 = unknown.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Seconds is the time taken: for a search from the start to the end of the program, for a sweep
	// only the warm-ups and windows of its rates.
	Seconds float64 `json:"seconds"`
	// LongestSeconds is the longest window of a level, WarmupSeconds the warm-up before it.
	LongestSeconds int `json:"longestSeconds,omitempty"`
	WarmupSeconds  int `json:"warmupSeconds,omitempty"`
	// Rates are the rates that were tried, in this order.
	Rates []Rate `json:"rates,omitempty"`
	Depth int    `json:"depth,omitempty"` // outstanding operations; fio
}

// Rate is one rate of a sweep or one level of a search.
type Rate struct {
	OperationsPerSecond float64 `json:"operationsPerSecond"`
	Seconds             int     `json:"seconds"`
	P99Microseconds     int64   `json:"p99Microseconds,omitempty"` // only in a sweep
	Holds               bool    `json:"holds"`                     // whether it holds the bound
}

// Conclude finds the capacity from independent rates: all below it hold the bound, and none above
// it. If noise contradicts that, it assumes as few wrong rates as possible, and the lowest of
// several such places. The capacity is the middle of the two rates around it.
func (c *Capacity) Conclude() {
	rates := slices.SortedFunc(slices.Values(c.Rates), func(a, b Rate) int {
		return cmp.Compare(a.OperationsPerSecond, b.OperationsPerSecond)
	})
	wrong := 0 // number of wrong rates if the capacity is below all of them
	for _, r := range rates {
		if r.Holds {
			wrong++
		}
	}
	below, least := 0, wrong
	for i, r := range rates {
		if r.Holds {
			wrong--
		} else {
			wrong++
		}
		if wrong < least {
			below, least = i+1, wrong
		}
	}
	if below > 0 {
		c.Low = rates[below-1].OperationsPerSecond
		c.OperationsPerSecond = c.Low
	}
	if below < len(rates) {
		c.High = rates[below].OperationsPerSecond
	}
	if c.Low > 0 && c.High > 0 {
		c.OperationsPerSecond = (c.Low + c.High) / 2
	}
}

func (c *Capacity) value(metric string) (float64, bool) {
	switch {
	case c == nil:
		return 0, false
	case metric == MetricTime:
		return c.Seconds, c.Seconds > 0
	default:
		return c.OperationsPerSecond, c.OperationsPerSecond > 0
	}
}

// capacity writes the rows with UnitCapacity.
func capacity(b *strings.Builder, d Document, rows []Row) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("The capacity is the highest rate within the bound. Difference and time are those of the search against the other.\n\n")
	b.WriteString("| server and bound | nfsbench's search | its interval | beside it | capacity | its interval | difference | asked | | time | ratio | asked | |\n")
	b.WriteString("|---|--:|--:|---|--:|--:|--:|--:|---|--:|--:|--:|---|\n")
	for _, row := range rows {
		subject := row.Contenders[0]
		for _, peer := range row.Contenders[1:] {
			difference, both := d.Ratio(row, subject.Name, peer.Name, MetricCapacity)
			time, timed := d.Ratio(row, subject.Name, peer.Name, MetricTime)
			line := []string{
				row.Title, cell(d, row, subject.Name, MetricCapacity, UnitOps), interval(d, row, subject.Name),
				label(peer) + depth(d, row, peer.Name), cell(d, row, peer.Name, MetricCapacity, UnitOps), interval(d, row, peer.Name),
				dash(both, "**%s**", fmt.Sprintf("%+.1f %%", 100*(difference.Median-1))),
			}
			line = append(line, asked(d, row, MetricCapacity, peer.Name)...)
			line = append(line, cell(d, row, subject.Name, MetricTime, "s")+" to "+cell(d, row, peer.Name, MetricTime, "s"), dash(timed, "**%.2f**", time.Median))
			line = append(line, asked(d, row, MetricTime, peer.Name)...)
			b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		}
	}
	b.WriteString("\n")
}

// interval returns the interval of the last repeat.
func interval(d Document, row Row, contender string) string {
	text := "-"
	for _, s := range d.SamplesOf(row.Name, contender) {
		if c := s.Capacity; s.State == StateDone && c != nil && c.Low+c.High > 0 {
			text = fmt.Sprintf("%s..%s", dash(c.Low > 0, "%s", threeDigits(c.Low)), dash(c.High > 0, "%s", threeDigits(c.High)))
		}
	}
	return text
}

func depth(d Document, row Row, contender string) string {
	for _, s := range d.SamplesOf(row.Name, contender) {
		if s.Capacity != nil && s.Capacity.Depth > 0 {
			return fmt.Sprintf(", depth %d", s.Capacity.Depth)
		}
	}
	return ""
}
