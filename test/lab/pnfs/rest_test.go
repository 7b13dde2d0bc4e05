package pnfs

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// TestADetourCostsBothNodesAndIsCounted reads a file of node a through node b.
func TestADetourCostsBothNodesAndIsCounted(t *testing.T) {
	o := one()
	o.OneBrick, o.ClusterBitsPerSecond = true, 400_000_000
	a := Start(t, o)
	truth := a.Truth()
	wrong := connect(t, a.Nodes[1].Address, 0)
	f := wrong.create(t, "detour")
	if owner := a.Owner(t, f.name); owner != 0 {
		t.Errorf("the file lies on node %d", owner)
	}
	wrong.do(t, &v4.PutFH{Handle: f.handle}, &nfs4wire.Write{StateID: f.state, Stable: v4.FileSync, Data: bytes.Repeat([]byte("detour"), mib/6)})

	lifs := func() [2]uint64 {
		return [2]uint64{truth.LIF(a.Nodes[0].Address).SentBytes, truth.LIF(a.Nodes[1].Address).SentBytes}
	}
	sent, busy := lifs(), [2]ontap.NodeCounters{truth.Node(a.Nodes[0].Name), truth.Node(a.Nodes[1].Name)}
	const blocks = 64
	for range blocks {
		r := nfs4wire.Read{StateID: f.state, Count: mib}
		if wrong.do(t, &v4.PutFH{Handle: f.handle}, &r); len(r.Data) < mib-6 {
			t.Fatalf("READ returned %d bytes", len(r.Data))
		}
	}
	now := lifs()
	if got := now[1] - sent[1]; got < blocks*(mib-6) {
		t.Errorf("%d bytes left by the LIF that was asked", got)
	}
	if got := now[0] - sent[0]; got > mib {
		t.Errorf("%d bytes left by the other LIF", got)
	}
	for i, n := range a.Nodes {
		if c := truth.Node(n.Name); c.BusyMicros <= busy[i].BusyMicros || c.BaseMicros <= busy[i].BaseMicros || c.BusyMicros > c.BaseMicros {
			t.Errorf("node %s: %+v after %+v", n.Name, c, busy[i])
		}
	}
	if err := counted(t.Context(), truth, blocks*(mib-6)); err != nil {
		t.Error(err)
	}
}

// counted waits for the bytes in the counters of the volume.
func counted(ctx context.Context, truth ontap.Truth, atLeast uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		v := truth.Volume("pv")
		if v.Read.Bytes >= atLeast && v.Read.LatencyMicros > 0 && v.Write.Ops > 0 && v.Other.Ops > 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.New("the counters of the volume do not have what was read")
		}
	}
}

// TestTheVolumeIsThatOfTheNodesWithItsFiles needs no array that runs.
func TestTheVolumeIsThatOfTheNodesWithItsFiles(t *testing.T) {
	a := &Array{Name: "x", Export: "/pv", Nodes: []*Node{{Name: "x-a"}, {Name: "x-b"}}}
	for oneBrick, want := range map[bool]int{true: 1, false: 2} {
		a.oneBrick = oneBrick
		m := a.model(&REST{SVM: "svm1", Volume: "pv"})
		if got := m.Volumes[0].Aggregates; len(got) != want || got[0] != m.Aggregates[0].Name || m.Aggregates[0].Node != "x-a" {
			t.Errorf("one brick: %v; the volume is on %v", oneBrick, got)
		}
		if !m.NFS.PNFS {
			t.Error("the array is said to grant no layouts")
		}
	}
}
