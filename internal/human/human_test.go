package human_test

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/human"
)

func TestNumbersArePlain(t *testing.T) {
	for want, got := range map[string]string{
		"0 µs": human.Latency(int64(0)), "850 µs": human.Latency(int64(850)), "36.4 µs": human.Latency(36.4),
		"1.20 ms": human.Latency(int64(1200)), "113 ms": human.Latency(int64(113_020)), "5 s": human.Latency(int64(5_000_000)),
		"117.6 MB/s": human.Throughput(int64(117_600_000)), "12500 MB/s": human.Throughput(12.5e9),
		"950": human.Operations(950), "41.2k": human.Operations(41_234), "1.25M": human.Operations(1.25e6),
		"98.5 %": human.Share(int32(985)), "0.0 %": human.Share(int64(0)),
		"512 B": human.Bytes(int64(512)), "1.50 GiB": human.Bytes(int64(3 << 29)), "2 TiB": human.Bytes(int64(2 << 40)),
		"8Ki": human.Size(8 << 10), "1500 bytes": human.Size(1500), "0 bytes": human.Size(0), "2048Ti": human.Size(2 << 50),
		"1.00 ms": human.Latency(999.6), "1.00 s": human.Latency(int64(999_600)), "10.0 ms": human.Latency(int64(9_996)),
		"1.00M": human.Operations(999_960), "10.0k": human.Operations(9_999.6), "100": human.Digits(99.97),
		"1.00 GiB": human.Bytes(int64(1<<30 - 1)), "10000": human.Megabytes(9_999.97e6),
		"999 µs": human.Latency(999.4), "9.99 ms": human.Latency(int64(9_994)), "1023 MiB": human.Bytes(int64(1023 << 20)),
		"1 user": human.Count(1, "user"), "0 users": human.Count(int32(0), "user"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAValueBesideItsLimitDoesNotReadTheSame(t *testing.T) {
	for want, got := range map[string]string{
		"a little more than 10 ms": human.Beyond(int64(10_004), 10_000, human.Latency), "10.1 ms": human.Beyond(int64(10_051), 10_000, human.Latency),
		"a little less than 10 ms": human.Beyond(int64(9_997), 10_000, human.Latency), "9.99 ms": human.Beyond(int64(9_990), 10_000, human.Latency),
		"a little more than 100 GiB": human.Beyond(100.4*(1<<30), 100*(1<<30), human.Bytes[float64]),
		"10.1k":                      human.Beyond(10_070, 10_000, human.Operations), "a little more than 10k": human.Beyond(10_001, 10_000, human.Operations),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
