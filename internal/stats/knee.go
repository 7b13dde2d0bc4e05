package stats

import "math"

// LoadPoint is one level of load and its result.
type LoadPoint struct {
	Users            float64 // concurrent users
	Throughput       float64 // in any unit
	MeanMicroseconds float64 // 0 = not known
}

// Parameters of Knee.
const (
	kneeGrowth   = 1.10       // of throughput for each doubling of users: less is not growth
	kneeDistance = math.Sqrt2 // minimum ratio of the users of two levels: closer levels differ by noise
	kneeLatency  = 0.95       // of the latency that more users at the same throughput cause: means are noisy, too
)

// Knee returns the index of the first level beyond which more users increase the latency and hardly the
// throughput. It returns false if there is no such level. The points are in ascending order of users.
//
// Knee compares a level with every level that has at least 1.41 times its users, and there must be at least
// one. At each of them the throughput is less than 10 % higher for each doubling of users, and the latency is
// higher by at least the ratio of users divided by that limit, less 5 %. The condition on latency distinguishes a
// saturated storage, where users wait for the storage, from a saturated client, where they wait for the client.
//
// Knee does not compare a level only with the next one, because the difference that one user makes is smaller
// than the noise of the measurements.
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

// flat reports whether the throughput grows too little from level p to level q, while the latency grows.
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
