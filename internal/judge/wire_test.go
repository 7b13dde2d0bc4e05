package judge

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestDiscoveredLinksCountEachInterfaceOnce(t *testing.T) {
	t.Parallel()
	r := good(t)
	discover(&r, 10e9)
	w := newFacts(r).Wire
	if w == nil || w.Source != measure.Discovered || len(w.Links) != 2 || w.Links[0].Label != "eth0" || w.Links[1].Label != "eth1" {
		t.Fatalf("wire %+v", w)
	}
	// Both channels leave through eth0 now.
	r.Clients[0].Observed.Interfaces[0].Addresses = []string{"10.0.1.5/24", "10.0.2.5/24"}
	r.Clients[0].Observed.Interfaces[1].Addresses = nil
	if w := newFacts(r).Wire; w == nil || len(w.Links) != 1 {
		t.Errorf("wire %+v; two paths over one interface are one link", w)
	}
}

func TestTheKernelsLinkIsTheInterfaceThatCarriedTheLoad(t *testing.T) {
	t.Parallel()
	r := kernelRun(t)
	discover(&r, 10e9)
	eachWindow(&r, "Measure", func(w *runfile.ObservedWindow) {
		w.Interfaces = []runfile.InterfaceRead{{Name: "eth1", ReceivedBytes: goodBytes}, {Name: "eth0", ReceivedBytes: 1 << 20}}
	})
	if w := newFacts(r).Wire; w == nil || len(w.Links) != 1 || w.Links[0].Label != "eth1" {
		t.Errorf("wire %+v", w)
	}
}

func TestAHopelessDeclarationGivesNoLimit(t *testing.T) {
	t.Parallel()
	for _, l := range []bench.Link{{}, {BitsPerSecond: *bench.Bits(1)}, {BitsPerSecond: *bench.Bits(-8e9)}} {
		r := good(t)
		r.Plan.Link = &l
		if w := newFacts(r).Wire; w != nil {
			t.Errorf("link %+v: %+v", l, w)
		}
		Judge(r)
	}
	r := good(t)
	r.Plan.Link.MTU = 52
	if w := newFacts(r).Wire; w == nil || w.Links[0].MTUBytes != 1500 {
		t.Errorf("an MTU that cannot be: %+v", w)
	}
}

func TestTheArithmeticIsShown(t *testing.T) {
	t.Parallel()
	want := "2 x 10 Gbit/s / 8 x 8948/9038 (MTU 9000) x 1048576/1048708 (RPC) = 2474.8 MB/s per direction"
	if got := newFacts(good(t)).Wire.Arithmetic; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
