package benchmark

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// finishedScope is a pass that ends a run with the results of all clients.
func finishedScope(t *testing.T, mods ...gen.Mod) *scope {
	t.Helper()
	b := gen.Benchmark("demo", mods...)
	target, err := exportTarget(b)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(b, *target)
	if err != nil {
		t.Fatal(err)
	}
	s := &scope{b: b, now: noon, loadPart: loadPart{plan: &p}, storagePart: storagePart{target: target, storage: &fact{OK: true, Reason: v1alpha1.ReasonProvisioned}}}
	s.result = &runfile.Result{Version: runfile.ResultVersion, Plan: p}
	for i := range p.Clients {
		s.result.Clients = append(s.result.Clients, gen.Client(t, p, i, noon))
		s.progress = append(s.progress, runfile.Progress{Event: runfile.Event{Span: runfile.SpanDone, Percent: 100}, Final: true})
	}
	s.judgement = new(judge.Judge(*s.result))
	_, _ = s.end(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted, "")
	return s
}

// written is the status after a pass. It tells what is wrong with it.
func written(t *testing.T, s *scope) v1alpha1.NFSBenchmarkStatus {
	t.Helper()
	setStatus(s, nil)
	for _, p := range statuscheck.Problems(nil, s.b) {
		t.Error(p)
	}
	return s.b.Status
}

func TestTheLargestStatusFits(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Export("/vol/oradata", "fd00:1111:2222:3333:4444:5555:6666:1", "fd00:1111:2222:3333:4444:5555:6666:2"),
		gen.Clients(64), gen.Repetitions(8))
	s.judgement.Findings = nil
	for i := range 64 {
		s.judgement.Findings = append(s.judgement.Findings, bench.Finding{
			Code: "PathUnused", Severity: "Warning", Message: fmt.Sprint(i, strings.Repeat(" many words", 200)),
		})
		s.judgement.Summary.StorageNodes = append(s.judgement.Summary.StorageNodes, measure.StorageNode{Name: fmt.Sprint("node-", i)})
	}
	setStatus(s, nil) // not by written: it is larger than a real one
	st := s.b.Status
	if n := sizeOf(t, st); n > 48<<10 {
		t.Errorf("the status takes %d bytes, more than 48 KiB", n)
	}
	if len(st.Findings) != maxFindings || !strings.HasPrefix(st.Findings[0].Message, "0") || len(st.Paths) != maxPaths {
		t.Errorf("%d findings and %d paths are left: not the first ones", len(st.Findings), len(st.Paths))
	}
}

func TestAStatusOfAGoodRunIsClean(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Repetitions(3))
	written(t, s)
	if n := len(s.judgement.Repetitions); n != 3 {
		t.Errorf("%d repetitions are judged", n)
	}
	if n := sizeOf(t, s.b.Status); n > 6<<10 {
		t.Errorf("the status takes %d bytes, more than 6 KiB", n)
	}
}

func TestTheStageIsThatOfTheSlowestClient(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spans []string
		want  v1alpha1.Phase
	}{
		"Nobody":  {nil, v1alpha1.PhasePreparing},
		"Filling": {[]string{runfile.SpanMeasure, runfile.SpanFill}, v1alpha1.PhasePreparing},
		"Between": {[]string{runfile.SpanCooldown, runfile.SpanVerify}, v1alpha1.PhaseRunning},
		"Ending":  {[]string{runfile.SpanClean, runfile.SpanDone}, v1alpha1.PhaseCollecting},
	}
	for name, tc := range cases {
		var all []runfile.Progress
		for _, s := range tc.spans {
			all = append(all, runfile.Progress{Event: runfile.Event{Span: s}})
		}
		if got := stageOf(all); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestTheStatusSaysHowServersJoinThePaths(t *testing.T) {
	t.Parallel()
	cases := map[bench.NFSVersion]struct {
		message string
		paths   int
	}{
		bench.NFSv3:  {"over 2 Direct NFS channels with NFSv3.", 2},
		bench.NFSv40: {"over 2 Direct NFS channels with NFSv4.0.", 2},
		bench.NFSv41: {"over 2 Direct NFS channels with NFSv4.1 (session trunking).", 2},
		bench.PNFS:   {"with NFSv4.1, and 100.0 % of that by layouts to 2 data servers.", 4},
	}
	for version, want := range cases {
		s := finishedScope(t, gen.Export("/vol/oradata", "10.9.1.1", "10.9.2.1"), gen.Repetitions(2), gen.Version(version))
		setStatus(s, nil)
		c := meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionProtocolVerified)
		if c == nil || c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, want.message) {
			t.Errorf("%s: condition %+v", version, c)
		}
		if len(s.b.Status.Paths) != want.paths {
			t.Errorf("%s: paths %+v", version, s.b.Status.Paths)
		}
		for _, p := range s.b.Status.Paths {
			if data := version == bench.PNFS && *p.ReadBytes > 0; data != (p.Role == bench.PathDataServer) {
				t.Errorf("%s: path %s with %d bytes has the role %q", version, p.Path, *p.ReadBytes, p.Role)
			}
		}
	}
}

func TestTheStatusSaysOnWhichNodeAPathEnds(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Export("/vol/oradata", "10.9.1.1", "10.9.2.1"))
	s.result.Plan.Survey = &runfile.Survey{LIFs: []runfile.LIF{{Address: "10.9.2.1", Node: "node-b"}}}
	s.judgement = new(judge.Judge(*s.result))
	setStatus(s, nil)
	for _, p := range s.b.Status.Paths {
		if want := map[string]string{"10.9.2.1": "node-b"}[p.Path]; p.Node != want {
			t.Errorf("path %s ends on node %q, want %q", p.Path, p.Node, want)
		}
	}
}

func TestAPathThatWasLostComesFirstAndTellsItsTime(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Export("/vol/oradata", "10.9.1.1", "10.9.2.1"), gen.Repetitions(2), gen.Clients(2))
	for i := range 2 { // one window is lost altogether, since before it began
		ch := &s.result.Clients[1].Load.Repetitions[i].Channels[1]
		ch.DownMilliseconds = []int64{1 << 40, 1500}[i]
		ch.Reconnects = 2
	}
	s.judgement = nil
	s.judgement = new(judge.Judge(*s.result))
	st := written(t, s)
	window := int64(s.plan.Schedule.DurationSeconds) * 1000
	if p := st.Paths[0]; len(st.Paths) != 4 || p.Client != 1 || p.Path != "10.9.2.1" || *p.DownMilliseconds != window+1500 {
		t.Errorf("the first of %d paths is %+v", len(st.Paths), p)
	}
	for _, p := range st.Paths[1:] {
		if *p.DownMilliseconds != 0 {
			t.Errorf("a path that was there all the time was away for %d ms", *p.DownMilliseconds)
		}
	}
	var found []string
	for _, f := range st.Findings {
		found = append(found, f.Code+": "+f.Message)
	}
	if text := strings.Join(found, "\n"); st.Validity != bench.ValiditySuspect || !strings.Contains(text, "ChannelLost: Path 10.9.2.1 was down for 11.5 s of 20.0 s") {
		t.Errorf("validity %s; findings:\n%s", st.Validity, text)
	}
}

func sizeOf(t *testing.T, st v1alpha1.NFSBenchmarkStatus) int {
	t.Helper()
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}
