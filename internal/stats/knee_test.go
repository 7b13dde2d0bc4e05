package stats

import "testing"

// closed makes the levels of a closed loop without pauses, where throughput is
// users over latency.
func closed(users, milliseconds []float64) []LoadPoint {
	points := make([]LoadPoint, 0, len(users))
	for i, u := range users {
		points = append(points, LoadPoint{Users: u, Throughput: u / milliseconds[i] * 1000, MeanMicroseconds: milliseconds[i] * 1000})
	}
	return points
}

func TestTheKneeIsWhereThroughputStopsGrowing(t *testing.T) {
	t.Parallel()
	oneToSixteen := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	doublings := []float64{1, 2, 4, 8, 16, 32, 64}
	cases := map[string]struct {
		reason string
		points []LoadPoint
		want   int
		ok     bool
	}{
		"one GbE, one user at a time": {
			"from 10 to 16 users 1.6 times the users give 3 % more, and 1.55 times the latency; 9 to 13 still gave 6.5 % for 5.2 % allowed",
			closed(oneToSixteen, []float64{.46, .47, .61, .61, .60, .64, .67, .70, .73, .78, .85, .92, .99, 1.04, 1.12, 1.21}), 9, true,
		},
		"one GbE, in doublings":  {"from 8 to 16 users gave 15 %, from 16 on 4 %", closed([]float64{1, 2, 3, 4, 8, 16, 32, 64}, []float64{.43, .49, .57, .58, .69, 1.20, 2.31, 4.62}), 5, true},
		"still growing":          {"latency hardly rises", closed(doublings, []float64{1, 1, 1, 1.01, 1.02, 1.05, 1.1}), 0, false},
		"full from the start":    {"latency doubles each time", closed(doublings, []float64{1, 2, 4, 8, 16, 32, 64}), 0, true},
		"it falls beyond":        {"less throughput than before is no growth", closed(doublings, []float64{1, 1, 1, 2.2, 4.5, 9.5, 20}), 2, true},
		"10 % for each doubling": {"at the limit is growth", []LoadPoint{{1, 100, 0}, {2, 110.001, 0}, {4, 121.01, 0}}, 0, false},
		"9 % for each doubling":  {"below the limit is none", []LoadPoint{{1, 100, 0}, {2, 109, 0}, {4, 118.81, 0}}, 0, true},
		"a pause in growth":      {"8 users are not the knee when 32 give more again", []LoadPoint{{4, 100, 1000}, {8, 190, 1100}, {16, 195, 2100}, {32, 380, 2200}}, 0, false},
		"only the last step":     {"1.25 times the users are too few to tell", []LoadPoint{{8, 100, 1000}, {10, 101, 1240}}, 0, false},
		"the client is full":     {"throughput stands and so does latency: users wait for CPU", []LoadPoint{{4, 100, 1000}, {8, 102, 1010}, {16, 101, 1020}}, 0, false},
		"latency grows by half":  {"of what users without throughput cost is not enough", []LoadPoint{{4, 100, 1000}, {8, 102, 1500}, {16, 101, 2250}}, 0, false},
		"latency is not known":   {"throughput alone decides", []LoadPoint{{4, 100, 0}, {8, 102, 0}}, 0, true},
		"nothing was done":       {"nothing is no plateau", []LoadPoint{{4, 0, 0}, {8, 0, 0}}, 0, false},
		"no users":               {"a broken file has no knee", []LoadPoint{{0, 100, 0}, {8, 100, 0}}, 0, false},
		"one step":               {"there is nothing beyond", []LoadPoint{{4, 100, 10}}, 0, false},
		"none":                   {"nothing", nil, 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := Knee(tc.points); got != tc.want || ok != tc.ok {
				t.Errorf("%s: knee at %d, %v; want %d, %v", tc.reason, got, ok, tc.want, tc.ok)
			}
		})
	}
}
