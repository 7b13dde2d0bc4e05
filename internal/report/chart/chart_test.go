package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const evil = `"><script>alert(1)</script>&'</text>`

// figures are one of each kind, with a name everywhere that a name can stand.
func figures(name string, values ...float64) map[string]func(Frame) string {
	points := make([]Point, 0, len(values))
	for i, v := range values {
		points = append(points, Point{float64(i), v})
	}
	at := func(i int) float64 { return values[i%len(values)] }
	order := Order{Groups: []string{name, name}, Points: []OrderPoint{{1, 0, at(0), name}, {2, 1, at(1), name}}}
	return map[string]func(Frame) string{
		"timeline": Timeline{
			To: at(0) + float64(len(values)), Bands: []Band{{0, at(1), name, true}},
			Panels: []Panel{{Title: name, Unit: name, Height: 50, Lines: []Line{{name, points, nil}, {name, points, nil}}, Limits: []Mark{{name, at(1)}}}},
		}.SVG,
		"distributions": func(f Frame) string {
			return Distributions(f, []Distribution{{name, []Bar{{at(0), at(1), at(2)}}, []Mark{{name, at(0)}, {name, at(1)}}}})
		},
		"percentiles": func(f Frame) string {
			return Percentiles(f, []Line{{name, []Point{{.5, at(0)}, {.99, at(1)}}, nil}, {name, []Point{{at(0), at(1)}}, nil}})
		},
		"steps":  Steps{[]string{name, name}, name, []Panel{{Title: name, Unit: name, Lines: []Line{{name, []Point{{0, at(0)}}, []Range{{at(1), at(2)}}}}, Limits: []Mark{{name, at(1)}}}}, 1}.SVG,
		"order":  func(f Frame) string { return order.SVG(f, name) },
		"forest": Forest{[]Interval{{name, at(0), at(1), at(2), name, MarkUp, "better", name, name}}, at(0), name, name}.SVG,
	}
}

