package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

func TestEveryInjectionHasAPlaceStrengthsAndANameOfItsOwn(t *testing.T) {
	var known []string
	for _, p := range places() {
		known = append(known, p.Name)
	}
	seen := map[string]bool{}
	for _, in := range injections() {
		if key := in.Place + in.Name; seen[key] || !slices.Contains(known, in.Place) || len(in.Strengths) == 0 || in.Run == nil {
			t.Errorf("%s at %s: named before %v, %d strengths", in.Name, in.Place, seen[key], len(in.Strengths))
		} else {
			seen[key] = true
		}
		for _, s := range in.Strengths {
			if s.None() {
				t.Errorf("%s: a strength without a name injects nothing", in.Name)
			}
		}
		if in.Gross != "" && !slices.ContainsFunc(in.Strengths, func(s Strength) bool { return s.Name == in.Gross }) {
			t.Errorf("%s has no strength %q", in.Name, in.Gross)
		}
	}
}

func TestAPairIsNoticedByWhatItsHonestRunHasNot(t *testing.T) {
	honest := Outcome{Codes: []judge.Code{judge.ForeignLoad}, BytesPerSecond: 100, P99: 10, OpsPerSecond: 7, StorageOps: 7, Mean: 5}
	injected := Outcome{Codes: []judge.Code{judge.ForeignLoad, judge.NotSteady}, BytesPerSecond: 80, P99: 30, OpsPerSecond: 7, StorageOps: 14, Mean: 8}
	injected.Warnings = []judge.Code{judge.PathImbalance, judge.Retransmits}
	same := injected
	same.Codes = honest.Codes
	open := func(o Outcome) Outcome {
		o.Open = true
		return o
	}
	cases := map[string]struct {
		in     Injection
		a, b   Outcome
		effect float64
		by     []judge.Code
	}{
		"closed loop: throughput":                    {a: honest, b: injected, effect: -0.2, by: []judge.Code{judge.NotSteady}},
		"open loop: p99":                             {a: open(honest), b: open(injected), effect: 2, by: []judge.Code{judge.NotSteady}},
		"counters of the storage":                    {in: Injection{Storage: true}, a: honest, b: injected, effect: 1, by: []judge.Code{judge.NotSteady}},
		"mean latency":                               {in: Injection{Latency: true}, a: honest, b: injected, effect: .6, by: []judge.Code{judge.NotSteady}},
		"what the honest run has, too, is no notice": {a: honest, b: same, effect: -0.2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := pair(c.in, Strength{Name: "x"}, c.a, c.b)
			if got.Effect == nil || math.Abs(*got.Effect-c.effect) > 1e-9 || !slices.Equal(got.By, c.by) || got.Noticed != (len(c.by) > 0) {
				t.Errorf("effect %v, by %v, noticed %v", got.Effect, got.By, got.Noticed)
			}
		})
	}
	named := pair(Injection{Expect: []judge.Code{judge.PathImbalance}}, Strength{}, honest, injected).Named
	if diff := cmp.Diff([]judge.Code{judge.PathImbalance}, named); diff != "" {
		t.Errorf("named by %s", diff)
	}
	if got := pair(Injection{}, Strength{}, honest, Outcome{}); got.Effect != nil || (&row{trials: []Trial{got}}).moved(got, 0) {
		t.Errorf("a run without a number has the effect %v", got.Effect)
	}
}

// The intervals follow the formula in Wilson (1927), as statistics programs print them.
func TestRatesHaveWilsonsInterval(t *testing.T) {
	for want, r := range map[[2]float64]rate{
		{0, 1}:           {},
		{0, 0.0117}:      {0, 324},
		{0.9300, 0.9945}: {98, 100},
		{0.2366, 0.7634}: {5, 10},
	} {
		low, high := r.interval()
		if math.Abs(low-want[0]) > 5e-4 && r.n > 0 || math.Abs(high-want[1]) > 5e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %v", r.n, r.all, low, high, want)
		}
	}
}

