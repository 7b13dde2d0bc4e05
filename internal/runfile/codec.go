package runfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// What a file may weigh at most, decompressed. A plan is a page; a result of
// eight hours and many clients is some tens of MiB.
const (
	MaxPlanBytes   = 1 << 20
	MaxResultBytes = 128 << 20
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
	plain, err := decompressed(r)
	if err != nil {
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	res, err := readOrUpgrade(plain, MaxResultBytes, "result", ResultVersion, resultVersionV1, resultV1.upgraded)
	if err != nil {
		return Result{}, err
	}
	return res, checkVersion("plan in the result", res.Plan.Version, PlanVersion)
}

// ReadLoad reads the loader's LoadFile. It has no version of its own: loader
// and collector of one run come from one image.
func ReadLoad(r io.Reader) (Load, error) {
	var l Load
	data, err := readBounded(r, MaxResultBytes, "load")
	if err != nil {
		return Load{}, err
	}
	if err := decodeStrict(data, "load", &l); err != nil {
		return Load{}, err
	}
	return l, nil
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

func write(w io.Writer, what string, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

func read(r io.Reader, limit int64, what, version string, into any) error {
	data, err := readBounded(r, limit, what)
	if err != nil {
		return err
	}
	if _, err := versionOf(data, what, version); err != nil {
		return err
	}
	return decodeStrict(data, what, into)
}

// readOrUpgrade reads a file of the present version, or of the old one, which upgrade
// turns into the present one.
func readOrUpgrade[New, Old any](r io.Reader, limit int64, what, version, oldVersion string,
	upgrade func(Old) (New, error),
) (New, error) {
	var none, file New
	data, err := readBounded(r, limit, what)
	if err != nil {
		return none, err
	}
	is, err := versionOf(data, what, version, oldVersion)
	if err != nil {
		return none, err
	}
	if is == version {
		if err := decodeStrict(data, what, &file); err != nil {
			return none, err
		}
		return file, nil
	}
	var old Old
	if err := decodeStrict(data, what, &old); err != nil {
		return none, err
	}
	if file, err = upgrade(old); err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	return file, nil
}

// versionOf reads the version of a file, first and by itself: a file of another
// version would otherwise be blamed for a field that is right there.
func versionOf(data []byte, what string, known ...string) (string, error) {
	var head struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	return head.Version, checkVersion(what, head.Version, known...)
}

func readBounded(r io.Reader, limit int64, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes; this is not a %s file", what, limit, what)
	}
	return data, nil
}

func decodeStrict(data []byte, what string, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: there is more after the end of the JSON document", what)
	}
	return nil
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

func decompressed(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	// A file too short to peek at is for the JSON decoder to refuse.
	magic, _ := b.Peek(2)
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	return gzip.NewReader(b)
}
