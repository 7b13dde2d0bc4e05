package runfile

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// KeySuitePoints is the key of SuitePoints in the ConfigMap with a result.
const KeySuitePoints = "points.json.gz"

// MaxSuitePointsBytes bounds SuitePoints, decompressed: a thousand levels of load are
// less.
const MaxSuitePointsBytes = 1 << 20

// KeySuiteRun is the key of a SuiteRun in the ConfigMap that keeps it.
const KeySuiteRun = "suite-run.json.gz"

// MaxSuiteRunBytes is what the record of a run may weigh, decompressed: 2,048
// benchmarks of forty levels of load each are less.
const MaxSuiteRunBytes = 64 << 20

// ReadSuiteRun reads the record of a suite's run, plain or gzip, as strictly as
// ReadPlan.
func ReadSuiteRun(r io.Reader) (SuiteRun, error) {
	return readPacked[SuiteRun](r, MaxSuiteRunBytes, "suite run", SuiteRunVersion)
}

// ReadSuitePoints reads the numbers of a benchmark, plain or gzip, as strictly as
// ReadPlan.
func ReadSuitePoints(r io.Reader) (SuitePoints, error) {
	return readPacked[SuitePoints](r, MaxSuitePointsBytes, "points", SuitePointsVersion)
}

func readPacked[File any](r io.Reader, limit int64, what, version string) (File, error) {
	var file, none File
	plain, err := decompressed(r)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	if err := read(plain, limit, what, version, &file); err != nil {
		return none, err
	}
	return file, nil
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

func writePacked(w io.Writer, what string, file any) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	if err := json.NewEncoder(z).Encode(file); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
