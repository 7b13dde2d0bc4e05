package chart

import (
	"fmt"
	"math"
	"strconv"
)

// scale maps values to pixels.
type scale struct {
	low, high float64 // values
	from, to  float64 // pixels
	log       bool
}

// at returns the pixel of a value. Values beyond the ends lie at the ends.
func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(max(v, s.low))
	}
	share := (v - low) / (high - low)
	if math.IsNaN(share) || math.IsInf(share, 0) {
		share = 0
	}
	return s.from + min(max(share, 0), 1)*(s.to-s.from)
}

// step returns a round distance of ticks, so that about n fit into a range.
func step(span float64, n int) float64 {
	if !(span > 0) || math.IsInf(span, 0) {
		return 1
	}
	raw := span / float64(max(n, 1))
	magnitude := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*magnitude*1.0001 {
			return m * magnitude
		}
	}
	return 10 * magnitude
}

// linear returns a scale between round numbers around low and high, with its ticks.
func linear(low, high float64, n int, from, to float64) (scale, []float64) {
	const most = 1e15
	if math.IsNaN(low) || math.IsInf(low, 0) {
		low = 0
	}
	low, high = bounded(low, -most, most), bounded(high, -most, most)
	if high <= low {
		high = low + 1
	}
	d := step(high-low, n)
	first, last := math.Floor(low/d+1e-9), math.Ceil(high/d-1e-9)
	ticks := make([]float64, 0, n+2)
	for i := first; i <= last && len(ticks) < 100; i++ {
		ticks = append(ticks, i*d)
	}
	return scale{low: first * d, high: last * d, from: from, to: to}, ticks
}

// tickText returns a function that writes ticks with the decimals that distinguish them.
func tickText(ticks []float64) func(float64) string {
	decimals := 0
	if len(ticks) > 1 {
		d := ticks[1] - ticks[0]
		for decimals < 6 && math.Abs(math.Round(d)-d) > 1e-6*d {
			d *= 10
			decimals++
		}
	}
	return func(v float64) string { return strconv.FormatFloat(v+0, 'f', decimals, 64) }
}

// percentText returns a function that writes ticks as tickText does, with a sign and the unit.
func percentText(ticks []float64) func(float64) string {
	text := tickText(ticks)
	return func(v float64) string {
		if v > 0 {
			return "+" + text(v) + "%"
		}
		return text(v) + "%"
	}
}

// bounded limits a value, which may come from a broken file, to the range that can be drawn.
func bounded(v, low, high float64) float64 {
	if math.IsNaN(v) {
		return low
	}
	return min(max(v, low), high)
}

// logarithmic returns a scale with ticks at 1, 2 and 5, or at powers of ten over more than three decades.
func logarithmic(low, high, from, to float64) (scale, []float64) {
	low = bounded(low, 1e-3, 1e12)
	high = max(bounded(high, 1e-3, 1e13), low*2)
	fine := math.Log10(high/low) <= 3
	var ticks []float64
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			if m == 1 || fine {
				ticks = append(ticks, m*math.Pow(10, e))
			}
		}
	}
	first, last := 0, len(ticks)-1
	for first+1 < len(ticks) && ticks[first+1] <= low {
		first++
	}
	for last > first+1 && ticks[last-1] >= high {
		last--
	}
	ticks = ticks[first : last+1]
	return scale{low: ticks[0], high: ticks[len(ticks)-1], from: from, to: to, log: true}, ticks
}

// timeStep returns a distance of ticks on a time axis that is round in seconds, minutes, hours or days.
func timeStep(span float64, n int) float64 {
	steps := []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400}
	for _, s := range steps {
		if span/s <= float64(n) {
			return s
		}
	}
	return 86400 * math.Ceil(span/86400/float64(n))
}

// Clock writes seconds as minutes and seconds, or as hours, minutes and seconds.
func Clock(seconds float64) string {
	if math.IsNaN(seconds) || math.Abs(seconds) > 1e9 {
		return ""
	}
	s := int64(math.Round(seconds))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
