package array

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

func TestALimitedVolumeIsAsFastAsItsLimitByBothNodes(t *testing.T) {
	a := usual(t)
	limit := func(l control.Limits) {
		if err := a.Limit(t.Context(), "data", l); err != nil {
			t.Fatal(err)
		}
	}
	defer limit(control.Limits{})
	for lif := range 2 {
		limit(control.Limits{})
		f := create(t, client(t, a, lif), "limited")
		writeAll(t, f)
		limit(control.Limits{OpsPerSecond: 100})
		began := time.Now()
		readAll(t, f, 25)
		if took := time.Since(began); took < 1800*time.Millisecond {
			t.Errorf("200 reads by LIF %d took %v with a limit of 100 a second", lif+1, took)
		}
		before := a.Volume("data").Read.Ops
		limit(control.Limits{OpsPerSecond: 1, CachedPermille: 1000})
		readAll(t, f, 8)
		if got := a.Volume("data").Read.Ops - before; got != 0 {
			t.Errorf("the volume counted %d reads that the cache has answered", got)
		}
	}
}

// Waiting calls proceed when the limit changes.
func TestALimitMayChangeUnderLoad(t *testing.T) {
	a := usual(t)
	f := create(t, client(t, a, 0), "changing")
	writeAll(t, f)
	done := make(chan struct{})
	go func() {
		defer close(done)
		readAll(t, f, 50)
	}()
	for n := int64(1); ; n++ {
		select {
		case <-done:
			if err := a.Limit(t.Context(), "data", control.Limits{}); err != nil {
				t.Fatal(err)
			}
			return
		default:
			if err := a.Limit(t.Context(), "data", control.Limits{OpsPerSecond: 200 + n%2}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWorkIsOnTheAccountOfItsNodeAlsoWhenItHasEnded(t *testing.T) {
	a := usual(t)
	before := a.Node("arrtest-b").BusyMicros
	stop, err := a.Work("arrtest-b", "sh", "-c", "while :; do :; done")
	if err != nil {
		t.Fatal(err)
	}
	err = until(t.Context(), func() error { return equal(a.Node("arrtest-b").BusyMicros > before+200_000, true) })
	worked := a.Node("arrtest-b").BusyMicros
	if err != nil || stop() != nil {
		t.Fatalf("the node is busy for %d us, before %d", worked, before)
	}
	if got := a.Node("arrtest-b").BusyMicros; got < worked {
		t.Errorf("the node was busy for %d us and now for %d", worked, got)
	}
}
