package report

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	nethtml "golang.org/x/net/html"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/simulation"
)

const evil = `"></style></script><img src=x onerror=alert(1)><a href="javascript:alert(2)">`

// shownPage is a page that was read back.
type shownPage struct {
	text     string // all that people read, in order
	elements map[string]int
	ids      []string
	size     int
}

// read parses a page and fails the test if anything in it could run or fetch.
func read(t *testing.T, page string) shownPage {
	t.Helper()
	root, err := nethtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	d := shownPage{elements: map[string]int{}, size: len(page)}
	var text strings.Builder
	for n := range root.Descendants() {
		if n.Type == nethtml.TextNode && n.Parent.Data != "style" {
			text.WriteString(n.Data + " ")
		}
		if n.Type != nethtml.ElementNode {
			continue
		}
		d.elements[n.Data]++
		checkAttributes(t, n)
		for _, a := range n.Attr {
			if a.Key == "id" {
				d.ids = append(d.ids, a.Val)
			}
		}
	}
	d.text = strings.Join(strings.Fields(strings.ReplaceAll(text.String(), "\u00a0", " ")), " ")
	for _, name := range []string{"script", "img", "iframe", "link", "object", "form", "base", "foreignobject"} {
		if d.elements[name] > 0 {
			t.Errorf("the page has <%s>", name)
		}
	}
	if sorted := slices.Sorted(slices.Values(d.ids)); len(slices.Compact(sorted)) != len(d.ids) {
		t.Errorf("an ID is there twice: %v", d.ids)
	}
	return d
}

func checkAttributes(t *testing.T, n *nethtml.Node) {
	t.Helper()
	for _, a := range n.Attr {
		if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
			t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
		}
	}
}

func (d shownPage) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(d.text, strings.Join(strings.Fields(s), " ")) {
			t.Errorf("the page does not say %q", s)
		}
	}
}

// inOrder wants texts one after the other.
func (d shownPage) inOrder(t *testing.T, texts ...string) {
	t.Helper()
	rest := d.text
	for _, s := range texts {
		_, after, ok := strings.Cut(rest, s)
		if !ok {
			t.Fatalf("%q does not come after what was before it", s)
		}
		rest = after
	}
}

func benchmark(t *testing.T, r runfile.Result, o PageOptions) shownPage {
	t.Helper()
	var b bytes.Buffer
	if err := BenchmarkPage(&b, judge.Judge(r), o); err != nil {
		t.Fatal(err)
	}
	return read(t, b.String())
}

func TestThePageOfARunAnswersFirstAndShowsTheRest(t *testing.T) {
	t.Parallel()
	r := simulation.Hour(t, "nightly", 7, 0)
	j := judge.Judge(r)
	d := benchmark(t, r, PageOptions{Generated: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Version: "v9.9.9", Reproduce: "kind: NFSBenchmark # mine"})
	d.inOrder(t, "SIMULATED", "benchmarks/nightly", "Verdict Pass", "Validity Suspect", "ChannelLost", human.Megabytes(j.Summary.Total.BytesPerSecond)+" MB/s", "Of the wire limit",
		"What ran on what", "Over time", "Latency", "Repetitions", "Paths", "Storage nodes", "Findings, and what to do", "Run it again", "YAML of the benchmark", "kind: NFSBenchmark # mine",
		"oranfstab", "local: 192.168.4.50", "Plan", `"repetitions": 3`, "Written by nfsbench v9.9.9")
	d.has(t, planHash(r.Plan), j.Wire.Arithmetic, j.Protocol.Message, "c1-01: CPU, %", "c1-02: MB/s", "192.168.6.50 → 192.168.6.100, MB/s", "6.1.0-37-amd64", "2026-11-20 08:00:00 UTC")
	for _, f := range j.Findings {
		d.has(t, f.Code, f.Message)
	}
	for _, v := range []int64{j.Summary.Read.Latency.P99Microseconds, j.Summary.Write.Latency.MaxMicroseconds} {
		d.has(t, human.Latency(v))
	}
	if d.size >= 2<<20 {
		t.Errorf("%d bytes; at most 2 MiB are accepted", d.size)
	}
	if d.elements["svg"] < 12 {
		t.Errorf("%d figures and symbols", d.elements["svg"])
	}
}

