package stats

import "math"

// LoadPoint is one level of load and what it gave.
type LoadPoint struct {
	Users            float64 // at work at once
	Throughput       float64 // of any unit
	MeanMicroseconds float64 // 0 = not known
}

// The rule of Knee.
const (
	kneeGrowth   = 1.10       // of throughput for each doubling of users: less is no growth
	kneeDistance = math.Sqrt2 // a step must be this much larger to tell: nearer ones differ by noise
	kneeLatency  = 0.95       // of the latency that users without throughput cost: means are noisy, too
)

// Knee is the index of the first level beyond which more users give latency and
// hardly any throughput; false when no level is one. The points are in the order
// of ascending users.
//
// A level is the knee when it is so at every level with 1.41 times its users or
// more, of which there must be one: the throughput grew by less than 10 % for
// each doubling of users, and the latency by as much as the users, but for that
// growth. The second condition tells a storage that is full, where users wait
// for it, from a client that is, where they wait for the client.
//
// Each level is compared with later ones and not only with the next: users that
// grow one by one differ by less than measurements do.
func Knee(points []LoadPoint) (int, bool) {
	for i, p := range points {
		beyond := 0
		for _, q := range points[i+1:] {
			if q.Users < p.Users*kneeDistance-1e-9 {
				continue
			}
			if !flat(p, q) {
				beyond = 0
				break
			}
			beyond++
		}
		if beyond > 0 {
			return i, true
		}
	}
	return 0, false
}

// flat compares two levels.
func flat(p, q LoadPoint) bool {
	if p.Users <= 0 || p.Throughput <= 0 {
		return false
	}
	users := q.Users / p.Users
	growth := math.Pow(kneeGrowth, math.Log2(users))
	if q.Throughput/p.Throughput >= growth {
		return false
	}
	if p.MeanMicroseconds <= 0 || q.MeanMicroseconds <= 0 {
		return true
	}
	return q.MeanMicroseconds/p.MeanMicroseconds >= users/growth*kneeLatency
}
