package queue

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// maxUses bounds the entries of uses.
const maxUses = 16_384

// uses remembers when each namespace last got each target. A new manager has no entries and starts with the oldest
// benchmark. It is safe for concurrent use.
type uses struct {
	mu sync.Mutex
	at map[use]time.Time
}

type use struct{ namespace, key string }

func (u *uses) note(namespace string, keys []string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil || len(u.at) >= maxUses {
		u.at = map[use]time.Time{}
	}
	for _, key := range keys {
		u.at[use{namespace, key}] = now
	}
}

// last returns when a namespace last got one of the targets; zero if never.
func (u *uses) last(namespace string, keys []string) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	var last time.Time
	for _, key := range keys {
		if at := u.at[use{namespace, key}]; at.After(last) {
			last = at
		}
	}
	return last
}

// entry is a run that waits for its targets or uses them.
type entry struct {
	ID      string   // unique, such as a UID
	Name    string   // for people, namespace/name
	Keys    []string // keys of the targets
	Created time.Time
	Active  bool // uses its targets now
	Turn    int  // number of its namespace's benchmarks that wait before it for the same targets
	// LastUse is when its namespace last got a target.
	LastUse   time.Time
	benchmark *v1alpha1.NFSBenchmark // must not be changed
}

// setTurns sets the turns of some entries among all: the number of older benchmarks of the same namespace that wait for
// one of the same targets. The first benchmark of each namespace comes before the second of any, so that a namespace
// with a hundred benchmarks does not keep the target for a hundred runs.
//
// Every pass over a benchmark that waits calls it, so its time must not grow with the square of the number of keys.
func setTurns(of, all []entry) {
	wanted := map[string]*entry{}
	for i := range of {
		wanted[of[i].ID] = &of[i]
	}
	all = slices.Clone(all)
	slices.SortFunc(all, compareAges)
	waiting := map[use][]int{} // places in all of those that wait and are older
	countedFor := make([]int, len(all))
	for i, e := range all {
		namespace, _, _ := strings.Cut(e.Name, "/")
		if me := wanted[e.ID]; me != nil {
			me.Turn = 0
			for _, key := range e.Keys {
				me.Turn += countOnce(waiting[use{namespace, key}], countedFor, i+1)
			}
		}
		if e.Active {
			continue
		}
		for _, key := range e.Keys {
			waiting[use{namespace, key}] = append(waiting[use{namespace, key}], i)
		}
	}
}

// countOnce counts the places that were not counted for an entry yet.
func countOnce(places, countedFor []int, entry int) int {
	n := 0
	for _, p := range places {
		if countedFor[p] != entry {
			countedFor[p] = entry
			n++
		}
	}
	return n
}

func shareTarget(a, b entry) bool {
	return slices.ContainsFunc(a.Keys, func(k string) bool { return slices.Contains(b.Keys, k) })
}

// Place is the place of a run in the queue.
type Place struct {
	Position int32  // 0 = the run is next
	Behind   string // name of the first run ahead
	Why      string // what the first run ahead does, for a message
	head     *v1alpha1.NFSBenchmark
}

// placeAmong returns the place of me among others; others may include me.
func placeAmong(me entry, others []entry) Place {
	if me.Active {
		return Place{}
	}
	var ahead []entry
	for _, o := range others {
		if o.ID != me.ID && shareTarget(o, me) && compareTurns(o, me) < 0 {
			ahead = append(ahead, o)
		}
	}
	if len(ahead) == 0 {
		return Place{}
	}
	slices.SortFunc(ahead, compareTurns)
	return Place{Position: int32(len(ahead)), Behind: ahead[0].Name, head: ahead[0].benchmark} //nolint:gosec // a count of objects
}

// firstWaiting returns the first n waiting benchmarks, in the order of their turns.
func firstWaiting(all []entry, n int) []entry {
	waiting := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.Active })
	slices.SortFunc(waiting, compareTurns)
	return waiting[:min(n, len(waiting))]
}

// compareTurns is a total order: first the active benchmarks; then the first of each namespace, ordered by when the
// namespace last got a target, the oldest first; then the second of each.
func compareTurns(a, b entry) int {
	switch {
	case a.Active && !b.Active:
		return -1
	case b.Active && !a.Active:
		return 1
	default:
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), a.LastUse.Compare(b.LastUse), compareAges(a, b))
	}
}

// compareAges orders by age, then by name, because creation times have whole seconds only.
func compareAges(a, b entry) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
