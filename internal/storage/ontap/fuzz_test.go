package ontap_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzDecode holds whatever an array may answer against what a snapshot promises.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1000)), []byte(records(nodeJSON("b", 2, 3), nodeJSON("a", -1, 5))), []byte(records(lifJSON("l", "10.0.0.1", "a", "b"))))
	f.Add([]byte(volumeJSON("aggr_a", "2026-01-01 00:00:15 -0500", "backfilled_data", -1)), []byte(`{"records":[{"name":"x","statistics":null},{}]}`), []byte(`{"records":null,"_links":{"next":{}}}`))
	f.Add([]byte(`{"statistics":{"status":"ok","timestamp":"2026-01-01T00:00:15Z","iops_raw":{"read":"12","write":1e3,"other":[]}}}`), []byte(`{}`), []byte(`{"records":[{"ip":{"address":"::1","netmask":64}}]}`))
	f.Add([]byte(`{"statistics":{"status":"ok","iops_raw":{"read":99999999999999999999}}}`), []byte(`[]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, volume, nodes, lifs []byte) {
		var s storage.Snapshot
		var err error
		memory.Bound(t, 256*(len(volume)+len(nodes)+len(lifs)), func() { s, err = ontap.Decode(volume, nodes, lifs) })
		if err != nil {
			return
		}
		if s.Time.IsZero() {
			t.Errorf("no time: %+v", s)
		}
		if !slices.IsSortedFunc(s.Nodes, func(a, b storage.Node) int { return cmp.Compare(a.Name, b.Name) }) ||
			!slices.IsSortedFunc(s.Paths, func(a, b storage.PathCounters) int { return cmp.Compare(a.Address, b.Address) }) {
			t.Errorf("not sorted: %+v", s)
		}
		for _, n := range s.Nodes {
			if n.Name == "" || (n.CPUSeconds == nil) != (n.BaseSeconds == nil) || n.CPUSeconds != nil && (*n.CPUSeconds < 0 || *n.BaseSeconds < 0) {
				t.Errorf("node %+v", n)
			}
		}
		all := []storage.Counters{s.Total}
		for _, p := range s.Paths {
			if p.Address == "" {
				t.Errorf("path %+v", p)
			}
			all = append(all, p.Counters)
		}
		for _, c := range all {
			for _, v := range []*uint64{c.ReadOps, c.WriteOps, c.OtherOps, c.ReadBytes, c.WrittenBytes, c.ReadMicroseconds, c.WriteMicroseconds} {
				if v != nil && *v > 1<<63-1 {
					t.Errorf("a counter of %d does not fit a result", *v)
				}
			}
		}
	})
}