// wellFormed reads a figure as XML and returns its texts, with tooltips.
func wellFormed(t *testing.T, svg string) []string {
	t.Helper()
	var texts []string
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.CharData:
			texts = append(texts, string(e))
		case xml.StartElement:
			if e.Name.Local == "script" || e.Name.Local == "img" {
				t.Fatalf("an element <%s> came in by a name", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestNamesAndBrokenNumbersDoNotBreakFigures(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{{1, 2, 3}, {0, 0, 0}, {math.NaN(), math.Inf(1), math.Inf(-1)}, {-5, 1e300, 1e-300}, {math.MaxFloat64, -math.MaxFloat64, 0}} {
		for kind, draw := range figures(evil, values...) {
			for _, w := range []float64{860, 350} {
				svg := draw(Frame{ID: "a b\"<", Title: evil, Description: evil, Width: w})
				texts := wellFormed(t, svg)
				if len(texts) < 2 || texts[0] != evil {
					t.Errorf("%s: the title is not the first text: %q", kind, texts)
				}
			}
		}
	}
}

func FuzzFiguresAreWellFormed(f *testing.F) {
	f.Add(evil, 1.0, 2.0, 3.0)
	f.Add("\x00\xff]]>", math.NaN(), 0.0, -1.0)
	f.Add("", 1e308, -1e308, 1e-308)
	f.Fuzz(func(t *testing.T, name string, a, b, c float64) {
		name = strings.Map(func(r rune) rune { // control characters are not for XML, and HTML takes them
			if r < ' ' || r == 0xfffe || r == 0xffff {
				return '?'
			}
			return r
		}, strings.ToValidUTF8(name, "?"))
		for _, draw := range figures(name, a, b, c) {
			wellFormed(t, draw(Frame{ID: name, Title: name, Description: name, Width: 350}))
		}
	})
}

func TestADipOfOneSecondIsSeenInAnHour(t *testing.T) {
	t.Parallel()
	points := make([]Point, 3600)
	for i := range points {
		points[i] = Point{float64(i), 100}
	}
	points[1777].Y, points[2500].Y = 3, 190
	low, high, n := math.Inf(1), 0.0, 0
	for _, c := range reduce(points, 0, 3600, 500) {
		low, high, n = min(low, c.low), max(high, c.high), n+c.count
	}
	if low != 3 || high != 190 || n != 3600 {
		t.Errorf("of 3600 points %d are left, from %g to %g; want all, from 3 to 190", n, low, high)
	}
	svg := Timeline{To: 3600, Panels: []Panel{{Title: "x", Unit: "MB/s", Height: 100, Lines: []Line{{"read", points, nil}}}}}.SVG(Frame{ID: "x", Width: 860})
	if !strings.Contains(svg, "read 98.4 MB/s (3 to 100)") {
		t.Error("the tooltip does not tell of the dip")
	}
	if n := strings.Count(svg, `class="env e0"`); n != 1 {
		t.Errorf("%d areas from lowest to highest; want 1", n)
	}
}

func TestALineHasAGapWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	known := []Point{{0, 1}, {1, 1}, {2, math.NaN()}, {3, 1}}
	if diff := cmp.Diff([][]Point{known[:2], known[3:]}, runs(known)); diff != "" {
		t.Error(diff)
	}
	long := make([]Point, 2000)
	for i := range long {
		long[i] = Point{float64(i), 5}
		if i >= 500 && i < 900 {
			long[i].Y = math.NaN()
		}
	}
	parts := columnRuns(reduce(long, 0, 2000, 100), 0, 2000)
	if len(parts) != 2 || len(parts[0][0]) != 25 || len(parts[1][0]) != 55 {
		t.Errorf("%d parts; want 2, of 25 and 55 columns", len(parts))
	}
}

func TestColumnsThatNoSampleFallsIntoAreNoGap(t *testing.T) {
	t.Parallel()
	var points []Point
	for i := range 60 {
		points = append(points, Point{float64(i) * 10, 1})
	}
	if parts := columnRuns(reduce(points, 0, 600, 500), 0, 600); len(parts) != 1 {
		t.Errorf("%d parts of a line without a gap", len(parts))
	}
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		low, high float64
		n         int
		want      string
	}{
		"throughput":    {0, 347, 4, "0 100 200 300 400"},
		"small":         {0, .9, 2, "0.0 0.5 1.0"},
		"quarters":      {0, .7, 3, "0.00 0.25 0.50 0.75"},
		"around zero":   {-8, 12, 4, "-10 -5 0 5 10 15"},
		"nothing":       {0, 0, 2, "0.0 0.5 1.0"},
		"not a number":  {math.NaN(), math.NaN(), 2, "0.0 0.5 1.0"},
		"a large range": {0, 12_000, 4, "0 5000 10000 15000"},
	}
	for name, c := range cases {
		s, ticks := linear(c.low, c.high, c.n, 0, 100)
		text := tickText(ticks)
		var got []string
		for _, v := range ticks {
			got = append(got, text(v))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if s.at(s.low) != 0 || s.at(s.high) != 100 {
			t.Errorf("%s: the axis goes from %g to %g", name, s.at(s.low), s.at(s.high))
		}
	}
}

func TestLogarithmicAxesHoldTheirValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		low := math.Pow(10, r.Float64()*6)
		high := low * math.Pow(10, r.Float64()*6)
		s, ticks := logarithmic(low, high, 0, 1000)
		if s.low > low*1.0001 || s.high < high*.9999 || len(ticks) < 2 || len(ticks) > 15 {
			t.Fatalf("%g to %g: the axis goes from %g to %g with %d ticks", low, high, s.low, s.high, len(ticks))
		}
		if s.low < low/10.01 || s.high > max(high, low*2)*10.01 {
			t.Fatalf("%g to %g: the axis goes from %g to %g, most of it empty", low, high, s.low, s.high)
		}
	}
}

func TestPercentileLabelsAreClearOfEachOtherAndOfTheLinesOfHigherOnes(t *testing.T) {
	t.Parallel()
	marks := []Mark{{"p99", 900}, {"p50", 100}, {"max", 999}, {"p99.9", 990}}
	svg := Distributions(Frame{Width: 350}, []Distribution{{"x", []Bar{{90, 1000, 1}}, marks}})
	lines := regexp.MustCompile(`class="mark" d="M[0-9.]+ ([0-9.]+)L`).FindAllStringSubmatch(svg, -1)
	labels := regexp.MustCompile(`<text x="([0-9.]+)" y="([0-9.]+)" class="note halo">([^<]*)<`).FindAllStringSubmatch(svg, -1)
	if len(lines) != len(marks) || len(labels) != len(marks) {
		t.Fatalf("%d lines and %d labels of %d marks", len(lines), len(labels), len(marks))
	}
	for i := range labels {
		if i > 0 && (number(t, labels[i][2]) < number(t, labels[i-1][2])+12 || number(t, lines[i][1]) < number(t, labels[i-1][2])) {
			t.Errorf("%s lies over %s, or its line goes through it", labels[i][3], labels[i-1][3])
		}
		if end := number(t, labels[i][1]) + width(labels[i][3]); end > 350 {
			t.Errorf("%s ends at %g", labels[i][3], end)
		}
	}
}

