package measure

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Client holds the facts of one client's run.
type Client struct {
	Index        int32
	Node         string // its machine; a client without a node name counts as a machine of its own
	Host         runfile.Host
	Mount        *runfile.MountFacts
	Failure      *runfile.Failure
	Partial      bool // ended before its planned end
	Verification *runfile.Verification
	Wrote        bool // in any repetition

	// Collected reports whether its collector returned counters. Without them the fields below are unknown.
	Collected   bool
	Problems    []runfile.CollectionError
	Carriers    []runfile.Interface // the interfaces that carry its load
	ClockOffset *time.Duration      // add it to this client's times to compare them with those of other clients
}

func (c *Facts) client(cl runfile.ClientResult) Client {
	out := Client{
		Index: cl.Index, Node: nodeOf(cl), Host: cl.Host, Mount: cl.Load.Mount, Failure: cl.Load.Failure,
		Partial: cl.Load.Partial, Verification: cl.Load.Verification, Collected: cl.Observed != nil,
		Problems: bench.OrZero(cl.Observed).Problems, Carriers: c.carriersOf(cl), ClockOffset: clockOffset(cl),
	}
	for _, rep := range cl.Load.Repetitions {
		out.Wrote = out.Wrote || bench.OrZero(rep.Write).Count > 0
	}
	return out
}

// Times returns the first and the last moment of all clients; zero = none is known.
func (c *Facts) Times() (from, to time.Time) {
	extend := func(start, end time.Time) {
		if !start.IsZero() && (from.IsZero() || start.Before(from)) {
			from = start
		}
		if end.After(to) {
			to = end
		}
	}
	for _, c := range c.result.Clients {
		for _, s := range c.Load.Spans {
			extend(s.Start, s.End)
		}
		for _, p := range c.Load.Repetitions {
			extend(p.Start, p.End)
		}
	}
	return from, to
}

// Pace counts, over all repetitions, the operations that were done, those that began late, and those that were due
// but never began.
func (c *Facts) Pace() (operations, late, dropped int64) {
	for _, cl := range c.result.Clients {
		for _, rep := range cl.Load.Repetitions {
			late += rep.LateOps
			dropped += rep.DroppedOps
			operations += bench.OrZero(rep.Read).Count + bench.OrZero(rep.Write).Count
		}
	}
	return operations, late, dropped
}

// Idle holds the counters of a client's collector in the idle baseline before a repetition.
type Idle struct {
	Client          int32
	Seconds         float64
	Interfaces      []runfile.InterfaceRead
	NodeCPUPermille *int32
	Storage         []runfile.StorageWindow // first client only: all clients see the same counters
}

// IdleBefore returns the idle baselines of the clients before a repetition. It skips clients without one.
func (c *Facts) IdleBefore(repetition int32) (all []Idle) {
	for i, cl := range c.result.Clients {
		w := windowOf(cl, runfile.SpanBaseline, repetition)
		if w == nil || !w.End.After(w.Start) {
			continue
		}
		idle := Idle{
			Client: cl.Index, Seconds: w.End.Sub(w.Start).Seconds(), Interfaces: w.Interfaces,
			NodeCPUPermille: w.NodeCPUPermille,
		}
		if i == 0 {
			idle.Storage = w.Storage
		}
		all = append(all, idle)
	}
	return all
}

// Arrival returns the time, by the clock of the array, of the first reading of a source at place now that follows one
// at place was. The function here returns the place in a reading.
func (c *Facts) Arrival(source, was, now string, here func(runfile.StorageSample) string) (time.Time, bool) {
	for _, cl := range c.result.Clients {
		before := c.Survey.Source == source
		for _, s := range bench.OrZero(cl.Observed).Storage {
			switch at := here(s); {
			case s.Source != source:
			case at == was:
				before = true
			case at == now && before:
				return s.Time, true
			}
		}
	}
	return time.Time{}, false
}
