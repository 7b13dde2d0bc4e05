package main

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

func testScene() scene {
	return scene{
		Netns: "ns", LIFs: []string{"10.0.1.2", "10.0.2.2", "10.0.3.2"}, Export: "/export/data", Port: 5201, Bare: 5202, Relay: 5203,
		Folder: "/var/tmp/b", PNFS: pnfsScene{Nodes: []string{"10.0.11.2", "10.0.12.2"}, Export: "/pv"},
	}
}

func TestCommandLines(t *testing.T) {
	p := programs{Ours: "/b/nfsbench", Other: "/b/old", Fio: "/b/fio", Reader: "/b/reader", Socket: "/b/socket", Cat: "/b/nfs-cat", Iperf: "/b/iperf3"}
	random, sequential := work{"randread", 8192, 2, 16}, work{"read", mebi, 1, 4}
	for name, c := range map[string]struct {
		entry entry
		want  string
	}{
		"ours over two links": {
			entry{Tool: toolOurs, Work: sequential, Links: []int{1, 2}},
			"/b/nfsbench load --server 10.0.2.2,10.0.3.2 --export /export/data --dir bench-j1 --pattern read --block-size 1048576 " +
				"--file-size 536870912 --jobs 1 --depth 4 --warmup 1s --duration 5s --baseline 0s --cooldown 0s --keep-files --progress none --output json",
		},
		"another build over the loopback": {
			entry{Tool: toolOther, Work: random},
			"ip netns exec ns /b/old load --server 127.0.0.1 --export /export/data --dir bench-j2 --pattern randread --block-size 8192 " +
				"--file-size 536870912 --jobs 2 --depth 16 --warmup 1s --duration 5s --baseline 0s --cooldown 0s --keep-files --progress none --output json",
		},
		"fio reads the files of nfsbench": {
			entry{Tool: toolFio, Work: random},
			"ip netns exec ns /b/fio --name=bench --ioengine=nfs --nfs_url=nfs://127.0.0.1/export/data/bench-j2 --filename_format=c0-j$jobnum.dat " +
				"--size=536870912 --rw=randread --bs=8192 --norandommap=1 --numjobs=2 --iodepth=16 --time_based --runtime=5 --ramp_time=1 " +
				"--group_reporting --output-format=json --output=/tmp/o",
		},
		"the reader has a file for each job": {
			entry{Tool: toolReader, Work: random, Links: []int{0}},
			"/b/reader random 8192 16 0 1 5 nfs://10.0.1.2/export/data/bench-j2 c0-j0.dat c0-j1.dat",
		},
		"the reader at a rate": {
			entry{Tool: toolReader, Work: sequential, Links: []int{0}, Rate: 8000},
			"/b/reader sequential 1048576 4 8000 1 5 nfs://10.0.1.2/export/data/bench-j1 c0-j0.dat",
		},
		"the reader reads in order":   {entry{Tool: toolReader, Work: sequential, Links: []int{0}}, "/b/reader sequential 1048576 4 0 1 5 nfs://10.0.1.2/export/data/bench-j1 c0-j0.dat"},
		"nfs-cat":                     {entry{Tool: toolCat, Work: sequential}, "ip netns exec ns /b/nfs-cat nfs://127.0.0.1/export/data/bench-j1/c0-j0.dat"},
		"reads come from the server":  {entry{Tool: toolIperf, Work: sequential, Links: []int{0}}, "/b/iperf3 -c 10.0.1.2 -p 5201 -t 5 -O 1 -J -R"},
		"overwrites go to the server": {entry{Tool: toolIperf, Work: work{"overwrite", mebi, 1, 4}, Links: []int{0}}, "/b/iperf3 -c 10.0.1.2 -p 5201 -t 5 -O 1 -J"},
		"another version": {
			entry{Tool: toolOurs, Work: sequential, NFS: v41},
			"ip netns exec ns /b/nfsbench load --server 127.0.0.1 --export /export/data --nfs-version 4.1 --dir bench-j1 --pattern read " +
				"--block-size 1048576 --file-size 536870912 --jobs 1 --depth 4 --warmup 1s --duration 5s --baseline 0s --cooldown 0s " +
				"--keep-files --progress none --output json",
		},
		"the second node of the pNFS array": {
			entry{Tool: toolOurs, Work: sequential, Links: []int{1}, NFS: pnfs, Place: placePNFS},
			"/b/nfsbench load --server 10.0.12.2 --export /pv --nfs-version pNFS --dir bench-j1 --pattern read " +
				"--block-size 1048576 --file-size 67108864 --jobs 1 --depth 4 --warmup 1s --duration 5s --baseline 0s --cooldown 0s " +
				"--keep-files --progress none --output json",
		},
		"ours on a folder": {
			entry{Tool: toolOurs, Work: sequential, Place: placeDirectory},
			"/b/nfsbench load --mount /var/tmp/b --allow-non-nfs --dir bench-j1 --pattern read --block-size 1048576 " +
				"--file-size 536870912 --jobs 1 --depth 4 --warmup 1s --duration 5s --baseline 0s --cooldown 0s --keep-files --progress none --output json",
		},
		"fio on a folder": {
			entry{Tool: toolFio, Work: sequential, Place: placeDirectory, How: "io_uring"},
			"/b/fio --name=bench --ioengine=io_uring --direct=1 --directory=/var/tmp/b/bench-j1 --filename_format=c0-j$jobnum.dat " +
				"--size=536870912 --rw=read --bs=1048576 --norandommap=1 --numjobs=1 --iodepth=4 --time_based --runtime=5 --ramp_time=1 " +
				"--group_reporting --output-format=json --output=/tmp/o",
		},
		"libnfs takes the version from the URL": {
			entry{Tool: toolReader, Work: sequential, Links: []int{0}, NFS: v40},
			"/b/reader sequential 1048576 4 0 1 5 nfs://10.0.1.2/export/data/bench-j1?version=4 c0-j0.dat",
		},
		"a search for capacity": {
			entry{Tool: toolOurs, Work: random, Place: placeCPU, How: howSearch, Bound: 5 * time.Millisecond},
			"ip netns exec ns /b/nfsbench load --server 127.0.0.1 --export /export/data --dir bench-j2 --pattern randread --block-size 8192 " +
				"--file-size 536870912 --jobs 2 --depth 16 --warmup 1s --duration 5s --baseline 0s --cooldown 0s --keep-files --progress none " +
				"--output json --capacity p99=5ms --arrivals fixed",
		},
		"one rate of a sweep goes through the relay": {
			entry{Tool: toolOurs, Work: random, Place: placeRelay, How: howSweep, Bound: 5 * time.Millisecond},
			"ip netns exec ns /b/nfsbench load --server 127.0.0.1 --export /export/data --nfs-port 5203 --dir bench-j2 --pattern randread " +
				"--block-size 8192 --file-size 536870912 --jobs 2 --depth 16 --warmup 1s --duration 5s --baseline 0s --cooldown 0s " +
				"--keep-files --progress none --output json --ops-per-second 3990",
		},
		"fio finds the depth within a bound": {
			entry{Tool: toolFio, Work: random, Place: placeRelay, How: howTarget, Bound: 5 * time.Millisecond},
			"ip netns exec ns /b/fio --name=bench --ioengine=nfs --nfs_url=nfs://127.0.0.1/export/data/bench-j2?nfsport=5203 " +
				"--filename_format=c0-j$jobnum.dat --size=536870912 --rw=randread --bs=8192 --norandommap=1 --numjobs=2 --iodepth=16 " +
				"--time_based --runtime=32 --latency_target=5000us --latency_window=2s --latency_percentile=99 " +
				"--group_reporting --output-format=json --output=/tmp/o",
		},
		"a bare socket to the server": {
			entry{Tool: toolSocket, Work: sequential},
			"ip netns exec ns /b/socket read sequential 1048576 4 1 5 nfs://127.0.0.1/export/data/bench-j1 c0-j0.dat",
		},
		"a bare socket to one without files": {
			entry{Tool: toolSocket, Work: sequential, How: noFiles},
			"ip netns exec ns /b/socket read sequential 1048576 4 1 5 nfs://127.0.0.1/export/data/bench-j1 c0-j0.dat 5202",
		},
	} {
		j := job{entry: c.entry, Scene: testScene(), Warmup: 1, Seconds: 5, Output: "/tmp/o"}
		if c.entry.How == howSweep {
			j.Rate = 3990
		}
		got, err := p.command(j)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := p.command(job{entry: entry{Tool: "dd"}}); err == nil {
		t.Error("an unknown tool has a command line")
	}
}

// near compares samples, floats to a billionth.
func near() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
}

