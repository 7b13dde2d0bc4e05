package loadgen

import (
	"cmp"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// pauses returns the times without any answer in the window of a level, up to end. since is the time from
// which an unfinished operation waits, or recorder.NothingWaits. It may be called while load runs.
func (e *engine) pauses(on *levelLoad, end, since time.Duration) *runfile.Pauses {
	out := &runfile.Pauses{LeastMilliseconds: recorder.LeastGap.Milliseconds()}
	for path, gaps := range e.gaps(end, since) {
		for _, p := range on.pausesOf(gaps, end) {
			if path != "" {
				out.Paths = append(out.Paths, runfile.PathPause{Path: path, Pause: p})
			} else {
				out.Client = append(out.Client, p)
			}
		}
	}
	out.Client = longest(out.Client, func(p runfile.Pause) runfile.Pause { return p })
	out.Paths = longest(out.Paths, func(p runfile.PathPause) runfile.Pause { return p.Pause })
	return out
}

// gaps returns the common gaps of the threads of each path, and of all threads under "".
func (e *engine) gaps(end, since time.Duration) map[string][]recorder.Gap {
	all := map[string][]recorder.Gap{}
	onPath := since
	if since > 0 {
		onPath = recorder.NothingWaits // unknown: the operation may wait on another path
	}
	for i := range e.drivers {
		d := &e.drivers[i]
		if !d.busy() {
			continue
		}
		for at := range d.threads {
			l := &d.threads[at]
			merge(all, "", l.gaps.Until(end, since))
			merge(all, l.path, l.gaps.Until(end, onPath))
		}
	}
	return all
}

// merge reduces the gaps of a path to those that a further thread has in common with them.
func merge(all map[string][]recorder.Gap, path string, gaps []recorder.Gap) {
	have, known := all[path]
	if all[path] = gaps; known {
		all[path] = recorder.Common(have, gaps)
	}
}

// waitsSince returns the time from which an unfinished operation waits, or recorder.NothingWaits. In a closed
// loop there always is one. In an open loop there is none if all operations that were due before end are
// among the done ones.
func (e *engine) waitsSince(end time.Duration, done uint64) time.Duration {
	switch {
	case e.rate == nil:
		return 0
	case done >= e.rate.countBefore(end):
		return recorder.NothingWaits
	default:
		return e.rate.due(done)
	}
}

// pausesOf returns the gaps in the window of r, up to end, in which an operation waited. A path whose
// operations moved to other paths does not pause: it is lost.
func (on *levelLoad) pausesOf(gaps []recorder.Gap, end time.Duration) []runfile.Pause {
	var out []runfile.Pause
	for _, g := range gaps {
		from, to := max(g.From, g.Waiting, on.from), min(g.To, end)
		if to-from >= recorder.LeastGap {
			out = append(out, runfile.Pause{
				StartMilliseconds: (from - on.from).Milliseconds(), Milliseconds: (to - from).Milliseconds(),
			})
		}
	}
	return out
}

// longest returns the longest pauses, sorted by time.
func longest[T any](all []T, pause func(T) runfile.Pause) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(pause(b).Milliseconds, pause(a).Milliseconds) })
	all = all[:min(len(all), runfile.MaxPauses)]
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(pause(a).StartMilliseconds, pause(b).StartMilliseconds) })
	return all
}
