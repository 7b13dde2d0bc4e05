package matrix

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// sequence returns each cell and repetition once, in the order of the suite.
func sequence(s *v1alpha1.NFSBenchmarkSuite, m Matrix) []Slot {
	n := max(s.Spec.Repetitions, 1)
	out := make([]Slot, 0, len(m.Cells)*int(n))
	switch s.Spec.Order {
	case v1alpha1.OrderSequential:
		for cell := range m.Cells {
			for r := range n {
				out = append(out, Slot{Cell: cell, Repetition: r + 1})
			}
		}
	case v1alpha1.OrderRandom:
		for r := range n {
			for cell := range m.Cells {
				out = append(out, Slot{Cell: cell, Repetition: r + 1})
			}
		}
		shuffle(newShuffler(m.Seed), out)
		number(out)
	default:
		out = interleaved(s.Spec.Blocks, m, n)
	}
	return out
}

// number numbers the repetitions of each cell in the order in which they run.
func number(slots []Slot) {
	seen := map[int]int32{}
	for i, s := range slots {
		seen[s.Cell]++
		slots[i].Repetition = seen[s.Cell]
	}
}

func interleaved(blocks v1alpha1.BlockOrder, m Matrix, n int32) []Slot {
	round := neighbours(m.Cells)
	random := newShuffler(m.Seed)
	var out []Slot
	for r := range n {
		switch {
		case blocks != v1alpha1.BlocksABBA:
			shuffle(random, round)
		case r > 0:
			slices.Reverse(round)
		}
		for _, cell := range round {
			out = append(out, Slot{Cell: cell, Repetition: r + 1})
		}
	}
	return out
}

// neighbours returns the order of the cells in which each baseline precedes the cells that are compared with it.
func neighbours(cells []Cell) []int {
	var out []int
	index := map[string]int{}
	for i, c := range cells {
		index[c.Name] = i
	}
	with := map[int][]int{}
	for i, c := range cells {
		if c.Baseline != "" {
			with[index[c.Baseline]] = append(with[index[c.Baseline]], i)
		}
	}
	for i, c := range cells {
		if c.Baseline == "" {
			out = append(append(out, i), with[i]...)
		}
	}
	return out
}

// shuffler generates the same numbers for the same seed in every version of Go: PCG is an algorithm with published
// numbers, and the shuffle is here and not in rand.Shuffle, which may change.
type shuffler struct{ pcg *rand.PCG }

func newShuffler(seed int64) shuffler {
	return shuffler{pcg: rand.NewPCG(uint64(seed), 0x6e667362656e6368)} //nolint:gosec // an order, and no secret; any bits will do
}

// below returns a number from 0 to n-1 with equal probability: the high half of a product. It rejects the products
// that would favour some numbers.
func (s shuffler) below(n int) int {
	limit := uint64(n) //nolint:gosec // a length
	for {
		high, low := bits.Mul64(s.pcg.Uint64(), limit)
		if low >= -limit%limit {
			return int(high) //nolint:gosec // less than n
		}
	}
}

func shuffle[T any](s shuffler, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := s.below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
