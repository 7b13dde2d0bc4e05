package runfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// readBack writes a file, holds it against its schema if it has one, and reads it.
func readBack[File any](
	t *testing.T, want File, schema string, write func(io.Writer, File) error, read func(io.Reader) (File, error),
) {
	t.Helper()
	var doc bytes.Buffer
	if err := write(&doc, want); err != nil {
		t.Fatal(err)
	}
	if schema != "" {
		if err := fits(t, schema, doc.Bytes()); err != nil {
			t.Errorf("%T: %v", want, err)
		}
	}
	got, err := read(&doc)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%T: %v (-want +got):\n%s", want, err, diff)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	readBack(t, fullResult(), "result.schema.json", WriteResult, ReadResult)
	packed := func(w io.Writer, r Result) error {
		_, err := WriteResultGzip(w, r)
		return err
	}
	readBack(t, fullResult(), "", packed, ReadResult)
	readBack(t, fullPlan(), "", WritePlan, ReadPlan)
	interfaces := directPlan()
	interfaces.Engine.Channels = []bench.ResolvedPath{{LocalInterface: "net1", Path: "10.0.1.61"}}
	readBack(t, interfaces, "plan.schema.json", WritePlan, ReadPlan)
	plain := func(w io.Writer, run SuiteRun) error { return write(w, "suite run", run) }
	readBack(t, fullSuiteRun(), "suite-run.schema.json", plain, ReadSuiteRun)
	readBack(t, fullSuiteRun(), "", WriteSuiteRunGzip, ReadSuiteRun)
	readBack(t, fullRequest(), "survey-request.schema.json", WriteSurveyRequest, ReadSurveyRequest)
	survey := *fullSurvey()
	for _, survey.Rules = range [][]ExportRule{survey.Rules, {}, nil} { // some, none, and not known
		readBack(t, survey, "survey.schema.json", WriteSurvey, ReadSurvey)
	}
}

// reader is one of the readers of files. A load has no version.
type reader struct {
	read    func(io.Reader) error
	version string
	most    int // bytes
}

func readers() map[string]reader {
	return map[string]reader{
		"plan":           {failure(ReadPlan), PlanVersion, MaxPlanBytes},
		"kept plan":      {failure(ReadKeptPlan), PlanVersion, MaxPlanBytes},
		"result":         {failure(ReadResult), ResultVersion, MaxResultBytes},
		"load":           {failure(ReadLoad), "", MaxResultBytes},
		"suite run":      {failure(ReadSuiteRun), SuiteRunVersion, MaxSuiteRunBytes},
		"stored record":  {failure(readStored), SuiteRunVersion, MaxStoredRunBytes},
		"points":         {failure(ReadSuitePoints), SuitePointsVersion, MaxSuitePointsBytes},
		"survey":         {failure(ReadSurvey), SurveyVersion, MaxSurveyBytes},
		"survey request": {failure(ReadSurveyRequest), SurveyVersion, MaxSurveyBytes},
	}
}

func TestEachReaderRefusesWhatIsNotItsFile(t *testing.T) {
	t.Parallel()
	for name, r := range readers() {
		good := fmt.Sprintf(`{"version":%q,"plan":{"version":%q}}`, r.version, PlanVersion)
		if r.version == "" || name == "plan" { // a plan to run has no unknown fields
			good = fmt.Sprintf(`{"version":%q}`, r.version)
			if name == "load" {
				good = `{"partial":true}`
			}
		}
		newer := strings.Replace(good[:len(good)-1]+`,"tomorrow":1}`, "/v1", "/v9", 1) // the version is told first
		cases := map[string]string{
			good: "", good + "{}": "after", "hello": "invalid character", good[:len(good)/2]: "unexpected e", "\x1f\x8bxxxxxxxxxxxx": "invalid",
		}
		if tomorrow := good[:len(good)-1] + `,"tomorrow":{"a":[1]}}`; name == "plan" {
			cases[tomorrow] = `"tomorrow"` // a misspelt field would run another benchmark
		} else {
			cases[tomorrow] = "" // a newer program may have more fields
		}
		if r.version != "" {
			cases["{}"], cases[newer] = "names no version", fmt.Sprintf("this program reads %q: use the release of nfsbench that wrote the file", r.version)
		}
		if r.most <= MaxSuiteRunBytes {
			cases[strings.Repeat(" ", r.most+1)] = fmt.Sprintf("larger than the %d bytes", r.most)
		}
		for text, says := range cases {
			err := r.read(strings.NewReader(text))
			if (err == nil) != (says == "") || err != nil && !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(says)) {
				t.Errorf("%s: %.60q: %v, want %q", name, text, err, says)
			}
			if other := (*VersionError)(nil); errors.As(err, &other) != (r.version != "" && (text == "{}" || text == newer)) {
				t.Errorf("%s: %.60q: %v: a refusal of the version is not expected, or is missing", name, text, err)
			}
		}
	}
}

