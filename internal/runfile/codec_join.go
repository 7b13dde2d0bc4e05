package runfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Join makes one result of the results of the clients of one run. Nothing is
// added up: the clients stand side by side, in the order of their index. It
// refuses parts of different runs and a client that comes twice.
func Join(parts ...Result) (Result, error) {
	if len(parts) == 0 {
		return Result{}, errors.New("join results: there are none")
	}
	joined := Result{Version: ResultVersion, Plan: parts[0].Plan}
	seen := map[int32]bool{}
	for _, p := range parts {
		if p.Plan.Run != joined.Plan.Run {
			return Result{}, fmt.Errorf("join results: they are of different runs, %+v and %+v", joined.Plan.Run, p.Plan.Run)
		}
		joined.Simulated = joined.Simulated || p.Simulated
		for _, c := range p.Clients {
			if seen[c.Index] {
				return Result{}, fmt.Errorf("join results: client %d comes twice", c.Index)
			}
			seen[c.Index] = true
			joined.Clients = append(joined.Clients, c)
		}
	}
	slices.SortFunc(joined.Clients, func(a, b ClientResult) int { return cmp.Compare(a.Index, b.Index) })
	return joined, nil
}
