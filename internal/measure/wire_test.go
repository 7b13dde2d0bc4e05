package measure

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

func payload(bits int64, mtu int32) float64 {
	return WireLink{BitsPerSecond: bits, MTUBytes: mtu}.Payload(1<<20, readCallBytes) / 1e6
}

func TestTheWireLimitAgreesWithWhatPeopleMeasured(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		got, want float64
		within    float64
	}{
		"ThroughputAt1GbE":  {"125 MB/s less 6 % of overhead", payload(1e9, 1500), 117.5, 0.003},
		"ThroughputAt40GbE": {"4 x 10GbE less 6 %", 4 * payload(10e9, 1500), 4700, 0.003},
		"WireSpeed":         {"117 MB/s is common for large O_DIRECT reads over GbE", payload(1e9, 1500), 117, 0.007},
		"Jumbo":             {"8948 of 9038 bytes, less 132 bytes for each 1Mi", payload(1e9, 9000), 123.74, 0.0001},
		"Standard":          {"1448 of 1538 bytes, less 132 bytes for each 1Mi", payload(1e9, 1500), 117.67, 0.0001},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if math.Abs(c.got-c.want)/c.want > c.within {
				t.Errorf("%s: %.2f MB/s, want %.2f", c.reason, c.got, c.want)
			}
		})
	}
}

func TestIPv6AndSmallBlocksCostMore(t *testing.T) {
	t.Parallel()
	v4 := WireLink{BitsPerSecond: 1e9, MTUBytes: 1500}
	v6 := v4
	v6.IPv6 = true
	if got := v6.Payload(1<<20, readCallBytes) / v4.Payload(1<<20, readCallBytes); math.Abs(got-1428.0/1448) > 1e-9 {
		t.Errorf("IPv6 / IPv4 = %v", got)
	}
	if got := v4.Payload(8192, readCallBytes) / v4.Payload(1<<20, readCallBytes); got > 0.985 || got < 0.98 {
		t.Errorf("8Ki / 1Mi = %v", got)
	}
}

func TestTheArithmeticOfDifferentLinksNamesThem(t *testing.T) {
	t.Parallel()
	mixed := []WireLink{{Label: "eth0", BitsPerSecond: 1e9, MTUBytes: 1500}, {Label: "eth1", BitsPerSecond: 2_500_000_000, MTUBytes: 1500}}
	if got := arithmetic(mixed, 1<<20, 4e8); got != "2 links of different kinds, eth0 1 Gbit/s, eth1 2.5 Gbit/s -> 400.0 MB/s per direction" {
		t.Error(got)
	}
}

func TestTheTableInTheDocsIsWhatTheCodeComputes(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/wire-limit.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, gbit := range []int64{1, 10, 25, 100} {
		for _, mtu := range []int32{1500, 9000} {
			p := payload(gbit*1e9, mtu)
			row := fmt.Sprintf("| %dGbE | %d | %.1f | %.1f | %.1f |", gbit, mtu, p, 2*p, 4*p)
			if !strings.Contains(string(doc), row) {
				t.Errorf("docs/wire-limit.md lacks the row\n%s", row)
			}
		}
	}
}
