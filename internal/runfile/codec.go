package runfile

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
)

// Maximum sizes of decompressed files.
const (
	MaxPlanBytes        = 1 << 20   // a plan is a page
	MaxResultBytes      = 128 << 20 // eight hours and many clients take some tens of MiB
	MaxSuitePointsBytes = 1 << 20   // above a thousand levels of load
	MaxSuiteRunBytes    = 64 << 20  // above 2,048 benchmarks of forty levels of load each
	MaxStoredRunBytes   = 16 << 20  // above a record that fits compressed into a ConfigMap
	// MaxSurveyBytes also bounds requests. The ConfigMap of a survey must have room for the results of all
	// clients.
	MaxSurveyBytes = 64 << 10
)

// Maximum numbers of elements in the lists of a file, at all depths. Two bytes of JSON can become a struct of
// 248 bytes, and two more bytes its place in a growing list.
const (
	maxPlanElements        = 16_384
	maxResultElements      = 2_000_000 // twice the samples of 32 clients, each second for eight hours
	maxSuitePointsElements = 8192
	maxSuiteRunElements    = 150_000 // above 2,048 benchmarks of forty levels of load each
	maxSurveyElements      = 16_384
)

// The keys of files in ConfigMaps.
const (
	KeySuitePoints = "points.json.gz"    // SuitePoints, beside the result
	KeySuiteRun    = "suite-run.json.gz" // a SuiteRun
	KeySurvey      = "survey.json"       // a Survey, beside the plan; also the name of its file
)

// ReadPlan reads one plan file for a run. It returns an error for an unknown field, because a misspelt field
// would silently run another benchmark, for another version (a *VersionError), for bytes after the end, and
// for more than MaxPlanBytes. It does not validate the plan: see Plan.Validate.
func ReadPlan(r io.Reader) (Plan, error) {
	return readPlan(r, refuseUnknown)
}

// ReadKeptPlan reads the plan of an operator that already runs. Like all readers of this package except
// ReadPlan, it ignores unknown fields: a newer program may write the same version with more fields.
func ReadKeptPlan(r io.Reader) (Plan, error) {
	return readPlan(r, ignoreUnknown)
}

func readPlan(r io.Reader, unknown unknownFields) (Plan, error) {
	return read[Plan](r, &Budget{MaxPlanBytes, maxPlanElements}, "plan", PlanVersion, unknown)
}

// ReadResult reads one result file, plain or gzip. It also checks the version of the plan inside.
func ReadResult(r io.Reader) (Result, error) {
	return readResult(r, &Budget{MaxResultBytes, maxResultElements})
}

func readResult(r io.Reader, left *Budget) (Result, error) {
	res, err := readPacked[Result](r, left, "result", ResultVersion)
	if err != nil {
		return Result{}, err
	}
	return res, checkVersion("plan in the result", res.Plan.Version, PlanVersion)
}

// ReadLoad reads the loader's LoadFile. A load has no version, because loader and collector of a run come
// from one image.
func ReadLoad(r io.Reader) (Load, error) {
	return read[Load](r, &Budget{MaxResultBytes, maxResultElements}, "load", "", ignoreUnknown)
}

// ReadSuiteRun reads the record of a suite's run, plain or gzip.
func ReadSuiteRun(r io.Reader) (SuiteRun, error) {
	return readPacked[SuiteRun](r, &Budget{MaxSuiteRunBytes, maxSuiteRunElements}, "suite run", SuiteRunVersion)
}

// ReadSuiteRunWithin reads the record of a suite's run from a ConfigMap, within the budget left. The budget is tighter
// than that of ReadSuiteRun, because anybody who may write a ConfigMap may have written the record.
func ReadSuiteRunWithin(r io.Reader, left *Budget) (SuiteRun, error) {
	return readPacked[SuiteRun](r, left, "suite run", SuiteRunVersion)
}

// ReadSuitePoints reads the numbers of a benchmark, plain or gzip.
func ReadSuitePoints(r io.Reader) (SuitePoints, error) {
	return readPacked[SuitePoints](r, &Budget{MaxSuitePointsBytes, maxSuitePointsElements}, "points", SuitePointsVersion)
}

// ReadSurvey reads one survey. It returns an error for an address that is not an IP address, and for a name
// that does not fit into a status.
func ReadSurvey(r io.Reader) (Survey, error) {
	sv, err := read[Survey](r, &Budget{MaxSurveyBytes, maxSurveyElements}, "survey", SurveyVersion, ignoreUnknown)
	if err != nil {
		return sv, err
	}
	for _, l := range sv.LIFs {
		if _, err := netip.ParseAddr(l.Address); err != nil || max(len(l.Name), len(l.Node)) > 253 {
			return Survey{}, fmt.Errorf("read the survey: LIF %.64q on node %.64q has the address %.64q, which is no IP "+
				"address, or a name of more than 253 bytes", l.Name, l.Node, l.Address)
		}
	}
	return sv, nil
}

