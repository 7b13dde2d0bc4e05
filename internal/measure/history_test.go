package measure

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/simulation"
)

func TestTheCPUOfANodeComesFromItsOwnCounters(t *testing.T) {
	t.Parallel()
	node := func(busy, base int64, cores int32) runfile.StorageNode {
		n := runfile.StorageNode{Name: "a", BusyMicroseconds: &busy}
		if base > 0 {
			n.BaseMicroseconds = &base
		}
		if cores > 0 {
			n.Cores = &cores
		}
		return n
	}
	for name, c := range map[string]struct {
		a, b runfile.StorageNode
		want float64
	}{
		"cores":          {node(0, 0, 4), node(20e6, 0, 4), 50},
		"base":           {node(1e6, 10e6, 0), node(4e6, 20e6, 0), 30},
		"above the most": {node(0, 0, 1), node(20e6, 0, 1), 100},
		"went back":      {node(9e6, 0, 4), node(1e6, 0, 4), math.NaN()},
		"no cores":       {node(0, 0, 0), node(1e6, 0, 0), math.NaN()},
		"no counter":     {runfile.StorageNode{}, node(1e6, 0, 4), math.NaN()},
	} {
		if got := busyPercent(c.a, c.b, 10); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %g %%, want %g", name, got, c.want)
		}
	}
}

func TestTheEdgesOfAWindowAreNoDip(t *testing.T) {
	t.Parallel()
	var r runfile.Result
	for client := range 2 {
		cl := runfile.ClientResult{Index: int32(client)}
		for i := range 20 { // the second begins 2.5 s later
			at := experiments.Start().Add(time.Duration(i)*time.Second + time.Duration(client)*2500*time.Millisecond)
			cl.Load.Samples = append(cl.Load.Samples, runfile.LoadSample{Time: at, Span: runfile.SpanMeasure, Repetition: 1, Read: &runfile.SampleOps{Count: 10, Bytes: 1e6, MeanMicroseconds: 100}})
		}
		r.Clients = append(r.Clients, cl)
	}
	known := 0
	for i, s := range Of(r).History().Slots {
		if s.Clients == 0 {
			continue
		}
		known++
		if s.Read.Bytes != 2e6 {
			t.Errorf("interval %d has %g bytes of one client alone", i, s.Read.Bytes)
		}
	}
	if known < 16 {
		t.Errorf("%d seconds are left of 17", known)
	}
}

func TestAPathThatCarriedNothingFallsToZero(t *testing.T) {
	t.Parallel()
	paths := Of(simulation.Hour(t, "x", 7, 0)).History().Paths
	if len(paths) != 4 {
		t.Fatalf("%d paths", len(paths))
	}
	third := slices.SortedFunc(maps.Keys(paths), func(a, b Channel) int { return strings.Compare(a.Path, b.Path) })[2]
	zero := 0
	for _, b := range paths[third] {
		if b == 0 {
			zero++
		}
	}
	if zero < 30 || zero > 32 {
		t.Errorf("the third path carried nothing in %d seconds; it was lost for 31", zero)
	}
}

func TestAClockThatJumpsCannotTakeAllMemory(t *testing.T) {
	t.Parallel()
	r := runfile.Result{Clients: []runfile.ClientResult{{Load: runfile.Load{Samples: []runfile.LoadSample{
		{Time: experiments.Start()}, {Time: experiments.Start().AddDate(50, 0, 0)}, {Time: experiments.Start().AddDate(-50, 0, 0)},
	}}}}}
	if n := len(Of(r).History().Slots); n > maxSlots {
		t.Errorf("%d intervals", n)
	}
}
