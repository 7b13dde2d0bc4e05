package ontap_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
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
		if !slices.IsSortedFunc(s.Nodes, func(a, b runfile.StorageNode) int { return cmp.Compare(a.Name, b.Name) }) ||
			!slices.IsSortedFunc(s.Paths, func(a, b runfile.StoragePath) int { return cmp.Compare(a.Address, b.Address) }) {
			t.Errorf("not sorted: %+v", s)
		}
		for _, n := range s.Nodes {
			if n.Name == "" || (n.BusyMicroseconds == nil) != (n.BaseMicroseconds == nil) || n.BusyMicroseconds != nil && (*n.BusyMicroseconds < 0 || *n.BaseMicroseconds < 0) {
				t.Errorf("node %+v", n)
			}
		}
		counters := []*int64{s.ReadOps, s.WriteOps, s.OtherOps, s.ReadBytes, s.WriteBytes, s.ReadMicroseconds, s.WriteMicroseconds}
		for _, p := range s.Paths {
			if p.Address == "" {
				t.Errorf("path %+v", p)
			}
			counters = append(counters, p.ReadBytes, p.WriteBytes)
		}
		for _, v := range counters {
			if v != nil && *v < 0 {
				t.Errorf("a counter is %d", *v)
			}
		}
	})
}