// ReadSurveyRequest reads one request. It does not validate the request: see SurveyRequest.Validate.
func ReadSurveyRequest(r io.Reader) (SurveyRequest, error) {
	return read[SurveyRequest](
		r, &Budget{MaxSurveyBytes, maxSurveyElements}, "survey request", SurveyVersion, ignoreUnknown)
}

// WritePlan writes a plan file, indented for people. It sets the version.
func WritePlan(w io.Writer, p Plan) error {
	p.Version = PlanVersion
	return write(w, "plan", p)
}

// WriteResult writes a result file, indented for people. It sets the versions.
func WriteResult(w io.Writer, r Result) error {
	r.Version, r.Plan.Version = ResultVersion, PlanVersion
	return write(w, "result", r)
}

// WriteResultGzip writes a result file for a ConfigMap: compact and compressed. ReadResult reads it. It
// returns the size of the text: its bytes and the elements of its lists, as a reader counts them.
func WriteResultGzip(w io.Writer, r Result) (Budget, error) {
	r.Version, r.Plan.Version = ResultVersion, PlanVersion
	text, err := writePacked(w, "result", r)
	return Budget{Bytes: len(text), Elements: ElementsOf(text)}, err
}

// WriteSuiteRunGzip writes the record of a run for a ConfigMap: compact and compressed. ReadSuiteRun reads
// it. It sets the version.
func WriteSuiteRunGzip(w io.Writer, run SuiteRun) error {
	run.Version = SuiteRunVersion
	_, err := writePacked(w, "suite run", run)
	return err
}

// WriteSuitePoints writes the numbers of a benchmark, compact and compressed. It sets
// the version.
func WriteSuitePoints(w io.Writer, points SuitePoints) error {
	points.Version = SuitePointsVersion
	_, err := writePacked(w, "points", points)
	return err
}

// WriteSurvey writes a survey in one line. It sets the version. It returns an error for more than
// MaxSurveyBytes, because ReadSurvey would refuse the survey.
func WriteSurvey(w io.Writer, s Survey) error {
	s.Version = SurveyVersion
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write survey: %w", err)
	}
	if len(raw) > MaxSurveyBytes {
		return fmt.Errorf("write survey: it needs %d bytes and may have %d", len(raw), MaxSurveyBytes)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("write survey: %w", err)
	}
	return nil
}

// WriteSurveyRequest writes a request, indented for people. It sets the
// version.
func WriteSurveyRequest(w io.Writer, q SurveyRequest) error {
	q.Version = SurveyVersion
	return write(w, "survey request", q)
}

func write(w io.Writer, what string, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// writePacked compresses the text of a file and returns the text.
func writePacked(w io.Writer, what string, v any) (text []byte, err error) {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err == nil {
		text, err = json.Marshal(v)
	}
	if err == nil {
		text = append(text, '\n')
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", what, err)
	}
	return text, nil
}

// readPacked reads a file that may be compressed.
func readPacked[File any](r io.Reader, left *Budget, what, version string) (File, error) {
	plain, err := decompressed(r, what)
	if err != nil {
		var none File
		return none, err
	}
	return read[File](plain, left, what, version, ignoreUnknown)
}

// Budget is the remaining capacity of a reader of files, which subtracts the cost of each file.
type Budget struct {
	Bytes int // decompressed
	// Elements of lists, at all depths: two bytes of JSON can make a whole struct.
	Elements int
}

// BenchmarkBudget returns the budget for the results of all clients of a benchmark. Collectors thin their
// samples to fit into it (see package publish).
func BenchmarkBudget() Budget { return Budget{Bytes: 8 << 20, Elements: 200_000} }

// RecordsBudget returns the budget for the records of all runs of a suite: a few of the largest, or many of
// the usual size.
func RecordsBudget() Budget {
	return Budget{Bytes: 4 * MaxStoredRunBytes, Elements: 4 * maxSuiteRunElements}
}

// ElementsOf counts the elements of all lists in a JSON text, without decoding it.
func ElementsOf(text []byte) int {
	var isList []bool // of the open lists and objects
	n := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '[', '{':
			isList = append(isList, text[i] == '[')
			if text[i] == '[' {
				n++
			}
		case ']', '}':
			isList = isList[:max(len(isList)-1, 0)]
		case ',':
			if len(isList) > 0 && isList[len(isList)-1] {
				n++
			}
		}
	}
	return n
}