func TestWhatToolsPrintBecomesASample(t *testing.T) {
	for file, c := range map[string]struct {
		tool string
		want score.Sample
	}{
		// usr 4.340776 % and sys 4.290882 % of the 8017 ms of four processes.
		"fio.json": {toolFio, score.Sample{
			Seconds: 2.011, Bytes: 674594816, Ops: 82348, CPUSeconds: new(0.69200002186), P50Microseconds: new(int64(978)), P99Microseconds: new(int64(16318)),
		}},
		"reader.json": {toolReader, score.Sample{
			Seconds: 2, Bytes: 678486016, Ops: 82823, CPUSeconds: new(0.37213), P50Microseconds: new(int64(1471)), P99Microseconds: new(int64(4223)),
		}},
		"iperf3.json": {toolIperf, score.Sample{Seconds: 1.99965, Bytes: 230161744}},
	} {
		output, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var got score.Sample
		if err := understand(job{entry: entry{Tool: c.tool}}, output, &got); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if diff := cmp.Diff(c.want, got, near()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// ourResult is a result file with one window of 2 s.
func ourResult(t *testing.T, change func(*runfile.Load)) []byte {
	t.Helper()
	plan := runfile.Plan{}
	example, err := os.ReadFile("../../../docs/schema/example.plan.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(example, &plan); err != nil {
		t.Fatal(err)
	}
	histogram := stats.NewHistogram()
	for us := int64(1); us <= 100; us++ {
		histogram.Record(us, 1)
	}
	encoded, err := histogram.Encode()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	load := runfile.Load{Repetitions: []runfile.Repetition{{
		Index: 1, Start: at, End: at.Add(2 * time.Second), CPUMicroseconds: 1_500_000, PeakMemoryBytes: 30 << 20,
		Read: &runfile.Ops{Count: 100, Bytes: 100 << 20, Histogram: encoded},
	}}}
	change(&load)
	data, err := json.Marshal(runfile.Result{Version: runfile.ResultVersion, Plan: plan, Clients: []runfile.ClientResult{{Load: load}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOurResultBecomesASample(t *testing.T) {
	got := score.Sample{PeakMemoryBytes: 20 << 20} // what the kernel said of the process
	if err := parseOurs(ourResult(t, func(*runfile.Load) {}), &got); err != nil {
		t.Fatal(err)
	}
	want := score.Sample{
		Seconds: 2, Bytes: 100 << 20, Ops: 100, CPUSeconds: new(1.5), PeakMemoryBytes: 30 << 20,
		P50Microseconds: new(int64(50)), P99Microseconds: new(int64(99)),
	}
	if diff := cmp.Diff(want, got, near()); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}
}

func TestAResultThatIsNotWholeIsAFailure(t *testing.T) {
	for name, change := range map[string]func(*runfile.Load){
		"partial":    func(l *runfile.Load) { l.Partial = true },
		"failed":     func(l *runfile.Load) { l.Failure = &runfile.Failure{Code: "IOError", Message: "disk"} },
		"no window":  func(l *runfile.Load) { l.Repetitions = nil },
		"two of it":  func(l *runfile.Load) { l.Repetitions = slices.Repeat(l.Repetitions, 2) },
		"errors":     func(l *runfile.Load) { l.Repetitions[0].Read.Errors = 1 },
		"no work":    func(l *runfile.Load) { l.Repetitions[0].Read = nil },
		"no latency": func(l *runfile.Load) { l.Repetitions[0].Read.Histogram = "x" },
	} {
		if err := parseOurs(ourResult(t, change), &score.Sample{}); err == nil {
			t.Errorf("%s: taken for a measurement", name)
		}
	}
}

func TestWhatIperfComplainsOfIsToldAsItIs(t *testing.T) {
	err := parseIperf([]byte(`{"error":"unable to connect","end":{"sum_received":{"bytes":5,"seconds":1}}}`), &score.Sample{})
	if err == nil || !strings.Contains(err.Error(), "unable to connect") {
		t.Errorf("error %v", err)
	}
}

func TestReportsOfNothingAreFailures(t *testing.T) {
	for tool, outputs := range map[string][]string{
		toolOurs:   {"", "{}"},
		toolFio:    {"", "{}", `{"jobs":[]}`, `{"jobs":[{"error":5,"read":{"io_bytes":1,"total_ios":1,"runtime":1}}]}`, `{"jobs":[{"read":{"total_ios":0,"runtime":1}}]}`},
		toolReader: {"", "{}"},
		toolIperf:  {"", "{}", `{"error":"unable to connect"}`, `{"end":{"sum_received":{"bytes":5}}}`},
		"dd":       {"1+0 records"},
	} {
		for _, output := range outputs {
			if err := understand(job{entry: entry{Tool: tool}}, []byte(output), &score.Sample{}); err == nil {
				t.Errorf("%s: %q is taken for a measurement", tool, output)
			}
		}
	}
}
