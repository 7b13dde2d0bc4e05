package flashblade

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzDecodePerformance reads hostile bytes as readings: whatever they say, counters are
// counters and times can be written.
func FuzzDecodePerformance(f *testing.F) {
	f.Add([]byte(`{"items":[{"time":1790000000000,"reads_per_sec":1,"usec_per_read_op":2},{"time":1790000001000,"reads_per_sec":1e300}]}`))
	f.Add([]byte(`{"items":[{"time":9223372036854775807},{"time":-1},{}],"continuation_token":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		memory.Bound(t, 512*len(body), func() {
			var p page[performance]
			if json.Unmarshal(body, &p) != nil {
				return
			}
			batch, _ := batchOf(p.Items)
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

func TestNoTokenIsShown(t *testing.T) {
	s := newSession(rest.Credentials{Token: "api-token-1"})
	if got := s.redact("no session yet"); got != "no session yet" {
		t.Errorf("redact: %q", got)
	}
	s.token = "session-token-1"
	if got := s.redact("api-token-1 gave session-token-1"); strings.Contains(got, "token-1") {
		t.Errorf("redact: %q", got)
	}
}

// Of two readings of one second only one would be integrated.
func TestTwoReadingsOfOneSecondAreRefusedWhereTheyDiffer(t *testing.T) {
	reading := func(ms int64, reads float64) performance { return performance{Time: &ms, ReadsPerSec: &reads} }
	b, err := batchOf([]performance{reading(1000, 1), reading(2000, 1), reading(1000, 1)})
	if err != nil || len(b.Total) != 2 {
		t.Errorf("%d readings, %v; want the same one once", len(b.Total), err)
	}
	if _, err := batchOf([]performance{reading(1000, 1), reading(1000, 3)}); err == nil || !strings.Contains(err.Error(), "several arrays") {
		t.Errorf("1 and 3 reads in one second: %v", err)
	}
}