// endOfString returns the position of the quote that ends the JSON string at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// slowExponent matches a number whose exponent has five digits or more.
//
//nolint:gochecknoglobals // a constant in all but name
var slowExponent = regexp.MustCompile(`^[+-]?[0-9.]+[eE][+-]?0*[1-9][0-9]{4,}$`)

// hasSlowNumber reports whether a text has a number that takes long to parse as a quantity: one with an
// exponent of five digits, such as "1e-10000000", or of more than a thousand digits.
func hasSlowNumber(text []byte) bool {
	isNumber := func(b byte) bool { return b >= '0' && b <= '9' || b == '.' || b == '+' || b == '-' || b|0x20 == 'e' }
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && isNumber(text[i]) {
			i++
		}
		number := text[start:i]
		if len(number) < len("1e99999") {
			continue
		}
		alone := !isWord(text, start-1) && !isWord(text, i)
		if alone && slowExponent.Match(number) || len(number) > 1000 {
			return true
		}
	}
	return false
}

// isWord reports whether the byte belongs to a word: a histogram or an identifier can contain a number by
// chance.
func isWord(text []byte, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	b := text[at]
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '/' || b == '_'
}

// unknownFields selects how a reader handles unknown fields.
type unknownFields int

const (
	ignoreUnknown unknownFields = iota
	refuseUnknown
)

// read reads a file of one version, or of a kind without version, within the budget left. It reads the
// version first: otherwise it would refuse a file of another version for a field that is valid there.
func read[File any](r io.Reader, left *Budget, what, version string, unknown unknownFields) (File, error) {
	var file, none File
	data, err := io.ReadAll(io.LimitReader(r, int64(left.Bytes)+1))
	elements := ElementsOf(data)
	switch {
	case err != nil:
	case len(data) > left.Bytes || elements > left.Elements:
		err = fmt.Errorf("larger than the %d bytes and %d list elements that a %s may have", left.Bytes, left.Elements, what)
	case hasSlowNumber(data):
		err = fmt.Errorf("a number of more digits than any quantity; this is not a %s file", what)
	default:
		left.Bytes, left.Elements = left.Bytes-len(data), left.Elements-elements
	}
	var head struct {
		Version string `json:"version"`
	}
	if err == nil && version != "" {
		err = json.Unmarshal(data, &head)
	}
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	if version != "" {
		if err := checkVersion(what, head.Version, version); err != nil {
			return none, err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if unknown == refuseUnknown {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(&file); err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return none, fmt.Errorf("read %s: there is more after the end of the JSON document", what)
	}
	return file, nil
}

func checkVersion(what, got, want string) error {
	if got == want {
		return nil
	}
	return &VersionError{What: what, Version: got, Want: want}
}

// VersionError is the error for a file of another version. Another release of nfsbench can read the file, so
// callers keep it and do not read it again and again.
type VersionError struct {
	What    string // plan, result, ...
	Version string // empty: the file has none
	Want    string // the version that this program reads
}

// Error returns the versions and an advice.
func (e *VersionError) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("read %s: it names no version; this program reads %q", e.What, e.Want)
	}
	return fmt.Sprintf("read %s: it has version %q and this program reads %q: use the release of nfsbench that wrote the "+
		"file", e.What, e.Version, e.Want)
}

func decompressed(r io.Reader, what string) (io.Reader, error) {
	b := bufio.NewReader(r)
	// The JSON decoder refuses a file that is too short for Peek.
	if magic, _ := b.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	plain, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return plain, nil
}

// Join makes one result from the results of the clients of one run. It adds nothing up: the clients stand
// side by side, sorted by index. It returns an error for parts of different runs and for a duplicate client.
func Join(parts ...Result) (Result, error) {
	if len(parts) == 0 {
		return Result{}, errors.New("join results: there are none")
	}
	joined := Result{Version: ResultVersion, Plan: parts[0].Plan}
	seen := map[int32]bool{}
	for _, p := range parts {
		if p.Plan.Run != joined.Plan.Run {
			return Result{}, fmt.Errorf("join results: they are of different runs, %+v and %+v", joined.Plan.Run, p.Plan.Run)
		}
		joined.Simulated = joined.Simulated || p.Simulated
		for _, c := range p.Clients {
			if seen[c.Index] {
				return Result{}, fmt.Errorf("join results: client %d comes twice", c.Index)
			}
			seen[c.Index] = true
			joined.Clients = append(joined.Clients, c)
		}
	}
	slices.SortFunc(joined.Clients, func(a, b ClientResult) int { return cmp.Compare(a.Index, b.Index) })
	return joined, nil
}
