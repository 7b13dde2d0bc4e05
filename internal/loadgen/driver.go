package loadgen

import "github.com/nfsbench/nfsbench/internal/loadgen/target"

// driver tells a stream what to do: the workers of one job, by slot.
type driver struct {
	workers []worker
	lanes   []lane
}

// ready forgets what the lanes noted in an earlier round.
func (d *driver) ready() *driver {
	for i := range d.lanes {
		d.lanes[i].slot = -1
	}
	return d
}

// Next implements target.Driver.
func (d *driver) Next(io *target.IO) bool { return d.workers[io.Slot].next(io, &d.lanes[io.Lane]) }

// Done implements target.Driver.
func (d *driver) Done(io *target.IO) { d.workers[io.Slot].done(io, &d.lanes[io.Lane]) }

// busy says whether any of the workers has something to do.
func (d *driver) busy() bool {
	for i := range d.workers {
		if !d.workers[i].idle {
			return true
		}
	}
	return false
}
