package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/statuscheck"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// largeFile has so many cells and levels of load, four repetitions of each, and numbers that no compression
// makes small.
func largeFile(cells, steps int) runfile.SuiteRun {
	const repetitions = 4
	random := rand.New(rand.NewPCG(1, 2))
	f := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: "demo", Run: "demo-1", Started: noon, Phase: "Succeeded",
		Settings: runfile.SuiteSettings{Repetitions: repetitions, Compare: compareOf(gen.Suite("demo").Spec.Compare)},
	}
	for c := range cells {
		name := fmt.Sprintf("cell-with-a-long-name-%d", c)
		f.Cells = append(f.Cells, runfile.SuiteCell{Name: name, Values: []runfile.SuiteAxis{{Axis: "depth", Value: []string{"low", "high"}[c%2]}, {Axis: "n", Value: fmt.Sprint(c / 2)}}})
		for r := range repetitions {
			res := runfile.SuiteResult{
				Cell: name, Repetition: int32(r + 1), Position: int32(len(f.Results) + 1), Benchmark: "demo-1-" + name + fmt.Sprintf("-r%d-0", r), Phase: "Succeeded",
				Started: noon, Ended: noon.Add(time.Duration(random.Int64N(1e12))), Findings: []string{"ShortWindow"}, Validity: "Suspect",
			}
			for s := range steps {
				p := runfile.SuitePoint{Metrics: map[string]float64{}}
				if steps > 1 {
					p.Step = fmt.Sprintf("Users=%d", s)
				}
				for _, m := range []string{"Throughput", "IOPS", "MeanLatency", "P50Latency", "P95Latency", "P99Latency", "StorageLatency", "ClientCPU"} {
					p.Metrics[m] = float64(random.Int64N(1e10))
				}
				res.Points = append(res.Points, p)
			}
			f.Results = append(f.Results, res)
		}
	}
	return f
}

// scopeOf is a pass over a run that has ended with a file.
func scopeOf(f runfile.SuiteRun) *scope {
	s := &scope{suite: gen.Suite("demo"), now: noon.Add(time.Hour), valid: &fact{OK: true, Reason: v1alpha1.ReasonMatrixValid}, matrix: &matrix.Matrix{}}
	one := &run{name: f.Run, file: f, loaded: true, record: &metav1.PartialObjectMetadata{}}
	one.record.Name = archive.RecordName(f.Run)
	one.record.Annotations = map[string]string{
		annotationPhase: f.Phase, annotationStarted: noon.Format(time.RFC3339), annotationEnded: noon.Add(time.Minute).Format(time.RFC3339), annotationVerdict: "Pass",
	}
	s.runs = []*run{one}
	return s
}

func TestTheLargestStatusFitsAndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := largeFile(256, 1)
	f.Ended = noon.Add(time.Minute)
	for i := range 9 {
		f.Results[i].Phase, f.Results[i].Message = "Failed", strings.Repeat("many words ", 40)
	}
	s := scopeOf(f)
	setStatus(s, nil)
	st := s.suite.Status
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	table := compare.Run(compare.Request{Run: new(withCompare(s, s.current()))})
	all := len(table.Cells) + len(table.Comparisons)
	if len(raw) > 30<<10 || st.Left == nil || int(*st.Left) != all-len(st.Cells)-len(st.Comparisons) || len(st.Cells) == 0 || len(st.Comparisons) == 0 {
		t.Errorf("%d bytes, %d cells and %d comparisons of %d, left %v", len(raw), len(st.Cells), len(st.Comparisons), all, st.Left)
	}
	if len(st.Run.Failures) != 8 || st.Run.Failed != 9 {
		t.Errorf("%d failures are told of %d", len(st.Run.Failures), st.Run.Failed)
	}
	for _, p := range statuscheck.SuiteProblems(nil, s.suite) {
		t.Error(p)
	}
}

