package measure

import (
	"math"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The share is that of the shortest window: a client whose window lies within another's
// was never alone.
func TestClientsAreTogetherForAShareOfTheShortest(t *testing.T) {
	t.Parallel()
	type span struct{ from, to int } // seconds
	for _, c := range []struct {
		reason string
		spans  []span
		want   float64
	}{
		{"one client", []span{{0, 60}}, 1},
		{"at once", []span{{0, 60}, {0, 60}}, 1},
		{"one within the other", []span{{0, 60}, {10, 40}}, 1},
		{"half of them", []span{{0, 60}, {30, 90}}, 0.5},
		{"half of the shortest", []span{{0, 60}, {45, 75}}, 0.5},
		{"all three for a third", []span{{0, 60}, {20, 80}, {40, 100}}, 1.0 / 3},
		{"one after the other", []span{{0, 60}, {60, 120}}, 0},
		{"with a pause between", []span{{0, 60}, {90, 120}}, 0},
	} {
		var parts []part
		for _, s := range c.spans {
			at := func(seconds int) time.Time { return time.Unix(1e9, 0).Add(time.Duration(seconds) * time.Second) }
			parts = append(parts, part{rep: runfile.Repetition{Start: at(s.from), End: at(s.to)}})
		}
		if got := together(parts); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}
