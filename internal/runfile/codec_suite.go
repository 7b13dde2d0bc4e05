package runfile

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// KeySuiteRun is the key of a SuiteRun in the ConfigMap that keeps it.
const KeySuiteRun = "suite-run.json.gz"

// MaxSuiteRunBytes is what the record of a run may weigh, decompressed: 2,048
// benchmarks of forty levels of load each are less.
const MaxSuiteRunBytes = 64 << 20

// ReadSuiteRun reads the record of a suite's run, plain or gzip, as strictly as
// ReadPlan.
func ReadSuiteRun(r io.Reader) (SuiteRun, error) {
	plain, err := decompressed(r)
	if err != nil {
		return SuiteRun{}, fmt.Errorf("read suite run: %w", err)
	}
	var run SuiteRun
	if err := read(plain, MaxSuiteRunBytes, "suite run", SuiteRunVersion, &run); err != nil {
		return SuiteRun{}, err
	}
	return run, nil
}

// WriteSuiteRun writes the record of a run, indented for people. It sets the
// version.
func WriteSuiteRun(w io.Writer, run SuiteRun) error {
	run.Version = SuiteRunVersion
	return write(w, "suite run", run)
}

// WriteSuiteRunGzip writes the record of a run as it is kept in a ConfigMap:
// compact and compressed. ReadSuiteRun reads it back.
func WriteSuiteRunGzip(w io.Writer, run SuiteRun) error {
	run.Version = SuiteRunVersion
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write suite run: %w", err)
	}
	if err := json.NewEncoder(z).Encode(run); err != nil {
		return fmt.Errorf("write suite run: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write suite run: %w", err)
	}
	return nil
}
