package integrate

import "time"

// Batch is one answer of a storage: readings in any order, which may overlap with those of
// earlier batches.
type Batch struct {
	Total []Rates
	Nodes []Node // of different names
	Paths []Path // of different addresses
}

// Rates are one reading: means of the time that ends at Time. Nil, and what is negative or
// no number, is not known.
type Rates struct {
	Time                        time.Time
	ReadOps, WriteOps, OtherOps *float64 // per second
	ReadBytes, WrittenBytes     *float64 // per second
	ReadLatency, WriteLatency   *float64 // microseconds, mean of one operation
}

// Node is a part of the storage with processors of its own.
type Node struct {
	Name string
	Busy []Busy
}

// Busy is how much of the processors was in use in the time that ends at Time, 0 to 100.
// Up to MaxPercent counts as 100, since means are rounded; more is not known.
type Busy struct {
	Time    time.Time
	Percent float64
}

// MaxPercent is what a share that is meant to be 100 % may be, rounding included.
const MaxPercent = 105

// Path is an address of the storage. Name and Node of the newest reading hold.
type Path struct {
	Address, Name, Node string
	Rates               []Rates
}

// times returns all times of a batch, in no order.
func (b Batch) times() []time.Time {
	var all []time.Time
	rates := func(readings []Rates) {
		for _, r := range readings {
			all = append(all, r.Time)
		}
	}
	rates(b.Total)
	for _, p := range b.Paths {
		rates(p.Rates)
	}
	for _, n := range b.Nodes {
		for _, r := range n.Busy {
			all = append(all, r.Time)
		}
	}
	return all
}