func TestTimelinesOfOneAxisHaveTheirTimesAtOnePlace(t *testing.T) {
	t.Parallel()
	ticks := func(title string, n int) []string {
		timeline := Timeline{To: 3870}
		for range n {
			timeline.Panels = append(timeline.Panels, Panel{Title: title, Height: 40, Lines: []Line{{"a", []Point{{1, 1e6}}, nil}}})
		}
		return regexp.MustCompile(`x="[0-9.]+"[^>]*>[0-9]+:[0-9:]+<`).FindAllString(regexp.MustCompile(` y="[0-9.]+"`).ReplaceAllString(timeline.SVG(Frame{Width: 860}), ""), -1)
	}
	a, b := ticks("throughput", 3), ticks("192.168.4.50 → 192.168.4.100", 1)
	if len(a) < 5 {
		t.Fatalf("ticks: %v", a)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func TestALimitFarAboveTheLoadDoesNotFlattenIt(t *testing.T) {
	t.Parallel()
	panel := func(limit float64) string {
		return Timeline{To: 10, Panels: []Panel{{Title: "x", Height: 100, Limits: []Mark{{"wire limit", limit}}, Lines: []Line{{"a", []Point{{1, 100}, {2, 90}}, nil}}}}}.SVG(Frame{Width: 860})
	}
	if !strings.Contains(panel(120), "wire limit") {
		t.Error("a limit of 120 is not drawn beside a load of 100")
	}
	if strings.Contains(panel(1000), "wire limit") {
		t.Error("a limit of 1000 is drawn beside a load of 100")
	}
}

func TestLinesAndPointsDifferWithoutColour(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for shape := MarkCircle; shape <= MarkHollowDiamond; shape++ {
		c := newCanvas(Frame{Width: 100})
		c.mark(50, 50, 5, shape, "pt", "")
		seen[c.String()] = true
	}
	if len(seen) != MarkHollowDiamond+1 {
		t.Errorf("%d different marks of %d", len(seen), MarkHollowDiamond+1)
	}
	for i := range 4 {
		if want := fmt.Sprintf("ln s%d", i); lineClass(i) != want {
			t.Errorf("line %d has class %q", i, lineClass(i))
		}
	}
}

func TestAForestShowsZeroTheBandAndEachInterval(t *testing.T) {
	t.Parallel()
	f := Forest{Band: 2, Left: "worse", Right: "better", Rows: []Interval{
		{Label: "a", Value: 9, Low: 7, High: 12, Text: "+9 %", Mark: MarkUp, Class: "better"},
		{Label: "b", Value: -1, Low: math.NaN(), High: math.NaN(), Text: "-1 %", Mark: MarkCross, Class: "same"},
	}}
	svg := f.SVG(Frame{ID: "f", Width: 860})
	if n := strings.Count(svg, `class="interval`); n != 1 {
		t.Errorf("%d intervals; that of b is not known", n)
	}
	zero := regexp.MustCompile(`class="zero" d="M([0-9.]+) `).FindStringSubmatch(svg)
	band := regexp.MustCompile(`<rect x="([0-9.]+)"[^>]*width="([0-9.]+)"[^>]*class="negligible"`).FindStringSubmatch(svg)
	if zero == nil || band == nil {
		t.Fatal("zero or the band is missing")
	}
	x, w := number(t, band[1]), number(t, band[2])
	if z := number(t, zero[1]); math.Abs(x+w/2-z) > .2 || w < 5 {
		t.Errorf("the band of %g from %g is not around zero at %g", w, x, z)
	}
	if !strings.Contains(svg, "◄ worse") || !strings.Contains(svg, "better ►") {
		t.Error("the sides are not named")
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTimesAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	got := []string{Clock(0), Clock(75), Clock(3661), Clock(math.Inf(1))}
	want := []string{"0:00", "1:15", "1:01:01", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