func TestTheTableCountsTrialsByEffectAndFalseAlarms(t *testing.T) {
	in := injections()[0]
	trial := func(effect float64, by ...judge.Code) Record {
		tr := Trial{Injection: in.Name, Kind: in.Kind, Place: in.Place, Strength: in.Strengths[0].Name, Effect: &effect, By: by, Noticed: len(by) > 0}
		tr.Injected.Codes, tr.Honest.Validity = by, bench.ValidityValid
		return Record{Trial: &tr}
	}
	aa := func(v bench.Validity, codes ...judge.Code) Record {
		return Record{AA: &AARun{Load: "random read", Place: placeGanesha, Outcome: Outcome{Validity: v, Codes: codes}}}
	}
	of := func(n int, r Record) Record { // with the n-th strength
		r.Trial.Strength = in.Strengths[n].Name
		return r
	}
	warned, blind := of(1, trial(0.01)), of(1, trial(0.02))
	warned.Trial.Injected.Warnings = []judge.Code{judge.NotSteady}
	again := of(2, trial(0.06))
	again.Trial.Again, again.Trial.Honest.Validity = true, bench.ValiditySuspect
	suspect := of(2, trial(0.08, judge.NotSteady))
	suspect.Trial.Honest.Validity, suspect.Trial.Honest.Codes = bench.ValiditySuspect, []judge.Code{judge.NotSteady}
	named := trial(-0.2)
	named.Trial.Named = []judge.Code{judge.PathImbalance}
	short := trial(0.5, judge.TooShort)
	short.Trial.Injection, short.Trial.Apart = "short", true
	text := table([]Record{
		// Two of three effects exceed 10 %, and so does their median.
		trial(-0.3, judge.NotSteady), named, trial(-0.01, judge.NotSteady), warned, blind, suspect, again, short,
		aa(bench.ValidityValid), aa(bench.ValiditySuspect, judge.NotSteady),
		{Error: "x"},
	})
	for _, want := range []string{
		"more than 10 %: flagged | 3 of 3 ", "Suspect or Invalid | 2 of 3 ", "more than 5 %: flagged | 4 of 5 ",
		"gave no number: flagged | 0 of 2 ",
		"injected: Suspect or Invalid | 1 of 2 ", "injected: Invalid | 0 of 2 ", "\n1 tasks of the rig",
		"an injection: Suspect or Invalid | 1 of 7 ", "the same: Invalid | 0 of 7 ",
		"| -20.0 % | 2 of 3 ", "| `NotSteady` 2 |",
		"| `NotSteady` | 2 of 3 (20 to 94 %) | 2 of 4 (15 to 85 %) | 2 of 9 (6 to 55 %) |",
		"| pairs of runs with an injection | NFS-Ganesha | quiet | 1 of 7 (2 to 52 %) | `NotSteady` 1 |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTheTablesOfTheRecordAreThoseOfItsRuns(t *testing.T) {
	text := map[string]string{}
	for _, name := range []string{pageFile, tableFile, runsFile} {
		path, err := repository.Path(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(data)
	}
	path, err := repository.Path(runsFile)
	if err != nil {
		t.Fatal(err)
	}
	records, err := readRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := table(records)
	page, err := score.Between(text[pageFile], rates(whole), beginMarker, endMarker)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{text[tableFile], text[pageFile]}, []string{whole, page}); diff != "" {
		t.Errorf("run hack/believe.sh --table-of %s:\n%s", runsFile, diff)
	}
}

func TestOnlyAWholeRunIsPublished(t *testing.T) {
	page := "before\n" + beginMarker + "\nold\n" + endMarker + "\n"
	for _, whole := range []bool{false, true} {
		s := settings{out: t.TempDir(), publish: t.TempDir()}
		findings := filepath.Join(s.publish, pageFile)
		for _, name := range []string{findings, filepath.Join(s.publish, tableFile)} {
			if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(findings, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		records := []Record{{AA: &AARun{Load: "random read", Outcome: Outcome{Validity: bench.ValidityValid}}}}
		if whole {
			records = append(records, Record{Whole: true})
		}
		if err := s.write(records); err != nil {
			t.Fatal(err)
		}
		s.again = filepath.Join(s.publish, runsFile) // judge again what was published
		if _, err := os.Stat(s.again); err == nil {
			if err := errors.Join(os.WriteFile(findings, []byte(page), 0o600), s.run(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		now, err := os.ReadFile(findings)
		if err != nil {
			t.Fatal(err)
		}
		if published := string(now) != page; published != whole {
			t.Errorf("whole: %v, published: %v", whole, published)
		}
	}
}

func TestRunsInAGuestAreMadeAlone(t *testing.T) {
	tasks := append(aaTasks(honestLoads(), 2*len(honestLoads())), trialTasks(injections(), 1)...)
	seen := 0
	for _, task := range tasks {
		if task.place == guestPlace {
			seen++
			if task.phase != alone {
				t.Errorf("%s has its turn in phase %d", task.name, task.phase)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d tasks in guests", seen)
	}
}

// nothingWorld counts how many are open at once.
type nothingWorld struct{ close func() }

func (w nothingWorld) Close() error { w.close(); return nil }

func TestNumbersOfLanesAreUsedAgain(t *testing.T) {
	var mu sync.Mutex
	open, seen := map[int]bool{}, map[int]bool{}
	place := func(name string) Place {
		return Place{Name: name, Open: func(_ context.Context, _ *Rig, number int) (World, error) {
			mu.Lock()
			defer mu.Unlock()
			if open[number] {
				t.Errorf("lane %d is open", number)
			}
			open[number], seen[number] = true, true
			return nothingWorld{func() {
				mu.Lock()
				defer mu.Unlock()
				delete(open, number)
			}}, nil
		}}
	}
	var tasks []task
	for i := range 60 {
		tasks = append(tasks, task{
			place: []string{"a", "b"}[i%2], phase: phase(i % 3), runs: 1, do: func(context.Context, World, sink) error { return nil },
		})
	}
	rig := &Rig{Log: func(string, ...any) {}}
	s := session{rig: rig, lanes: 3, first: laneNumbers - 6, places: []Place{place("a"), place("b")}, tasks: tasks, now: time.Now}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range seen {
		if n < s.first || n >= laneNumbers {
			t.Errorf("lane %d of %d to %d", n, s.first, laneNumbers-1)
		}
	}
	s.first++
	if err := s.run(t.Context()); err == nil {
		t.Error("there are more lanes than numbers")
	}
}

func TestFoldersOfKilledRigsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skip(err)
	}
	name := func(pid int) string { return filepath.Join(dir, fmt.Sprintf("%s%d-1", folderPrefix, pid)) }
	old, own := name(ended.Process.Pid), name(os.Getpid())
	if err := errors.Join(os.Mkdir(old, 0o700), os.WriteFile(filepath.Join(old, "x"), nil, 0o600), os.Mkdir(own, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := removeFolders(dir); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{own}, left); diff != "" {
		t.Error(diff)
	}
}

func TestWhatRunsInANamespaceEndsWithIt(t *testing.T) {
	if os.Getenv("NFSBENCH_LAB") == "" {
		t.Skip("set NFSBENCH_LAB=1 to make network namespaces; needs root")
	}
	const name = "beltest"
	if err := errors.Join(removeNetns(name), command(t.Context(), "ip", "netns", "add", name)); err != nil {
		t.Fatal(err)
	}
	args := inNetns(name, "sleep", "600")
	left := exec.CommandContext(t.Context(), args[0], args[1:]...)
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until nsenter becomes sleep
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", left.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if string(comm) == "sleep\n" {
			break
		}
		runtime.Gosched()
	}
	if err := removeNetns(name); err != nil {
		t.Error(err)
	}
	ended := make(chan struct{})
	go func() { _ = left.Wait(); close(ended) }() // it was killed
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("a process of the namespace is still there")
		_ = left.Process.Kill()
	}
}

func TestTheScriptLeavesOutPlacesByTheirNames(t *testing.T) {
	path, err := repository.Path("hack/believe.sh")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`leave_out "(.*)"`).FindAllStringSubmatch(string(script), -1)
	if len(named) != 3 {
		t.Errorf("%d places in %s", len(named), path)
	}
	var s settings
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	s.register(flags)
	for _, n := range named {
		if err := flags.Parse([]string{"--without", n[1]}); err != nil {
			t.Error(err)
		}
	}
	if err := flags.Parse([]string{"--without", "nowhere"}); err == nil {
		t.Error("there is a place called nowhere")
	}
}

func TestAWholeRunTakesLessThanTwoHours(t *testing.T) {
	var d settings
	d.register(flag.NewFlagSet("", flag.PanicOnError))
	s := session{
		rig: &Rig{Seconds: int32(d.seconds)}, lanes: d.lanes, places: places(), //nolint:gosec // a default
		tasks: append(aaTasks(append(honestLoads(), honestDatabases()...), d.aa), trialTasks(injections(), d.trials)...),
	}
	runs, took := s.estimate()
	t.Logf("%d runs, %v", runs, took)
	if took > 2*time.Hour || d.aa < 300 {
		t.Errorf("%d runs, of which in %d nothing is injected, take %v", runs, d.aa, took)
	}
}

// samplePlan returns the plan of a lane that is not open.
func samplePlan() runfile.Plan {
	l := Lane{rig: &Rig{Seconds: 12}, embed: true, export: "/export", paths: []string{"10.0.0.2"}}
	return l.plan(randomRead())
}

func TestResultsThatWereKeptAreJudgedAgain(t *testing.T) {
	out := t.TempDir()
	s := settings{out: out}
	results := filepath.Join(out, "results")
	if err := os.Mkdir(results, 0o755); err != nil {
		t.Fatal(err)
	}
	result := runfile.Result{Version: runfile.ResultVersion, Plan: samplePlan()}
	result.Clients = []runfile.ClientResult{gen.Client(t, result.Plan, 0, time.Unix(1e9, 0).UTC())}
	in := injections()[0]
	in.Strengths = in.Strengths[:1]
	in.Run = func(context.Context, World, Strength) (runfile.Result, error) { return result, nil }
	w := trialTasks([]Injection{in}, 1)[0]
	var lines bytes.Buffer
	var want []Record
	to := sink{keep: keepIn(results), emit: func(r Record) {
		want = append(want, r)
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			t.Error(err)
		}
	}}
	if err := w.do(t.Context(), nil, to); err != nil || len(want) != 1 || len(want[0].Results) != 2 {
		t.Fatalf("%v, %+v", err, want)
	}
	// The text of an older judgement must not remain.
	stale := strings.ReplaceAll(lines.String(), `"bytesPerSecond":`, `"bytesPerSecond":9`)
	if err := os.WriteFile(filepath.Join(out, "runs.jsonl"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := s.judgeAgain()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || want[0].Trial.Honest.BytesPerSecond == 0 {
		t.Error(diff)
	}
}

func TestTheCreditsOfAServerBeginWithTheWarmUp(t *testing.T) {
	var warmup onset
	answer, start := burst(&warmup), time.Unix(1e9, 0)
	at := func(d time.Duration) time.Duration { return answer(rpcCall{procedure: procRead, at: start.Add(d)}) }
	if got := at(-time.Hour); got != serviceTime/2 {
		t.Errorf("while the files are filled: %v", got)
	}
	if got := at(time.Hour); got != serviceTime/2 {
		t.Errorf("an hour later: %v", got)
	}
	warmup.at.Store(&start)
	if first, last := at(5*time.Second), at(7*time.Second); first != serviceTime/2 || last != serviceTime {
		t.Errorf("in the window: first %v, then %v", first, last)
	}
}

// call returns an NFSv3 READ as a client sends it, in fragments of at most fragment bytes.
func call(xid uint32, offset uint64, fragment int) []byte {
	var b []byte
	word := func(v ...uint32) {
		for _, w := range v {
			b = binary.BigEndian.AppendUint32(b, w)
		}
	}
	word(xid, 0, 2, 100003, 3, procRead, 1, 8, 1, 2, 0, 0, 5)
	b = append(b, "abcde\x00\x00\x00"...)
	b = binary.BigEndian.AppendUint64(b, offset)
	word(8192)
	var out []byte
	for len(b) > 0 {
		n := min(len(b), fragment)
		mark := uint32(n)
		if n == len(b) {
			mark |= 1 << 31
		}
		out = append(binary.BigEndian.AppendUint32(out, mark), b[:n]...)
		b = b[n:]
	}
	return out
}

func TestARelayReadsCallsInFragments(t *testing.T) {
	for _, fragment := range []int{1, 7, 1000} {
		record, err := readRecord(bytes.NewReader(call(9, 1<<33, fragment)))
		if err != nil {
			t.Fatal(err)
		}
		c, xid := parseCall(record[4:])
		want := rpcCall{procedure: procRead, file: "abcde", offset: 1 << 33, count: 8192}
		if diff := cmp.Diff(want, c, cmp.AllowUnexported(rpcCall{})); diff != "" || xid != 9 {
			t.Errorf("transaction %d %s", xid, diff)
		}
		for n := range len(record) - 8 {
			_, _ = parseCall(record[4 : 8+n]) // must not panic
		}
	}
	if _, err := readRecord(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff})); err == nil {
		t.Error("a record of 2 GiB was read")
	}
}

func TestARelayAnswersFromMemoryAndSendsTwice(t *testing.T) {
	down, client := net.Pipe()
	up, server := net.Pipe()
	r := &relay{
		memory:   map[memoryKey][]byte{},
		remember: func(c rpcCall) bool { return c.offset == 1 },
		twice:    func(c rpcCall) bool { return c.offset == 2 },
	}
	var serving sync.WaitGroup
	serving.Go(func() { r.serve(0, down, up) })
	var mu sync.Mutex
	seen := map[uint32]bool{} // by transaction: a server does not execute a known one again
	serving.Go(func() {
		for {
			record, err := readRecord(server)
			if err != nil {
				return
			}
			mu.Lock()
			seen[binary.BigEndian.Uint32(record[4:])] = true
			mu.Unlock()
			reply := binary.BigEndian.AppendUint32(nil, 1<<31|8)
			reply = append(append(reply, record[4:8]...), 0, 0, 0, 1)
			if _, err := server.Write(reply); err != nil {
				return
			}
		}
	})
	for i, offset := range []uint64{1, 1, 2, 3} {
		if _, err := client.Write(call(uint32(i+1), offset, 1000)); err != nil {
			t.Fatal(err)
		}
		reply, err := readRecord(client)
		if err != nil || binary.BigEndian.Uint32(reply[4:]) != uint32(i+1) {
			t.Fatalf("call %d: reply %x, %v", i, reply, err)
		}
	}
	_ = client.Close()
	_ = server.Close()
	serving.Wait()
	if len(seen) != 4 { // 1, 2 and 1 calls for the offsets 1, 2 and 3
		t.Errorf("the server saw %d calls, want 4", len(seen))
	}
}

// TestMeasureGrossInjections is the short form of hack/believe.sh: honest runs are not to be
// Invalid, and gross injections are to be noticed.
func TestMeasureGrossInjections(t *testing.T) {
	if os.Getenv("NFSBENCH_LAB") == "" {
		t.Skip("set NFSBENCH_LAB=1 to make real runs; needs root")
	}
	program := filepath.Join(t.TempDir(), "nfsbench")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", program, "./cmd/nfsbench").CombinedOutput(); err != nil {
		t.Fatalf("build nfsbench: %v\n%s", err, out)
	}
	rig, closeRig, err := newRig(program, "", 12)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeRig(); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	emit := func(r Record) {
		mu.Lock()
		defer mu.Unlock()
		record(t, r)
	}
	rig.Log = func(string, ...any) {}
	var gross []Injection
	for _, in := range injections() {
		if in.Gross != "" && (in.Place == placeGanesha || in.Place == placeEmbedded) {
			in.Strengths = slices.DeleteFunc(slices.Clone(in.Strengths), func(s Strength) bool { return s.Name != in.Gross })
			gross = append(gross, in)
		}
	}
	places := lanePlaces()
	for i := range places {
		places[i].Seconds = 0
	}
	s := session{
		rig: rig, lanes: 5, first: 38, places: places, to: sink{emit: emit}, now: time.Now,
		tasks: append(aaTasks(honestLoads(), len(honestLoads())), trialTasks(gross, 1)...),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := s.run(ctx); err != nil {
		t.Error(err)
	}
}

// record records what was found of an honest run, or of a pair of runs of which one was injected.
func record(t *testing.T, r Record) {
	t.Helper()
	switch {
	case r.Error != "":
		t.Error(r.Error)
	case r.AA != nil:
		t.Logf("%s: %+v", r.AA.Load, r.AA.Outcome)
		measure.Outcome(t, "an honest run, "+r.AA.Load, string(r.AA.Outcome.Validity), string(bench.ValidityValid), string(bench.ValiditySuspect))
	case r.Trial.Honest.Validity != bench.ValidityValid:
		// Nothing can be said of a pair whose honest run was disturbed.
		measure.Outcome(t, "the honest run of "+r.Trial.Injection, string(r.Trial.Honest.Validity), string(bench.ValidityValid), string(bench.ValiditySuspect))
	default:
		noticed := map[bool]string{true: "noticed", false: "not noticed"}[r.Trial.Noticed]
		t.Logf("%s, %s: by %v; honest %+v, injected %+v", r.Trial.Injection, r.Trial.Strength, r.Trial.By, r.Trial.Honest, r.Trial.Injected)
		measure.Outcome(t, r.Trial.Injection+", "+r.Trial.Strength, noticed, "noticed")
	}
}
