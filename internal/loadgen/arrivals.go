package loadgen

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// arrivals creates the pacer of each level in a search for capacity.
type arrivals struct {
	gaps            []uint32 // nil = fixed distances
	seed            uint64
	clients, client int64
	levels          uint64 // number so far
}

const (
	cycleBits = 16
	cycle     = 1 << cycleBits // I/Os after which the random gaps repeat, from another start
)

func newArrivals(plan *runfile.Plan, client int32) arrivals {
	c := plan.Workload.Capacity()
	if c == nil {
		return arrivals{}
	}
	a := arrivals{seed: plan.Seed ^ uint64(client)<<32, clients: int64(plan.Clients), client: int64(client)}
	if c.Arrivals != bench.ArrivalsFixed {
		a.gaps = poisson(rand.New(rand.NewPCG(plan.Seed, uint64(client)<<48|1<<47)))
	}
	return a
}

// poisson returns the due times of the I/Os of one cycle after its first I/O, as fractions of the cycle in
// units of 2^-32. It draws the gaps, including the gap after the last I/O, from an exponential distribution
// and stretches them to fill the cycle.
func poisson(random *rand.Rand) []uint32 {
	at, sum := make([]float64, cycle), 0.0
	for i := range at {
		at[i] = sum
		sum += random.ExpFloat64()
	}
	due := make([]uint32, cycle)
	for i := range due {
		due[i] = uint32(min(at[i]/sum*(1<<32), math.MaxUint32))
	}
	return due
}

// pacer returns the pacer for this client's share of the rate of all clients. The first clients take the
// remainder of the division. Random gaps start at another gap in each level; fixed distances have an offset
// by client.
func (a *arrivals) pacer(perSecond int64) *pacer {
	share := perSecond / max(a.clients, 1)
	if a.client < perSecond%max(a.clients, 1) {
		share++
	}
	a.levels++
	p := newPacer(share)
	if a.gaps == nil {
		distance := uint64(time.Second) / p.perSecond
		p.offset = time.Duration(muldiv(uint64(a.client), distance, uint64(max(a.clients, a.client+1))))
	} else {
		p.gaps, p.seed = a.gaps, content.Mix(a.seed^a.levels<<48)
	}
	return &p
}

// place returns when I/O number k is due, in units of 2^-cycleBits of the mean distance. All cycles have the
// same gaps, but each starts at another gap.
func (c pacer) place(k uint64) uint64 {
	number, i := k>>cycleBits, k%cycle
	turn := content.Mix(c.seed+number) % cycle
	within := c.gaps[(turn+i)%cycle] - c.gaps[turn] // wraps at the end of the cycle
	return number<<32 | uint64(within)
}

// grains returns a pacer that counts in the units of place.
func (c pacer) grains() pacer { return pacer{perSecond: c.perSecond << cycleBits} }

// randomBefore implements countBefore for random gaps.
func (c pacer) randomBefore(at time.Duration) uint64 {
	first := c.grains().countBefore(at) // the first place that is due at or after at
	number := first >> 32
	in := sort.Search(cycle, func(i int) bool { return c.place(number<<cycleBits|uint64(i)) >= first })
	return number<<cycleBits + uint64(in)
}