func TestARecordFitsByLeavingOutWhatMattersLeast(t *testing.T) {
	t.Parallel()
	f := largeFile(16, 3)
	whole, err := pack(f, maxRecordBytes)
	if err != nil {
		t.Fatal(err)
	}
	n := len(whole)
	for limit, want := range map[int]struct{ metrics, findings int }{n: {8, 1}, n - 1: {8, 0}, n * 6 / 10: {2, 0}} {
		raw, err := pack(f, limit)
		if err != nil {
			t.Fatal(err)
		}
		got, err := runfile.ReadSuiteRun(bytes.NewReader(raw))
		if err != nil || len(raw) > limit || len(got.Results) != len(f.Results) {
			t.Fatalf("%d bytes of %d, %d results, %v", len(raw), limit, len(got.Results), err)
		}
		r := got.Results[9]
		if len(r.Points) != 3 || len(r.Points[2].Metrics) != want.metrics || len(r.Findings) != want.findings {
			t.Errorf("%d bytes: %+v", limit, r)
		}
		if v := f.Results[9].Points[2].Metrics["Throughput"]; r.Points[2].Metrics["Throughput"] != v {
			t.Errorf("%d bytes: throughput %v, want %v", limit, r.Points[2].Metrics["Throughput"], v)
		}
	}
	if _, err := pack(f, len(whole)/10); err == nil || !strings.Contains(err.Error(), "use fewer") {
		t.Errorf("what fits by no means: %v", err)
	}
	if len(f.Results[9].Findings) != 1 || len(f.Results[9].Points[2].Metrics) != 8 {
		t.Error("packing changes the record of the pass")
	}
}

func TestNumbersOfALineInTheirUnits(t *testing.T) {
	t.Parallel()
	f := func(v float64) *float64 { return &v }
	for want, l := range map[v1alpha1.ComparisonStatus]compare.Line{
		{Cell: "c", Baseline: "b", Step: "Users=1", Metric: "Throughput", ImpactBasisPoints: -1235, P: "0.028571", Outcome: "Worse"}: {
			Cell: "c", Baseline: "b", Step: "Users=1", Metric: "Throughput", Impact: -0.123456, P: f(0.0285714), Outcome: bench.OutcomeWorse,
		},
		{Metric: "IOPS", P: "0.050000"}: {Metric: "IOPS", Impact: math.NaN(), P: f(0.01), AdjustedP: f(0.05)},
		{Metric: "IOPS"}:                {Metric: "IOPS", Impact: math.Inf(1), AdjustedP: f(math.Inf(1))},
	} {
		if diff := cmp.Diff(want, comparisonStatus(l)); diff != "" {
			t.Error(diff)
		}
	}
	c := cellStatus(compare.Cell{Values: []float64{1, 2}, Median: 1.4, MedianLow: f(1), MedianHigh: f(math.NaN())})
	if c.N != 2 || c.Median != 1 || *c.MedianLow != 1 || c.MedianHigh != nil {
		t.Errorf("%+v", c)
	}
}

func TestPaceOfARun(t *testing.T) {
	t.Parallel()
	f := largeFile(2, 1)
	f.Phase, f.Results = "", f.Results[:2]
	f.Results[0].Ended, f.Results[1].Ended = noon.Add(2*time.Minute), noon.Add(4*time.Minute)
	s := &scope{suite: gen.Suite("demo"), now: noon}
	one := &run{name: "r", file: f, loaded: true, state: workflow.State{Phase: "Running"}, live: []underWay{{name: "x", percent: 50}}}
	s.runs = []*run{one}
	got := runStatus(s, one)
	if got.Percent != 31 || *got.ETASeconds != 990 || got.Current != "x" || got.Finished != 2 || got.Suspect != 2 {
		t.Errorf("%+v, eta %d s", got, *got.ETASeconds) // (8-2.5) times three minutes
	}
	s.suite.Spec.Suspend = true
	if got = runStatus(s, one); got.ETASeconds != nil {
		t.Errorf("nobody knows when a suspended run ends: %d", *got.ETASeconds)
	}
}

func TestABrokenPassKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	f := largeFile(2, 1)
	f.Ended = noon
	s := scopeOf(f)
	setStatus(s, nil)
	was := s.suite.Status.DeepCopy()
	s = &scope{suite: s.suite, now: noon.Add(time.Hour)}
	setStatus(s, errors.New("the API server is away"))
	st := s.suite.Status
	if diff := cmp.Diff(was.Cells, st.Cells); diff != "" || st.Run == nil || st.Phase != was.Phase || !strings.Contains(st.Message, "trying again: the API server is away") {
		t.Errorf("%+v\n%s", st, diff)
	}
	for _, p := range statuscheck.SuiteProblems(nil, s.suite) {
		t.Error(p)
	}
}

