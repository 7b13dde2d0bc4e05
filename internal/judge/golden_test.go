package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/kit/golden"
	"github.com/nfsbench/nfsbench/test/simulation"
)

// Each line has the validity, the verdict, a hash of the judgement and of its points as JSON, and the codes. To see
// what differs, let both states of the code write the JSON: JUDGEMENTS=/tmp/before go test ./internal/judge -run Golden.
func TestGoldenJudgements(t *testing.T) {
	t.Parallel()
	results := map[string]runfile.Result{
		"experiment/scan":         experiments.Scan(fourPaths()...),
		"experiment/one path":     experiments.Scan("192.168.4.100"),
		"experiment/rac":          experiments.RAC(600<<30, 200<<30),
		"experiment/kit of NFS":   experiments.Kit("NFS"),
		"experiment/kit of dNFS":  experiments.Kit("DNFS"),
		"experiment/ramp":         experiments.Ramp(),
		"simulation/hour":         simulation.Hour(t, "hour", 1, 0.1),
		"search/of a raw load":    searched(t, storageOf{capacity: 9000, idleUs: 300}, 2, inSearch()...),
		"result/empty":            {},
		"result/in batches":       inBatches(t),
		"result/of native steps":  ladder(t),
		"result/of many troubles": arrayTrouble(t),
	}
	for _, c := range experiments.Calibrations() {
		results[fmt.Sprint("experiment/calibration ", c.Test)] = c.Result()
	}
	for name, c := range findingCases(t) {
		results[name] = c.result(t)
	}
	var lines bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(results)) {
		j := Judge(results[name])
		text, err := json.MarshalIndent(struct {
			Judgement Judgement              `json:"judgement"`
			Points    [][]runfile.SuitePoint `json:"points"`
		}{j, Points(results[name])}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if folder := os.Getenv("JUDGEMENTS"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, "/", "-")+".json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&lines, "%s: %s %s %.8x", name, j.Validity, j.Verdict, sha256.Sum256(text))
		for _, f := range j.Findings {
			fmt.Fprintf(&lines, " %s", f.Code)
		}
		lines.WriteByte('\n')
	}
	golden.Compare(t, "testdata/judgements.golden", lines.Bytes())
}
