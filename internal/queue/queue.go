// Package queue decides whose turn it is when several runs want one target.
//
// It is pure. A run goes ahead of another if it already uses the target, or if
// it came first; runs that have no target key in common do not see each other.
package queue

import (
	"slices"
	"strings"
	"time"
)

// Entry is one run that wants its targets, or uses them.
type Entry struct {
	ID      string   // unique, such as a UID
	Name    string   // for people, namespace/name
	Keys    []string // of the targets
	Created time.Time
	Active  bool // uses its targets now
}

// Place is where a run stands.
type Place struct {
	Position int32  // 0 = it is its turn
	Behind   string // name of the run at the head of those before it
}

// PlaceOf says where me stands among others; me may be one of them.
func PlaceOf(me Entry, others []Entry) Place {
	if me.Active {
		return Place{}
	}
	var ahead []Entry
	for _, o := range others {
		if o.ID != me.ID && overlap(o.Keys, me.Keys) && before(o, me) {
			ahead = append(ahead, o)
		}
	}
	if len(ahead) == 0 {
		return Place{}
	}
	slices.SortFunc(ahead, compare)
	return Place{Position: int32(len(ahead)), Behind: ahead[0].Name} //nolint:gosec // a count of objects
}

// Next are the first n of those that wait, in the order of their turns.
func Next(all []Entry, n int) []Entry {
	waiting := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Active })
	slices.SortFunc(waiting, compare)
	return waiting[:min(n, len(waiting))]
}

func compare(a, b Entry) int {
	switch {
	case before(a, b):
		return -1
	case before(b, a):
		return 1
	default:
		return 0
	}
}

// before is a total order: the active ones, then by age, then by name, because
// creation times have whole seconds only.
func before(a, b Entry) bool {
	if a.Active != b.Active {
		return a.Active
	}
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	if a.Name != b.Name {
		return strings.Compare(a.Name, b.Name) < 0
	}
	return a.ID < b.ID
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
