package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// timeSection shows throughput and latency over the whole run, warm-up included.
func timeSection(c axis, j judge.Judgement) doc.Section {
	s := doc.Section{ID: "time", Title: "Over time"}
	s.Add(doc.Block{In: doc.TextOnly, Trend: throughputTrend(j.Series)})
	if len(c.Slots) < 2 {
		return s
	}
	t := chart.Timeline{Panels: loadPanels(c, j), Bands: c.bands(), Pauses: c.pauses(j), To: c.End()}
	caption := "Shaded: warm-up, not counted."
	if len(t.Pauses) > 0 {
		caption += " Marked: pauses, in which a client or a path had no answer."
	}
	if len(c.Slots) > doc.WideFigure {
		caption += " The line is the mean, the pale area all from the lowest to the highest second," +
			" so that short dips and peaks stay visible."
	}
	s.Add(doc.Block{Figure: &doc.Figure{
		ID: "time", Title: "Throughput and latency over time", Draw: t.SVG, Caption: caption,
		Description: fmt.Sprintf("Throughput and latency of %s over %s.",
			human.Count(len(j.Facts.Clients), "client"), chart.Clock(c.End())),
	}})
	s.Add(doc.Block{In: doc.HTMLOnly, Table: pauseTable(j)})
	return s
}

// longPauses calls do for each long pause of the repetitions.
func longPauses(j judge.Judgement, do func(repetition int32, p measure.Pause)) {
	for _, s := range j.Repetitions {
		for _, p := range s.Pauses {
			if p.Long {
				do(s.Repetition, p)
			}
		}
	}
}

// pauses returns the long pauses on the time axis.
func (c axis) pauses(j judge.Judgement) (out []chart.Band) {
	longPauses(j, func(_ int32, p measure.Pause) {
		from := p.Start.Sub(c.Start).Seconds()
		label := fmt.Sprintf("%s: %s without an answer", standing(p), human.Seconds(p.Milliseconds))
		out = append(out, chart.Band{From: from, To: from + float64(p.Milliseconds)/1000, Label: label})
	})
	return out
}

// standing names the client, or the path, that had no answer in a pause.
func standing(p measure.Pause) string {
	if p.Path == "" {
		return fmt.Sprintf("client %d", p.Client)
	}
	return fmt.Sprintf("client %d, %s", p.Client, p.Path)
}

// pauseTable lists the long pauses and what they cost; nil if there are none.
func pauseTable(j judge.Judgement) *doc.Table {
	t := &doc.Table{
		Note: "Pauses: times in which a client, or one of its paths, had no answer.",
		Columns: doc.Columns(3, 0, "Pause", "Repetition", "On", "From", "Length", "Operations missing",
			"Rate back at 95 % after", "Level afterwards"),
	}
	longPauses(j, func(repetition int32, p measure.Pause) {
		t.Row(p.Start.UTC().Format("15:04:05.0"), fmt.Sprint(repetition), standing(p),
			human.Seconds(p.StartMilliseconds), human.Seconds(p.Milliseconds), number(p.MissingOperations),
			known(p.BackMilliseconds, human.Seconds), known(p.LevelPermille, human.Share))
	})
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// throughputTrend returns the measured throughput as one line; nil if there are fewer than two points.
func throughputTrend(series []measure.SeriesPoint) *doc.Trend {
	if len(series) < 2 {
		return nil
	}
	t := &doc.Trend{Label: "over time"}
	lowest, highest := int64(math.MaxInt64), int64(0)
	for _, p := range series {
		v := p.ReadBytesPerSecond + p.WriteBytesPerSecond
		t.Values = append(t.Values, float64(v))
		lowest, highest = min(lowest, v), max(highest, v)
	}
	t.Scale = fmt.Sprintf("%s..%s MB/s", human.Megabytes(lowest), human.Megabytes(highest))
	return t
}

// loadPanels returns the panels of the load itself.
func loadPanels(c axis, j judge.Judgement) []chart.Panel {
	throughput := chart.Panel{
		Title: "Throughput, MB/s", Unit: "MB/s", Height: 170,
		Lines: c.directions(func(o measure.SlotOps) float64 { return o.Bytes / c.Interval / 1e6 }),
	}
	if j.Wire != nil {
		throughput.Limits = []chart.Mark{wireMark(j.Wire.ReadBytesPerSecond)} // full duplex: writes have their own limit
		if c.Writes {
			throughput.Limits = []chart.Mark{wireMark(j.Wire.WriteBytesPerSecond)}
		}
	}
	panels := []chart.Panel{throughput}
	mean := c.directions(func(o measure.SlotOps) float64 { return positive(o.LatencySum / o.Count) })
	p99 := c.directions(func(o measure.SlotOps) float64 { return positive(o.P99) })
	for _, p := range []struct {
		title string
		lines []chart.Line
	}{{"Latency, mean", mean}, {"Latency, 99th percentile", p99}} {
		most := chart.Highest(p.lines)
		if most == 0 {
			continue
		}
		unit := "µs"
		if most >= 2000 {
			unit = "ms"
			for _, l := range p.lines {
				for i := range l.Points {
					l.Points[i].Y /= 1000
				}
			}
		}
		panels = append(panels, chart.Panel{Title: p.title + ", " + unit, Unit: unit, Height: 100, Lines: p.lines})
	}
	return panels
}

// positive returns v, or NaN if v is no latency.
func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

func wireMark(bytesPerSecond int64) chart.Mark {
	return chart.Mark{Label: "wire limit " + human.Throughput(bytesPerSecond), Value: float64(bytesPerSecond) / 1e6}
}

// pathSection shows the load of each path, over time and in total.
func pathSection(c axis, j judge.Judgement) doc.Section {
	s := doc.Section{ID: "paths", Title: "Paths"}
	if j.Database != nil {
		return s // its paths are shown with the database
	}
	rates := map[string][]chart.Point{}
	for path, bytes := range c.Paths {
		name := channelName(path.Local, path.Path, path.Role)
		for i, b := range bytes {
			y := math.NaN()
			if b >= 0 && c.Slots[i].Clients > 0 {
				y = b / c.Interval / 1e6
			}
			rates[name] = append(rates[name], chart.Point{X: (float64(i) + .5) * c.Interval, Y: y})
		}
	}
	if panels := strips(rates, ", MB/s", "MB/s"); len(panels) > 0 && len(c.Slots) > 1 {
		oneScale(panels)
		t := chart.Timeline{Panels: panels, Bands: c.bands(), To: c.End()}
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: "paths", Title: "Throughput of each path over time", Draw: t.SVG,
			Description: "One strip for each path, all of one scale, on the time axis of the figure above.",
			Caption:     "All strips have one scale and the time axis of the load.",
		}})
	}
	s.Add(doc.Block{Table: pathTable(*j.Summary)}, doc.Block{Table: nfsServerTable(*j.Summary)})
	return s
}

