package score

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/golden"
)

// sampleDocument has one row of each kind, a peer that hangs, and one that knows
// less than the others.
func sampleDocument() Document {
	d := Document{
		Started: "2026-01-02T03:04:05Z", Complete: true, Repeats: 2, Seconds: 5,
		Machine: Machine{
			Cores: 2, CPU: "Some CPU", MemoryBytes: 24 << 30, Kernel: "6.1", Congestion: "cubic", LoadBefore: 0.12,
			Versions: map[string]string{"fio": "fio-3.33", "iperf3": "iperf 3.12"},
		},
		Rows: []Row{
			{
				Name: "1gbe-read", Title: "1GbE, read", Unit: UnitBytes,
				Contenders: []Contender{{Name: "nfsbench"}, {Name: "iperf3"}, {Name: "fio", Work: "1 job, depth 1"}},
				Checks:     []Check{{Metric: MetricRate, Of: "nfsbench", To: "iperf3", AtLeast: 0.99}},
			},
			{
				Name: "random", Title: "loopback, randread", Unit: UnitOps,
				Contenders: []Contender{{Name: "nfsbench"}, {Name: "fio"}},
				Checks: []Check{
					{Metric: MetricRate, Of: "nfsbench", To: "fio", AtLeast: 1},
					{Metric: MetricCPU, Of: "nfsbench", To: "fio", AtMost: 1},
					{Metric: MetricMemory, Of: "nfsbench", AtMost: 128},
				},
			},
		},
		Reminders: []string{"a reminder"},
	}
	d.Rows = append(d.Rows, Row{
		Name: "capacity", Title: "a relay", Unit: UnitCapacity,
		Contenders: []Contender{{Name: "nfsbench"}, {Name: "sweep"}, {Name: "fio"}, {Name: "another"}},
		Checks: []Check{
			{Metric: MetricCapacity, Of: "nfsbench", To: "sweep", AtLeast: 0.95, AtMost: 1.05},
			{Metric: MetricTime, Of: "nfsbench", To: "sweep", AtMost: 0.2},
		},
	})
	d.Samples = append(
		d.Samples,
		Sample{Row: "capacity", Contender: "nfsbench", Repeat: 1, State: StateDone, Capacity: &Capacity{OperationsPerSecond: 3960, Low: 3900, High: 4017, Seconds: 61.5}},
		Sample{Row: "capacity", Contender: "sweep", Repeat: 1, State: StateDone, Capacity: &Capacity{OperationsPerSecond: 4011, Low: 3961, High: 4060, Seconds: 288}},
		Sample{Row: "capacity", Contender: "fio", Repeat: 1, State: StateDone, Capacity: &Capacity{OperationsPerSecond: 3967, Seconds: 18, Depth: 64}},
		Sample{Row: "capacity", Contender: "another", Repeat: 1, State: StateFailed, Message: "it found none"},
	)
	for repeat := 1; repeat <= 2; repeat++ {
		cpu, more, p99 := 1.5, 2.0, int64(1234)
		n := int64(repeat)
		d.Samples = append(d.Samples,
			Sample{Row: "1gbe-read", Contender: "nfsbench", Repeat: repeat, State: StateDone, Seconds: 5, Bytes: 580e6 + n*1e6, CPUSeconds: &cpu, P99Microseconds: &p99, PeakMemoryBytes: 30 << 20},
			Sample{Row: "1gbe-read", Contender: "iperf3", Repeat: repeat, State: StateDone, Seconds: 5, Bytes: 582e6},
			Sample{Row: "1gbe-read", Contender: "fio", Repeat: repeat, State: StateHangs, Message: "killed"},
			Sample{Row: "random", Contender: "nfsbench", Repeat: repeat, State: StateDone, Seconds: 5, Ops: 200_000 + n*1000, CPUSeconds: &more, P99Microseconds: &p99, PeakMemoryBytes: 130 << 20},
			Sample{Row: "random", Contender: "fio", Repeat: repeat, State: StateDone, Seconds: 5, Ops: 190_000, CPUSeconds: &cpu, PeakMemoryBytes: 9 << 20},
		)
	}
	return d
}

func TestTheTablesSayWhatWasMeasuredAndWhatWasNot(t *testing.T) {
	golden.Compare(t, "testdata/tables.golden.md", []byte(Markdown(sampleDocument())))
}

func TestAnInterruptedDocumentSaysSo(t *testing.T) {
	d := sampleDocument()
	d.Complete = false
	if text := Markdown(d); !strings.HasPrefix(text, "**Interrupted**: 14 measurements.") {
		t.Errorf("it begins with %q", text[:40])
	}
	d.Samples = nil
	if text := Markdown(d); strings.Contains(text, "NaN") || strings.Contains(text, "0.000 |") {
		t.Errorf("of nothing:\n%s", text)
	}
}

func TestATableTakesThePlaceOfTheOneBefore(t *testing.T) {
	page := "# Title\n\nprose\n" + BeginMarker + "\nold | table\n" + EndMarker + "\nmore prose\n"
	got, err := Between(page, "\nnew | table\n\n", BeginMarker, EndMarker)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Title\n\nprose\n" + BeginMarker + "\n\nnew | table\n\n" + EndMarker + "\nmore prose\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, err := Between(got, "new | table", BeginMarker, EndMarker)
	if err != nil || again != want {
		t.Errorf("a second time: %v\n%s", err, again)
	}
}

func TestAPageWithoutMarkersIsRefused(t *testing.T) {
	for _, page := range []string{"", "text " + EndMarker, BeginMarker + " text", EndMarker + BeginMarker} {
		if got, err := Between(page, "table", BeginMarker, EndMarker); err == nil {
			t.Errorf("page %q became %q", page, got)
		}
	}
}

func TestNumbersHaveNoMoreDigitsThanAMachineRepeats(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.21749: "0.217", 1.004e-3: "0.00100", 7.314: "7.31", 115.94: "116", 928.4: "928", 1446.65: "1447", 39953: "39950", 45238: "45240",
	} {
		if got := threeDigits(v); got != want {
			t.Errorf("threeDigits(%v) = %s, want %s", v, got, want)
		}
	}
}