func TestReadResultChecksThePlanInside(t *testing.T) {
	t.Parallel()
	_, err := ReadResult(strings.NewReader(`{"version":"nfsbench.io/result/v1","plan":{"version":"x"},"clients":[]}`))
	if err == nil || !strings.Contains(err.Error(), "plan in the result") {
		t.Errorf("error %v", err)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	part := func(index int32, run string) Result {
		r := Result{Version: ResultVersion, Plan: directPlan(), Clients: []ClientResult{{Index: index}}}
		r.Plan.Run.Name = run
		return r
	}
	got, err := Join(part(1, "a"), part(0, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Clients) != 2 || got.Clients[0].Index != 0 || got.Clients[1].Index != 1 {
		t.Errorf("clients = %+v; want them in the order of their index", got.Clients)
	}
	for name, parts := range map[string][]Result{"of nothing": nil, "of two runs": {part(0, "a"), part(1, "b")}, "of one client twice": {part(0, "a"), part(0, "a")}} {
		if _, err := Join(parts...); err == nil {
			t.Errorf("join %s: no error", name)
		}
	}
}

// TestAResultBeyondItsBudgetIsNotDecoded: 65 KB of gzip inflated to 64 MiB of JSON, and these
// to 1.6 GB of structs.
func TestAResultBeyondItsBudgetIsNotDecoded(t *testing.T) {
	head := `{"version":"` + ResultVersion + `","clients":[`
	for name, text := range map[string]string{
		"bytes":   head + strings.Repeat(" ", 64<<20) + "]}",
		"objects": head + strings.Repeat("{},", 300_000) + "{}]}",
		"numbers": head + strings.Repeat("0,", 300_000) + "0]}",
		"lists":   strings.Repeat("[", 300_000),
		"below":   head + `{"load":{"samples":[` + strings.Repeat("{},", 300_000) + `{}]}}]}`,
	} {
		packed := map[string][]byte{ResultKey(0): gzipped(t, text)}
		memory.Bound(t, 40<<20, func() {
			if _, err := ReadPublished(packed, 1, nil); err == nil || !strings.Contains(err.Error(), "that a result may have") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	var out bytes.Buffer
	if _, err := WriteResultGzip(&out, fullResult()); err != nil {
		t.Fatal(err)
	}
	budget := BenchmarkBudget()
	for n := range 2 {
		if _, err := readResult(bytes.NewReader(out.Bytes()), &budget); err != nil {
			t.Fatalf("client %d: %v", n, err)
		}
	}
	if used := BenchmarkBudget().Bytes - budget.Bytes; used < 2*out.Len() || budget.Elements >= BenchmarkBudget().Elements {
		t.Errorf("two clients used %d bytes, and left %d elements", used, budget.Elements)
	}
}

func TestWhatCannotBeJudgedIsLeftOutAndNamed(t *testing.T) {
	packed := func(run string, clients ...ClientResult) []byte {
		var out bytes.Buffer
		if _, err := WriteResultGzip(&out, Result{Plan: Plan{Run: Identity{Name: run}}, Clients: clients}); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	windows := func(n int) ClientResult {
		return ClientResult{Index: -1, Load: Load{Repetitions: make([]Repetition, n)}}
	}
	storage := func(n int) ClientResult {
		return ClientResult{Observed: &Observed{Windows: []ObservedWindow{{Storage: make([]StorageWindow, n)}}}}
	}
	nodes := ClientResult{Observed: &Observed{Storage: []StorageSample{{Nodes: make([]StorageNode, mostInList+1)}}}}
	directNFS := ClientResult{Load: Load{Repetitions: []Repetition{{
		Oracle: &OracleWindow{DirectNFS: DirectNFS{Channels: make([]DNFSChannel, mostInList+1)}},
	}}}}
	plan := &Plan{Run: Identity{Name: "a"}, Schedule: Schedule{Repetitions: 3}}
	for name, c := range map[string]struct {
		part []byte
		why  string // empty: it counts
	}{
		"as planned":         {packed("a", windows(3)), ""},
		"more windows":       {packed("a", windows(4)), "4 windows"},
		"long list":          {packed("a", storage(mostInList)), ""},
		"too long a list":    {packed("a", storage(mostInList+1)), "a list of more than"},
		"too many nodes":     {packed("a", nodes), "a list of more than"},
		"too many channels":  {packed("a", directNFS), "a list of more than"},
		"another run":        {packed("b", windows(3)), "of another run"},
		"two clients":        {packed("a", windows(1), windows(1)), "2 clients"},
		"no client":          {packed("a"), "0 clients"},
		"half a file":        {packed("a", windows(3))[:30], "unexpected EOF"},
		"of another release": {[]byte(`{"version": "nfsbench.io/result/v9"}`), "version"},
	} {
		data := map[string][]byte{ResultKey(0): packed("a", windows(1)), ResultKey(2): c.part}
		got, err := ReadPublished(data, 3, plan)
		if c.why == "" && (err != nil || len(got.Clients) != 2 || got.Clients[1].Index != 2) {
			t.Errorf("%s: %d clients, %v", name, len(got.Clients), err)
		}
		if c.why != "" && (err == nil || len(got.Clients) != 1 || !strings.Contains(err.Error(), ResultKey(2)) || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %d clients, %v", name, len(got.Clients), err)
		}
		if other := (*VersionError)(nil); errors.As(err, &other) != (name == "of another release") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAFileOfTooManyElementsIsNotDecoded: 15 KB of gzip in a ConfigMap, as the record of a
// suite's run, made the manager allocate 6.2 GB.
func TestAFileOfTooManyElementsIsNotDecoded(t *testing.T) {
	for name, file := range map[string]struct {
		read           func(io.Reader) error
		version, start string
		elements       int
	}{
		"plan":           {failure(ReadPlan), PlanVersion, `"engine":{"channels":[`, 300_000},
		"result":         {failure(ReadResult), ResultVersion, `"clients":[`, 4_000_000},
		"load":           {failure(ReadLoad), "", `"samples":[`, 4_000_000},
		"suite run":      {failure(ReadSuiteRun), SuiteRunVersion, `"results":[`, 5_000_000},
		"stored record":  {failure(readStored), SuiteRunVersion, `"results":[`, 5_000_000},
		"points":         {failure(ReadSuitePoints), SuitePointsVersion, `"points":[`, 300_000},
		"survey":         {failure(ReadSurvey), SurveyVersion, `"clients":[`, 20_000},
		"survey request": {failure(ReadSurveyRequest), SurveyVersion, `"source":{"nodes":[`, 20_000},
	} {
		head := `{"version":"` + file.version + `",`
		if file.version == "" {
			head = "{"
		}
		text := head + file.start + strings.Repeat("{},", file.elements) + "{}]" +
			strings.Repeat("}", strings.Count(file.start, "{")+1)
		t.Run(name, func(t *testing.T) {
			memory.Bound(t, 8*len(text), func() {
				if err := file.read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "list elements") {
					t.Error(err)
				}
			})
		})
	}
	var packed bytes.Buffer
	if err := WriteSuiteRunGzip(&packed, SuiteRun{Message: strings.Repeat(" ", MaxStoredRunBytes)}); err != nil {
		t.Fatal(err)
	}
	memory.Bound(t, 8*MaxStoredRunBytes, func() {
		if _, err := readStored(&packed); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("a stored record that unpacks to more than %d bytes: %v", MaxStoredRunBytes, err)
		}
	})
}

// readStored reads a record alone, with the budget of one.
func readStored(r io.Reader) (SuiteRun, error) {
	return ReadSuiteRunWithin(r, &Budget{MaxStoredRunBytes, maxSuiteRunElements})
}

// failure is a reader of which only the error matters.
func failure[File any](read func(io.Reader) (File, error)) func(io.Reader) error {
	return func(r io.Reader) error {
		_, err := read(r)
		return err
	}
}

// A quantity of a plan is parsed when the plan is read, and the writer of a file may be anybody.
func TestANumberThatTakesSecondsIsRefused(t *testing.T) {
	t.Parallel()
	for text, slow := range map[string]bool{
		`"1e-10000000"`: true, `" 1E10000000"`: true, `1e-99999`: true, `".5e+0010000"`: true, `"` + strings.Repeat("1", 1001) + `"`: true,
		`"1e9999"`: false, `"10e9"`: false, `"HISTx1e1234567"`: false, `"1e1234567/A"`: false, `"a-1e12345b-"`: false, `[1,2,3,4,5,6,7]`: false, `"8Ki"`: false,
	} {
		if got := hasSlowNumber([]byte(text)); got != slow {
			t.Errorf("%.30s: %t", text, got)
		}
	}
	var doc bytes.Buffer
	if err := WritePlan(&doc, directPlan()); err != nil {
		t.Fatal(err)
	}
	hostile := strings.Replace(doc.String(), `"fileSize": "4Gi"`, `"fileSize": "1e-10000000"`, 1)
	if _, err := ReadPlan(strings.NewReader(hostile)); err == nil || !strings.Contains(err.Error(), "more digits") {
		t.Errorf("the plan is read: %v", err)
	}
}