func TestThePageMarksAndListsPauses(t *testing.T) {
	t.Parallel()
	r := simulation.Hour(t, "nightly", 7, 0)
	reps := r.Clients[0].Load.Repetitions
	for i := range reps {
		reps[i].Pauses = &runfile.Pauses{LeastMilliseconds: 100}
	}
	figures := benchmark(t, r, PageOptions{})
	figures.has(t, "none of 100 ms or more, in any repetition")
	reps[0].Pauses.Client = []runfile.Pause{
		{StartMilliseconds: 120_500, Milliseconds: 12_500}, {StartMilliseconds: 200_000, Milliseconds: 150},
	}
	reps[0].Pauses.Paths = []runfile.PathPause{{Path: "path 192.168.4.100", Pause: runfile.Pause{StartMilliseconds: 300_000, Milliseconds: 20_000}}}
	d := benchmark(t, r, PageOptions{})
	at := reps[0].Start.Add(120_500 * time.Millisecond).UTC().Format("15:04:05.0")
	d.has(t, "the longest of a client in all repetitions is 12.5 s", "client 0: 12.5 s without an answer",
		"client 0, path 192.168.4.100: 20.0 s without an answer", "Marked: pauses", at+" 1 client 0 120.5 s 12.5 s")
	if strings.Contains(d.text, "0.2 s without an answer") {
		t.Error("a short pause is marked")
	}
}

