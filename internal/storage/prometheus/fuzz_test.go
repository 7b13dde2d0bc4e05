package prometheus

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzDecodeAnswer reads hostile bytes as an answer: whatever it says, what comes of it are
// counters with a time that can be written.
func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte(`{"resultType":"matrix","result":[{"metric":{"__name__":"volume_read_ops","node":"a"},"values":[[1790000000.1,"5"],[1790000060,"NaN"]]}]}`))
	f.Add([]byte(`{"resultType":"matrix","result":[{"metric":{"__name__":"lif_sent_data","lif":"l"},"values":[[1e300,"5"],[-1,"1e999"]]},null]}`))
	f.Add([]byte(`{"resultType":"vector","result":[{"metric":{"node":"a"},"value":[1790000000.1,"5"]},null]}`))
	f.Add([]byte(`{"resultType":"scalar","result":[1790000000.1,"5"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		memory.Bound(t, 512*len(body), func() {
			var r result
			if json.Unmarshal(body, &r) != nil {
				return
			}
			var b integrate.Batch
			if m, err := r.matrix(); err == nil {
				_ = oneDatacenter(m)
				seen := (&Source{}).seen(map[string][]*stream{"": m})
				b.Total, _, _ = volumeRates(m, seen)
				b.Nodes, _ = busyNodes(m, seen, cpuMean)
				b.Paths, _ = lifRates(m, seen)
			}
			if v, err := r.vector(); err == nil {
				var one *float64
				_ = totalOf(v, &one)
				if b.Nodes, err = nodesOf(v); err != nil {
					b.Nodes = nil
				}
			}
			s := integrate.New(time.Unix(0, 0), bridge).Ask().Answer(b)
			if _, err := s.Time.MarshalText(); err != nil {
				t.Fatal(err)
			}
		})
	})
}
