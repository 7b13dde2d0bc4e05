package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// capacitySection shows the result of a search: each bound with its limit, and the curve.
func capacitySection(j judge.Judgement) doc.Section {
	s := doc.Section{ID: "capacity", Title: "Capacity"}
	if j.Capacity == nil {
		return s
	}
	s.Lead = "The highest rate of operations that keeps a percentile of the latency within a bound. Latency counts from " +
		"when an operation is due. docs/capacity.md of nfsbench says what the number means."
	s.Add(doc.Block{Table: boundTable(*j.Capacity)})
	for _, b := range j.Capacity.Bounds {
		if b.LimitReason != "" {
			s.Add(doc.Block{Facts: []doc.Fact{{Label: "limit", Text: b.Bound() + ": " + b.LimitReason}}})
		}
	}
	table := curveOfLoad(*j.Capacity)
	s.Add(doc.Block{In: doc.TextOnly, Apart: true}, doc.Block{In: doc.TextOnly, Table: table})
	l := chart.LoadCurves{
		Axis: rateUnit(*j.Capacity) + " offered", Lines: loadLines(*j.Capacity),
	}
	if i := slices.IndexFunc(j.Capacity.Curve, func(p measure.CurvePoint) bool { return p.Knee }); i >= 0 {
		l.Knee = float64(j.Capacity.Curve[i].Offered)
	}
	for _, b := range j.Capacity.Bounds {
		l.Bounds = append(l.Bounds, boundMark(b))
		l.Capacities = append(l.Capacities, capacityMark(b, "")...)
	}
	s.Add(doc.Block{Figure: &doc.Figure{
		ID: "load-latency", Title: "Latency over load", Draw: l.SVG, Table: table,
		Description: fmt.Sprintf("Percentiles of the latency at %s, with the bounds and the capacity within each.",
			human.Count(len(j.Capacity.Curve), "rate")),
		Caption: "Horizontal lines: the bounds. Vertical lines: the capacity within each, shaded with its interval (95 %). " +
			"Rates far above the capacity are in the table only.",
	}})
	return s
}

// rateUnit returns the unit of a search's rates.
func rateUnit(c measure.Capacity) string {
	if c.Statements {
		return "statements/s"
	}
	return "operations/s"
}

// capacityText formats a capacity, or what is known if it was not reached.
func capacityText(b measure.BoundCapacity, lowest int64) string {
	switch {
	case b.Reached:
		return fmt.Sprint(b.OperationsPerSecond)
	case b.OperationsPerSecond > 0:
		return fmt.Sprintf(">= %d", b.OperationsPerSecond)
	case b.High == 0: // too few operations to tell
		return doc.Unknown
	default:
		return fmt.Sprintf("< %d", lowest)
	}
}

func boundTable(c measure.Capacity) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(1, 10, "Bound", "Capacity, "+rateUnit(c), "Low", "High",
		"Limited by")}
	t.Columns[0].Width, t.Columns[1].Short = 16, "CAPACITY/S"
	t.Columns[4].Number = false
	for _, b := range c.Bounds {
		row := t.Row(b.Bound(), capacityText(b, c.Curve[0].Offered), nonZero(b.Low), nonZero(b.High),
			cmp.Or(b.LimitedBy, doc.Unknown))
		row.Cells[1].Strong = b.Reached
	}
	t.Note = "Low and high contain the capacity with 95 % confidence."
	if c.Searches > 1 {
		t.Note += fmt.Sprintf(" Of %d searches: the median of those that found the capacity, or the first that did not if "+
			"most did not. Low and high also contain the others that found it.", c.Searches)
	}
	return t
}

// curveOfLoad returns the curve as a table.
func curveOfLoad(c measure.Capacity) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(0, 8, "Offered", "Achieved", "MB/s", "p50", "p99", "p99.9", "Errors")}
	both := false
	for _, p := range c.Curve {
		both = both || p.Read != nil
	}
	if c.Statements {
		t.Columns[2].In = doc.Nowhere
	}
	directions := doc.Nowhere
	if both {
		directions = doc.HTMLOnly
	}
	t.Columns = append(t.Columns, doc.Column{Head: "Reads, p99", Number: true, In: directions},
		doc.Column{Head: "Writes, p99", Number: true, In: directions}, doc.Column{Head: "Knee"})
	for _, p := range c.Curve {
		t.Row(fmt.Sprint(p.Offered), fmt.Sprint(p.Achieved), human.Megabytes(p.BytesPerSecond),
			latencyOrUnknown(p.P50Microseconds), latencyOrUnknown(p.P99Microseconds), latencyOrUnknown(p.P999Microseconds),
			fmt.Sprint(p.Errors), directionP99(p.Read), directionP99(p.Write), kneeMark(p))
	}
	t.Note = "Knee: the last rate before one of which less than 98 % was achieved."
	return t
}

