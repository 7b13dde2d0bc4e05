package stats

// Range is how many latencies lie from From to To, both included, in microseconds.
type Range struct{ From, To, Count int64 }

// Ranges are the parts of a histogram that counted something, ascending, as fine
// as it is.
func (h *Histogram) Ranges() []Range {
	var out []Range
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			out = append(out, Range{From: b.From, To: b.To, Count: b.Count})
		}
	}
	return out
}
