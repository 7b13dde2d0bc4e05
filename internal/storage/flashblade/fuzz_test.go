package flashblade

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzDecodePerformance reads hostile bytes as readings: whatever they say, counters are
// counters and times can be written.
func FuzzDecodePerformance(f *testing.F) {
	f.Add([]byte(`{"items":[{"time":1790000000000,"reads_per_sec":1,"usec_per_read_op":2},{"time":1790000001000,"reads_per_sec":1e300}]}`))
	f.Add([]byte(`{"items":[{"time":9223372036854775807},{"time":-1},{}],"continuation_token":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		memory.Bound(t, 512*len(body), func() {
			var p page
			if json.Unmarshal(body, &p) != nil {
				return
			}
			points, err := decode[performance](p.Items)
			if err != nil {
				return
			}
			batch, _ := batchOf(points)
			s := integrate.New(time.Unix(0, 0), bridge).Ask().Answer(batch)
			if _, err := s.Time.MarshalText(); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// FuzzExportRules reads hostile text as export rules and netmasks.
func FuzzExportRules(f *testing.F) {
	f.Add("10.0.0.0/8(rw,no_root_squash,sec=sys:krb5) *(ro)")
	f.Add("((")
	f.Add("255.255.255.0")
	f.Fuzz(func(t *testing.T, text string) {
		var rules []runfile.ExportRule
		memory.Bound(t, 256*len(text), func() { rules, _ = inlineRules(text) })
		for i, r := range rules {
			if r.Index != int32(i+1) || len(r.Clients) == 0 || r.Clients[0] == "" {
				t.Fatalf("rule %+v", r)
			}
		}
		for _, bits := range []int{32, 128} {
			if n := storage.PrefixLength(bits, text); n < 0 || int(n) > bits {
				t.Fatalf("prefix %d of %d bits", n, bits)
			}
		}
	})
}
