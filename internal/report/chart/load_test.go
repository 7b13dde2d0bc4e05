package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func loadCurves() LoadCurves {
	return LoadCurves{
		Axis: "operations/s offered",
		Lines: []Line{
			{Name: "p50", Points: []Point{{1000, 200}, {40_000, 300}, {160_000, 9e5}}},
			{Name: "p99", Points: []Point{{1000, 400}, {40_000, 990}, {160_000, 2e6}}},
		},
		Bounds:     []Mark{{"p99 of 1 ms", 1000}},
		Capacities: []CapacityMark{{"40000/s", 40_000, 38_000, 44_000}, {"60000/s", 60_000, 59_000, math.NaN()}},
		Knee:       40_000,
	}
}

func TestLoadCurvesShowBoundsCapacitiesAndKnee(t *testing.T) {
	t.Parallel()
	svg := loadCurves().SVG(Frame{ID: "f", Width: 900})
	for text, times := range map[string]int{
		"p99 of 1 ms": 1, `class="limit"`: 1, `class="warm"`: 1, `class="mark"`: 3, ">knee<": 1, "p99 at 40k operations/s: 990 µs": 1,
		"160k": 0, // far above the capacity
	} {
		if n := strings.Count(svg, text); n != times {
			t.Errorf("%q is there %d times, not %d", text, n, times)
		}
	}
	at := func(label string) (x, y float64) {
		m := regexp.MustCompile(`<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>` + label + "<").FindStringSubmatch(svg)
		if m == nil {
			t.Fatalf("no %s in %s", label, svg)
		}
		x, _ = strconv.ParseFloat(m[1], 64)
		y, _ = strconv.ParseFloat(m[2], 64)
		return x, y
	}
	lowX, lowY := at("40000/s")
	highX, highY := at("60000/s")
	if lowX >= highX || lowY <= highY {
		t.Errorf("the label of the lower capacity is at %g, %g and that of the higher at %g, %g: its line goes through that", lowX, lowY, highX, highY)
	}
}

func TestBrokenLoadCurvesAreDrawn(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, l := range map[string]LoadCurves{
		"nothing":     {},
		"no numbers":  {Lines: []Line{{Name: "p99", Points: []Point{{nan, nan}, {inf, inf}, {1, -1}, {1, 0}}}}, Bounds: []Mark{{"b", nan}}, Knee: nan},
		"no capacity": {Capacities: []CapacityMark{{"c", nan, nan, nan}, {"d", 0, 0, 0}, {"e", 1e300, 1, inf}}},
	} {
		svg := l.SVG(Frame{ID: "f", Width: 300})
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || !strings.HasSuffix(svg, "</svg>") {
			t.Errorf("%s: %s", name, svg)
		}
	}
}
