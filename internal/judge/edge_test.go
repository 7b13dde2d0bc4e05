package judge

import "testing"

func TestCountersMayMissTheEdgesOfAShortWindowOnly(t *testing.T) {
	cases := map[string]struct {
		milliseconds int64
		want         float64
	}{
		"a look of 5 s": {5_000, 40},
		"a minute":      {60_000, 200.0 / 60},
		"no window":     {0, 100},
		"half a second": {500, 100},
		"a whole hour":  {3_600_000, 200.0 / 3600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := edgePermille(&Summary{DurationMilliseconds: tc.milliseconds}); got < tc.want-0.01 || got > tc.want+0.01 {
				t.Errorf("got %v permille, want %v", got, tc.want)
			}
		})
	}
}