func directionP99(d *measure.Direction) string {
	if d == nil {
		return doc.Unknown
	}
	return latencyCells(d.Latency)[3]
}

func latencyOrUnknown(us int64) string {
	if us <= 0 {
		return doc.Unknown
	}
	return human.Latency(us)
}

func kneeMark(p measure.CurvePoint) string {
	if p.Knee {
		return "knee"
	}
	return ""
}

// loadLines returns the percentiles of a curve.
func loadLines(c measure.Capacity) []chart.Line {
	var lines []chart.Line
	for _, percentile := range []string{"p50", "p99", "p99.9"} {
		lines = append(lines, loadLine(percentile, percentile, c.Curve))
	}
	return lines
}

func loadLine(name, percentile string, curve []measure.CurvePoint) chart.Line {
	l := chart.Line{Name: name}
	for _, p := range curve {
		us := map[string]int64{"p50": p.P50Microseconds, "p99": p.P99Microseconds, "p99.9": p.P999Microseconds}[percentile]
		l.Points = append(l.Points, chart.Point{X: float64(p.Offered), Y: positive(float64(us))})
	}
	return l
}

func boundMark(b measure.BoundCapacity) chart.Mark {
	return chart.Mark{Label: b.Bound(), Value: float64(b.Microseconds)}
}

// capacityMark returns the band of a bound whose capacity was reached. In a comparison, the label begins with of.
func capacityMark(b measure.BoundCapacity, of string) []chart.CapacityMark {
	if !b.Reached {
		return nil
	}
	m := chart.CapacityMark{
		Label: fmt.Sprintf("%s%d/s within %s", of, b.OperationsPerSecond, b.Bound()),
		Value: float64(b.OperationsPerSecond), Low: float64(b.Low), High: float64(b.High),
	}
	if b.High == 0 {
		m.High = math.NaN()
	}
	return []chart.CapacityMark{m}
}

// capacityOverlay draws the curves of two searches over each other, for the percentile of the first
// bound of the first search.
func capacityOverlay(a, b compare.Side) []doc.Block {
	x, y := a.Judgement.Capacity, b.Judgement.Capacity
	if x == nil || y == nil {
		return nil
	}
	percentiles := map[bench.LatencyPercentile]string{"p50": "p50", "p999": "p99.9"}
	percentile := cmp.Or(percentiles[x.Bounds[0].Percentile], "p99") // the curve has three of them
	l := chart.LoadCurves{Axis: rateUnit(*x) + " offered"}
	for _, side := range []compare.Side{a, b} {
		c := side.Judgement.Capacity
		l.Lines = append(l.Lines, loadLine(sideName(side)+", "+percentile, percentile, c.Curve))
		l.Capacities = append(l.Capacities, capacityMark(c.Bounds[0], sideName(side)+": ")...)
		if m := boundMark(c.Bounds[0]); len(l.Bounds) == 0 || l.Bounds[0] != m {
			l.Bounds = append(l.Bounds, m)
		}
	}
	return []doc.Block{{Figure: &doc.Figure{
		ID: "load-latency", Title: "Latency over load of both sides", Draw: l.SVG,
		Description: "The " + percentile + " latency of each side over the rate that was offered, with the capacity within " +
			"the first bound.",
		Caption: "The side whose line stays low for longer has more capacity. Vertical lines: the capacity of each " +
			"side within its first bound, shaded with its interval.",
		Table: overlayTable(a, b),
	}}}
}

// overlayTable returns both curves as a table.
func overlayTable(a, b compare.Side) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(1, 0, "Side", "Offered", "Achieved", "p50", "p99", "p99.9", "Errors")}
	for _, side := range []compare.Side{a, b} {
		for _, p := range side.Judgement.Capacity.Curve {
			t.Row(sideName(side), fmt.Sprint(p.Offered), fmt.Sprint(p.Achieved), latencyOrUnknown(p.P50Microseconds),
				latencyOrUnknown(p.P99Microseconds), latencyOrUnknown(p.P999Microseconds), fmt.Sprint(p.Errors))
		}
	}
	return t
}

// capacityTile returns the tile with the capacity, in place of the rate of the measured level.
func capacityTile(c *measure.Capacity) (doc.Tile, bool) {
	if c == nil || !c.Bounds[0].Reached {
		return doc.Tile{}, false
	}
	b, short := c.Bounds[0], "IOPS in "
	if c.Statements {
		short = "statements/s in "
	}
	return doc.Tile{
		Value: fmt.Sprint(b.OperationsPerSecond), Unit: "/s", Short: short + b.Bound(),
		Label: "Capacity, " + b.Bound(),
	}, true
}
