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
	"slices"
)

// The keys of the files in the ConfigMaps that keep them.
const (
	KeySurvey      = "survey.json" // also the name of the file in a pod
	KeySuitePoints = "points.json.gz"
	KeySuiteRun    = "suite-run.json.gz"
)

// The largest sizes of files, decompressed.
const (
	MaxPlanBytes        = 1 << 20   // a plan is a page
	MaxResultBytes      = 128 << 20 // eight hours and many clients are some tens of MiB
	MaxSuitePointsBytes = 1 << 20   // a thousand levels of load are less
	MaxSuiteRunBytes    = 64 << 20  // 2,048 benchmarks of forty levels of load each are less
	// MaxSurveyBytes bounds a survey or a request for one. The ConfigMap that keeps it
	// has to hold the results of all clients beside it.
	MaxSurveyBytes = 64 << 10
)

// ReadPlan reads one plan file. It is strict: another version, an unknown
// field, bytes after the end or more than MaxPlanBytes are errors, because a
// misspelt field would otherwise silently run another benchmark. It does not
// validate: see Plan.Validate. A plan of version 1 is returned as one of the
// present version.
func ReadPlan(r io.Reader) (Plan, error) {
	return readOrUpgrade(r, MaxPlanBytes, "plan", PlanVersion, planVersionV1, planV1.upgraded)
}

// ReadResult reads one result file, plain or gzip, as strictly as ReadPlan.
// The version of the plan inside is checked too. Where the oranfstab of a plan of
// version 1 cannot be read, the result has no channels: such a run has failed.
func ReadResult(r io.Reader) (Result, error) {
	res, err := readOrUpgrade(r, MaxResultBytes, "result", ResultVersion, resultVersionV1, resultV1.upgraded)
	if err != nil {
		return Result{}, err
	}
	return res, checkVersion("plan in the result", res.Plan.Version, PlanVersion)
}

// ReadLoad reads the loader's LoadFile. It has no version of its own: loader
// and collector of one run come from one image.
func ReadLoad(r io.Reader) (Load, error) {
	data, err := readBounded(r, MaxResultBytes, "load")
	if err != nil {
		return Load{}, err
	}
	return decodeStrict[Load](data, "load")
}

// ReadSuiteRun reads the record of a suite's run, plain or gzip, as strictly as
// ReadPlan.
func ReadSuiteRun(r io.Reader) (SuiteRun, error) {
	return read[SuiteRun](r, MaxSuiteRunBytes, "suite run", SuiteRunVersion)
}

// ReadSuitePoints reads the numbers of a benchmark, plain or gzip, as strictly as
// ReadPlan.
func ReadSuitePoints(r io.Reader) (SuitePoints, error) {
	return read[SuitePoints](r, MaxSuitePointsBytes, "points", SuitePointsVersion)
}

// ReadSurvey reads one survey, as strictly as ReadPlan.
func ReadSurvey(r io.Reader) (Survey, error) {
	return read[Survey](r, MaxSurveyBytes, "survey", SurveyVersion)
}

// ReadSurveyRequest reads one request, as strictly as ReadPlan. It does not
// validate: see SurveyRequest.Validate.
func ReadSurveyRequest(r io.Reader) (SurveyRequest, error) {
	return read[SurveyRequest](r, MaxSurveyBytes, "survey request", SurveyVersion)
}

func read[File any](r io.Reader, limit int64, what, version string) (File, error) {
	return readOrUpgrade(r, limit, what, version, version, func(f File) (File, error) { return f, nil })
}

// readOrUpgrade reads a file, plain or gzip, of the present version, or of the old one,
// which upgrade turns into the present one.
func readOrUpgrade[New, Old any](r io.Reader, limit int64, what, version, oldVersion string,
	upgrade func(Old) (New, error),
) (New, error) {
	var none New
	data, err := readBounded(r, limit, what)
	if err != nil {
		return none, err
	}
	// The version is read first: a file of another version would otherwise be blamed for
	// a field that is right there.
	var head struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	if err := checkVersion(what, head.Version, slices.Compact([]string{version, oldVersion})...); err != nil {
		return none, err
	}
	if head.Version == version {
		return decodeStrict[New](data, what)
	}
	old, err := decodeStrict[Old](data, what)
	if err != nil {
		return none, err
	}
	file, err := upgrade(old)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	return file, nil
}

// readBounded decompresses what is compressed.
func readBounded(r io.Reader, limit int64, what string) ([]byte, error) {
	b := bufio.NewReader(r)
	r = b
	// A file too short to peek at is for the JSON decoder to refuse.
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		r = z
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes; this is not a %s file", what, limit, what)
	}
	return data, nil
}

func decodeStrict[File any](data []byte, what string) (File, error) {
	var file, none File
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return none, fmt.Errorf("read %s: there is more after the end of the JSON document", what)
	}
	return file, nil
}

func checkVersion(what, got string, known ...string) error {
	switch {
	case slices.Contains(known, got):
		return nil
	case got == "":
		return fmt.Errorf("read %s: it names no version; this program reads %q", what, known)
	default:
		return fmt.Errorf("read %s: version %q is not known; this program reads %q: use the nfsbench that wrote the file",
			what, got, known)
	}
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

// WriteResultGzip writes a result file as it is kept in a ConfigMap: compact
// and compressed. ReadResult reads it back.
func WriteResultGzip(w io.Writer, r Result) error {
	r.Version, r.Plan.Version = ResultVersion, PlanVersion
	return writePacked(w, "result", r)
}

// WriteSuiteRun writes the record of a run, indented for people. It sets the
// version.
func WriteSuiteRun(w io.Writer, run SuiteRun) error {
	run.Version = SuiteRunVersion
	return write(w, "suite run", run)
}

// WriteSuiteRunGzip writes the record of a run as it is kept in a ConfigMap:
// compact and compressed. ReadSuiteRun reads it back. It sets the version.
func WriteSuiteRunGzip(w io.Writer, run SuiteRun) error {
	run.Version = SuiteRunVersion
	return writePacked(w, "suite run", run)
}

// WriteSuitePoints writes the numbers of a benchmark, compact and compressed. It sets
// the version.
func WriteSuitePoints(w io.Writer, points SuitePoints) error {
	points.Version = SuitePointsVersion
	return writePacked(w, "points", points)
}

// WriteSurvey writes a survey in one line. It sets the version. It is an error
// when it needs more than MaxSurveyBytes, because ReadSurvey would not take it.
func WriteSurvey(w io.Writer, s Survey) error {
	s.Version = SurveyVersion
	raw, err := json.Marshal(s)
	if err == nil && len(raw) > MaxSurveyBytes {
		err = fmt.Errorf("it needs %d bytes and may have %d", len(raw), MaxSurveyBytes)
	}
	if err == nil {
		_, err = w.Write(raw)
	}
	return writing("survey", err)
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
	return writing(what, enc.Encode(v))
}

func writePacked(w io.Writer, what string, file any) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err == nil {
		err = json.NewEncoder(z).Encode(file)
	}
	if err == nil {
		err = z.Close()
	}
	return writing(what, err)
}

func writing(what string, err error) error {
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// Join makes one result of the results of the clients of one run. Nothing is
// added up: the clients stand side by side, in the order of their index. It
// refuses parts of different runs and a client that comes twice.
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