func TestTheNameOfARunHangsOnWhatCannotChange(t *testing.T) {
	t.Parallel()
	base := gen.Suite("demo")
	base.UID = "u1"
	change := func(do func(*v1alpha1.NFSBenchmarkSuite)) string {
		s := base.DeepCopy()
		do(s)
		return runName(s)
	}
	same := map[string]func(*v1alpha1.NFSBenchmarkSuite){
		"suspend":  func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Suspend = true },
		"shutdown": func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Shutdown = "Stop" },
		"compare":  func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Compare = nil },
		"resubmit": func(s *v1alpha1.NFSBenchmarkSuite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationResubmit: "1"}
		},
		"status": func(s *v1alpha1.NFSBenchmarkSuite) {
			s.Status.Phase = "Failed"
			s.Generation = 7
			s.ResourceVersion = "9"
		},
	}
	for name, do := range same {
		if got := change(do); got != runName(base) {
			t.Errorf("%s makes another run of it", name)
		}
	}
	others := map[string]func(*v1alpha1.NFSBenchmarkSuite){
		"rerun":    func(s *v1alpha1.NFSBenchmarkSuite) { s.Annotations = map[string]string{v1alpha1.AnnotationRerun: "1"} },
		"uid":      func(s *v1alpha1.NFSBenchmarkSuite) { s.UID = "u2" },
		"template": func(s *v1alpha1.NFSBenchmarkSuite) { s.Spec.Template.Spec.Clients = 2 },
	}
	for name, do := range others {
		if change(do) == runName(base) {
			t.Errorf("%s makes no other run of it", name)
		}
	}
	if n := runName(base); len(n) != len("demo-")+8 || attemptOf(n, n) != 0 || attemptOf(n, n+"-2") != 1 || attemptOf(n, n+"-17") != 16 || attemptOf(n, "x") != 0 {
		t.Errorf("name %s", n)
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	first := m.of("first", 1)
	first.compiled = "x"
	if m.of("first", 1).compiled != "x" {
		t.Error("it forgets at once")
	}
	if c := m.of("first", 2); c.compiled != "" {
		t.Errorf("of another generation it remembers %+v", c)
	}
	for i := range 100 {
		m.of(types.UID(fmt.Sprint(i)), 1)
	}
	if n := m.suites.Len(); n > remembered {
		t.Errorf("it remembers %d suites", n)
	}
}

// wordy refuses each patch with more words than a status takes.
type wordy struct{ matrix.Checker }

func (wordy) CheckPart([]byte) error { return errors.New(strings.Repeat("wrong, ", 1<<20)) }

func TestOfAnInvalidSpecOnlyAFewWordsAreRemembered(t *testing.T) {
	t.Parallel()
	suite := gen.Suite("demo")
	suite.UID = "1"
	r := NewReconciler(Options{Checker: wordy{}})
	for range 2 {
		s := &scope{suite: suite}
		if _, err := r.validate(t.Context(), s); err != nil || s.matrix != nil || s.valid.OK || !strings.Contains(s.valid.Message, "wrong, wrong") {
			t.Fatalf("valid %+v, %v", s.valid, err)
		}
		if known := r.memory.of("1", suite.Generation); known.matrix != nil || len(known.invalid) > 1000 {
			t.Errorf("the matrix %v and %d bytes of an error are remembered", known.matrix, len(known.invalid))
		}
	}
}

func TestARunThatIsOverNamesTheBenchmarkThatStillStops(t *testing.T) {
	t.Parallel()
	s := &scope{suite: &v1alpha1.NFSBenchmarkSuite{}}
	cur := &run{vanished: true, live: []underWay{{name: "demo-one-1"}}}
	if got := progressMessage(s, cur); !strings.HasSuffix(got, "waiting for demo-one-1 to stop") {
		t.Errorf("it says %q", got)
	}
}