func TestThePageAllowsNothingFromOutside(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := experiments.Ramp()
	if err := BenchmarkPage(&b, judge.Judge(r), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`) {
		t.Error("there is no content security policy")
	}
	if at := regexp.MustCompile(`url\(|@import|https?://(www\.w3\.org/2000/svg)?`).FindAllString(b.String(), -1); slices.ContainsFunc(at, func(s string) bool { return s != "http://www.w3.org/2000/svg" }) {
		t.Errorf("addresses: %v", slices.Compact(slices.Sorted(slices.Values(at))))
	}
}

func TestOnlyNumbersOfOracleRemindOfItsLicence(t *testing.T) {
	t.Parallel()
	native, standIn := simulation.Hour(t, "n", 1, 0), experiments.Ramp()
	standIn.Clients[0].Load.Oracle.StandIn = true
	for name, c := range map[string]struct {
		result runfile.Result
		want   bool
	}{"Oracle": {experiments.Ramp(), true}, "native": {native, false}, "stand-in": {standIn, false}} {
		if got := strings.Contains(benchmark(t, c.result, PageOptions{}).text, DisclosureNote); got != c.want {
			t.Errorf("%s: reminded %v", name, got)
		}
	}
	benchmark(t, standIn, PageOptions{}).has(t, "SIMULATED", SimulatedDatabaseNote)
}

func TestARampShowsItsLevelsAndItsKnee(t *testing.T) {
	t.Parallel()
	d := benchmark(t, experiments.Ramp(), PageOptions{})
	benchmark(t, experiments.Kit("DNFS"), PageOptions{}).has(t, "Wait events", "db file sequential read")
	d.has(t, "Levels of load", "users", "knee", "Servers of Direct NFS", "192.168.1.20", "percentiles are upper bounds")
}

func TestACalibrationShowsItsRuns(t *testing.T) {
	t.Parallel()
	benchmark(t, experiments.Calibrations()[0].Result(), PageOptions{}).has(t, "Calibration", "warm-up", "27066", "362", "355.507", "Data files (V$IOSTAT_FILE)")
}

// hostile has the same wicked text everywhere that a file can have text.
func hostile(s string) runfile.Result {
	r := experiments.Ramp()
	r.Plan.Run = runfile.Identity{Namespace: s, Name: s}
	e := &r.Plan.Engine
	e.Server, e.Export, e.Channels, e.MountOptions = s, s, runfile.ChannelsTo(s), []string{s}
	r.Plan.Collect.Sources = []runfile.Source{{Kind: s, Name: s}}
	c := &r.Clients[0]
	c.Host = runfile.Host{Name: s, Node: s, Kernel: s, Version: s}
	o := c.Load.Oracle
	o.Banner, o.Parameters = s, []runfile.OracleParameter{{Name: s, Requested: s, Value: s}}
	c.Load.Mount = &runfile.MountFacts{FilesystemType: s, Source: s, Options: []string{s}}
	c.Load.Failure = &runfile.Failure{Code: s, Message: s}
	for i := range c.Load.Repetitions {
		w := c.Load.Repetitions[i].Oracle
		w.DirectNFS.Servers = []runfile.DNFSServer{{Server: s, Export: s, Version: s}}
		w.DirectNFS.Channels = []runfile.DNFSChannel{{Server: s, Path: s, Local: s}}
		w.Files[0].AccessMethod = s
		w.AWR = []runfile.AWRRow{{Event: s, Waits: 1}}
		c.Load.Repetitions[i].Channels = []runfile.Channel{{ID: 1, Local: s, Path: s, State: s, Role: bench.PathRole(s)}}
		c.Load.Repetitions[i].Servers = []runfile.NFSServer{{
			ID: 1, Role: bench.PathRole(s), NFSVersion: s, Addresses: []string{s, s}, Owner: s, OwnerMinor: s, Scope: s, Trunking: bench.Trunking(s), LayoutType: s,
		}}
	}
	for i := range 100 {
		c.Load.Samples = append(c.Load.Samples, runfile.LoadSample{
			Time: experiments.Start().Add(time.Duration(i) * time.Second), Span: runfile.SpanMeasure, Repetition: 1,
			Read: &runfile.SampleOps{Count: 1, Bytes: 1, MeanMicroseconds: 1}, Channels: []runfile.PathBytes{{ID: 1, BytesRead: 5}},
		})
	}
	c.Observed = &runfile.Observed{Storage: []runfile.StorageSample{
		{Source: s, Time: experiments.Start(), Paths: []runfile.StoragePath{{Address: s, Node: s, ReadBytes: new(int64(1))}}},
		{Source: s, Time: experiments.Start().Add(time.Second), Paths: []runfile.StoragePath{{Address: s, Node: s, ReadBytes: new(int64(9))}}},
	}}
	return r
}

func TestNamesInFilesAreText(t *testing.T) {
	t.Parallel()
	native := hostile(evil)
	native.Plan.Database = nil
	for _, r := range []runfile.Result{hostile(evil), native} {
		benchmark(t, r, PageOptions{Version: evil, Reproduce: evil}).has(t, evil)
	}
	benchmark(t, native, PageOptions{}).has(t, "NFS servers (as V$DNFS_SERVERS of Oracle)", "Trunking", "Owner", "Scope")
	side := compare.NewSide(evil, hostile(evil))
	var b bytes.Buffer
	line := compare.Line{Cell: evil, Baseline: evil, Step: evil, Metric: evil, Unit: evil, Outcome: evil}
	table := compare.Table{Comparisons: []compare.Line{line}, Cells: []compare.Cell{{Cell: evil, Step: evil, Metric: evil}}, Findings: []bench.Finding{{Code: judge.Code(evil), Severity: bench.Severity(evil), Message: evil}}}
	if err := ComparisonPage(&b, side, side, table, PageOptions{Reproduce: evil}); err != nil {
		t.Fatal(err)
	}
	read(t, b.String())
	b.Reset()
	run := simulation.Suite(evil, 1, 0)
	run.Suite, run.Namespace, run.Phase, run.Reason, run.Message, run.Workflow = evil, evil, evil, evil, evil, evil
	run.Cells[0] = runfile.SuiteCell{Name: evil, Values: []runfile.SuiteAxis{{Axis: evil, Value: evil}}}
	for i := range run.Results {
		run.Results[i].Cell, run.Results[i].Phase, run.Results[i].Reason, run.Results[i].Findings = evil, evil, evil, []string{evil}
	}
	if err := SuitePage(&b, run, table, &compare.Table{Baseline: evil, Run: evil, Message: evil, Comparisons: []compare.Line{line}}, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	read(t, b.String())
}

func FuzzNamesInFilesAreText(f *testing.F) {
	for _, s := range []string{evil, "", "\x00\xff", "]]>", "{{.}}", "<!--", "</title><svg/onload=alert(1)>", "`${1}`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { benchmark(t, hostile(s), PageOptions{Reproduce: s}) })
}

func TestAResultWithNothingInItHasAPageToo(t *testing.T) {
	t.Parallel()
	benchmark(t, runfile.Result{}, PageOptions{}).has(t, "unnamed", "No number was measured")
	var b bytes.Buffer
	if err := SuitePage(&b, runfile.SuiteRun{}, compare.Table{}, nil, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	read(t, b.String()).has(t, "Under way")
	b.Reset()
	none := compare.NewSide("", runfile.Result{})
	if err := ComparisonPage(&b, none, none, compare.Table{}, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	read(t, b.String()).has(t, "Nothing was compared")
}

type failing struct{ left int }

func (w *failing) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, fmt.Errorf("disk full")
	}
	return len(p), nil
}

func TestThatAPageCouldNotBeWrittenIsSaid(t *testing.T) {
	t.Parallel()
	r := experiments.Ramp()
	if err := BenchmarkPage(&failing{20_000}, judge.Judge(r), PageOptions{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}

func TestTwoRunsOfOnePlanHaveOneHash(t *testing.T) {
	t.Parallel()
	a, b := experiments.Ramp().Plan, experiments.Ramp().Plan
	b.Run.Name, b.Run.UID = "another", "another"
	if diff := cmp.Diff(planHash(a), planHash(b)); diff != "" {
		t.Error(diff)
	}
	b.Seed++
	if planHash(a) == planHash(b) {
		t.Error("another seed has the same hash")
	}
}
