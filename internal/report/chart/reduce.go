package chart

import "math"

// Point is one value of a line. A Y that is not a number is a gap.
type Point struct{ X, Y float64 }

// column is what all points of one pixel column come to.
type column struct {
	count          int
	low, high, sum float64
	gap            bool // something is missing here
}

func (c column) mean() float64 { return c.sum / float64(c.count) }

// reduce puts points into n columns between two ends and keeps the lowest and the
// highest of each, so that a dip of one second is seen in a picture of an hour.
func reduce(points []Point, from, to float64, n int) []column {
	columns := make([]column, n)
	for _, p := range points {
		i := int((p.X - from) / (to - from) * float64(n))
		if i == n && p.X <= to {
			i = n - 1
		}
		if i < 0 || i >= n || math.IsNaN(p.X) {
			continue
		}
		c := &columns[i]
		switch {
		case !finite(p.Y):
			c.gap = true
		case c.count == 0:
			*c = column{count: 1, low: p.Y, high: p.Y, sum: p.Y, gap: c.gap}
		default:
			c.count++
			c.sum += p.Y
			c.low, c.high = min(c.low, p.Y), max(c.high, p.Y)
		}
	}
	return columns
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// runs are the parts of points without a gap.
func runs(points []Point) [][]Point {
	var out [][]Point
	begin := 0
	for i := range len(points) + 1 {
		if i < len(points) && finite(points[i].Y) {
			continue
		}
		if i > begin {
			out = append(out, points[begin:i])
		}
		begin = i + 1
	}
	return out
}

// columnRuns are the parts of columns without a gap, as mean, lowest and highest
// at the middle of each column.
func columnRuns(columns []column, from, to float64) [][3][]Point {
	var out [][3][]Point
	open := false
	for i, c := range columns {
		if c.count == 0 {
			open = open && !c.gap
			continue
		}
		if !open {
			out, open = append(out, [3][]Point{}), true
		}
		x := from + (float64(i)+.5)/float64(len(columns))*(to-from)
		for k, y := range []float64{c.mean(), c.low, c.high} {
			part := &out[len(out)-1][k]
			*part = append(*part, Point{x, y})
		}
	}
	return out
}

// Highest is the highest of all values that are numbers; 0 of none.
func Highest(lines []Line) float64 {
	most := 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			if finite(p.Y) {
				most = max(most, p.Y)
			}
		}
	}
	return most
}
