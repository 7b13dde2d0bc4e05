package judge

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// overTransport declares RDMA for a mount whose counters name another transport, or none.
func overTransport(seen string) func(*runfile.Result) {
	return func(r *runfile.Result) {
		r.Plan.Engine.Transport = bench.TransportRDMA
		for i := range r.Clients[0].Observed.Windows {
			if m := r.Clients[0].Observed.Windows[i].Mount; m != nil {
				m.Transports = []runfile.Transport{{Protocol: seen, Sends: 1, Receives: 1}}
			}
		}
	}
}

func TestTheTransportOfAMountIsProvenByItsCounters(t *testing.T) {
	t.Parallel()
	for seen, want := range map[string]*bool{"rdma": new(true), "tcp": new(false), "": nil} {
		r := kernelRun(t)
		overTransport(seen)(&r)
		e := Judge(r).Protocol
		if (e.Verified == nil) != (want == nil) || want != nil && *e.Verified != *want {
			t.Errorf("%q: %+v", seen, e)
		}
		if seen == "rdma" && e.Observed != "Kernel NFSv4.1 over RDMA" {
			t.Errorf("observed %q", e.Observed)
		}
	}
}
