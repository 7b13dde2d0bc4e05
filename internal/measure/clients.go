package measure

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Client is what one client says of its run.
type Client struct {
	Index        int32
	Node         string // its machine; a client that does not know it counts as a machine of its own
	MemoryBytes  int64  // of the machine
	Mount        *runfile.MountFacts
	Failure      *runfile.Failure
	Partial      bool // it did not reach its planned end
	Verification *runfile.Verification
	Wrote        bool // in a repetition

	// Collected reports that its collector gave counters. The fields below are unknown without them.
	Collected   bool
	Problems    []runfile.CollectionError
	Carriers    []runfile.Interface // the interfaces that carry its load
	ClockOffset *time.Duration      // to add to its times to compare them with those of others
}

func (c *Facts) client(cl runfile.ClientResult) Client {
	out := Client{
		Index: cl.Index, Node: nodeOf(cl), MemoryBytes: cl.Host.MemoryBytes, Mount: cl.Load.Mount, Failure: cl.Load.Failure,
		Partial: cl.Load.Partial, Verification: cl.Load.Verification, Collected: cl.Observed != nil,
		Problems: bench.OrZero(cl.Observed).Problems, Carriers: c.carriersOf(cl), ClockOffset: clockOffset(cl),
	}
	for _, rep := range cl.Load.Repetitions {
		out.Wrote = out.Wrote || bench.OrZero(rep.Write).Count > 0
	}
	return out
}

// Pace counts the operations of all repetitions, those that began after they were due, and those that were due and
// never began.
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

// Idle is what the collector of a client saw in the idle baseline before a repetition.
type Idle struct {
	Client          int32
	Seconds         float64
	Interfaces      []runfile.InterfaceRead
	NodeCPUPermille *int32
	Storage         []runfile.StorageWindow // of the first client: all see the same counters
}

// IdleBefore returns what the clients saw before a repetition; nothing for a client that has no baseline of its own.
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

// Arrival returns the first reading of a source at a new place after one at the old one, by the clock of the array.
// here gives the place by a reading.
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