// strips returns a small panel for each of the first paths or nodes with values; tables hold all.
func strips(all map[string][]chart.Point, what, unit string) []chart.Panel {
	const most = 12
	var out []chart.Panel
	for _, name := range slices.Sorted(maps.Keys(all)) {
		told := slices.ContainsFunc(all[name], func(p chart.Point) bool { return !math.IsNaN(p.Y) })
		if told && len(out) < most {
			out = append(out, chart.Panel{
				Title: name + what, Unit: unit, Height: 48, Lines: []chart.Line{{Name: name, Points: all[name]}},
			})
		}
	}
	return out
}

// oneScale gives all panels the scale of the highest.
func oneScale(panels []chart.Panel) {
	most := 0.0
	for _, p := range panels {
		most = max(most, chart.Highest(p.Lines))
	}
	for i := range panels {
		panels[i].Max = max(most*1.05, 1e-6)
	}
}

func pathTable(s measure.Summary) *doc.Table {
	down := doc.HTMLOnly // a terminal shows it only if a path was down
	if slices.ContainsFunc(s.Paths, func(p measure.PathShare) bool { return p.DownMilliseconds > 0 }) {
		down = doc.Both
	}
	t := &doc.Table{Note: fmt.Sprintf("Of repetition %d, the median.", s.Repetition), Columns: []doc.Column{
		{Head: "Path"},
		{Head: "State", In: doc.HTMLOnly},
		{Head: "MB/s", Number: true, Width: 10},
		{Head: "Read", Number: true, In: doc.HTMLOnly},
		{Head: "Written", Number: true, In: doc.HTMLOnly},
		{Head: "Bytes", Number: true, Width: 12, In: doc.TextOnly},
		{Head: "Share", Number: true, Width: 8},
		{Head: "Down", Number: true, Width: 9, In: down},
		{Head: "Reconnects", Number: true, In: doc.HTMLOnly},
		{Head: "Retransmits", Number: true, In: doc.HTMLOnly},
		{Head: "State", In: doc.TextOnly}, // beside the bar
		{Head: "Replies", Number: true, In: doc.HTMLOnly},
	}}
	for _, p := range s.Paths {
		seconds := human.Seconds(p.DownMilliseconds)
		row := t.Row(shareName(p), p.State, human.Megabytes(p.BytesPerSecond), human.Bytes(p.BytesRead),
			human.Bytes(p.BytesWritten), human.Bytes(p.Bytes()), human.Share(p.SharePermille), seconds,
			fmt.Sprint(p.Reconnects), fmt.Sprint(p.Retransmits), p.State, nonZero(p.Replies))
		row.Bar = new(float64(p.SharePermille) / 1000)
		if p.Node != "" {
			row.Cells[0].Short = channelName(p.Local, p.Path, p.Role) + ", " + p.Node
		}
		tone := doc.Good
		switch {
		case p.State != bench.PathUp:
			tone, row.Cells[1].Tone = doc.Bad, doc.Bad
		case p.DownMilliseconds > 0:
			tone = doc.Warn
		}
		row.Cells[10].Tone = tone
		if p.DownMilliseconds == 0 {
			row.Cells[7].Text, row.Cells[7].Short = doc.Unknown, seconds
		}
	}
	return t
}
