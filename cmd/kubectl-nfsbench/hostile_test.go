package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// evil sets the title of a terminal, clears it, and turns the text that follows around.
const evil = "x\x1b]0;pwned\x07\r\u009b2J\u202e"

// forged replaces a result or a record in a ConfigMap by one with this text in all strings.
func forged(t *testing.T, m *corev1.ConfigMap, change func(*runfile.SuiteRun)) *corev1.ConfigMap {
	t.Helper()
	for key, data := range m.BinaryData {
		var b bytes.Buffer
		run, err := runfile.ReadSuiteRun(bytes.NewReader(data))
		if err == nil {
			gen.Texts(&run, func(s string) string { return s + evil })
			for i := range run.Results {
				run.Results[i].Phase, run.Results[i].Validity = "Succeeded", "Valid" // or they are not compared
			}
			change(&run)
			err = runfile.WriteSuiteRunGzip(&b, run)
		} else {
			var res runfile.Result
			if res, err = runfile.ReadResult(bytes.NewReader(data)); err == nil {
				gen.Texts(&res, func(s string) string { return s + evil + m.Name }) // the two differ
				_, err = runfile.WriteResultGzip(&b, res)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		m.BinaryData[key] = b.Bytes()
	}
	return m
}

// TestTextOfARecordDoesNotActOnATerminal: whoever writes ConfigMaps writes the records and results that an
// administrator reads.
func TestTextOfARecordDoesNotActOnATerminal(t *testing.T) {
	t.Parallel()
	compared := func(r *runfile.SuiteRun) {
		r.Settings.Compare = &runfile.SuiteCompare{
			SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricMeanLatency}},
			Baseline:          map[string]string{"client" + evil: "nfs" + evil},
		}
	}
	a, ma := finished(t, "a", 1)
	b, mb := finished(t, "b", 1, gen.Kernel)
	s := newShell(t, a, forged(t, ma, nil), b, forged(t, mb, nil),
		suiteOf("s", nil), forged(t, record(t, "s", "s-1", begun(), 1), compared),
		suiteOf("u", nil), forged(t, record(t, "u", "u-1", begun(), 1), func(r *runfile.SuiteRun) { r.Started = begun().Add(time.Hour) }))
	file := filepath.Join(t.TempDir(), "report.txt")
	for _, args := range [][]string{
		{"report", "a"},
		{"report", "a", "-o", "json"},
		{"report", "a", "-o", "html"},
		{"compare", "a", "b"},
		{"compare", "a", "b", "-o", "json"},
		{"report", "suite/s"},
		{"report", "suite/s", "-o", "json"},
		{"report", "suite/s", "-o", "html"},
		{"report", "suite/s@none"},
		{"compare", "suite/s"},
		{"compare", "suite/s", "--baseline", "client" + evil + "=dnfs" + evil},
		{"compare", "suite/s", "--baseline", "none"},
		{"compare", "suite/s", "suite/u"},
		{"compare", "suite/u"},
		{"watch", "suite/s"},
		{"report", "suite/s", "-o", file},
	} {
		o := s.run(args...)
		written, _ := os.ReadFile(file) // of one of them
		text := o.out + o.err + string(written)
		if strings.ContainsAny(text, "\x1b\x07\r\u009b\u202e") || !strings.Contains(text, "]0;pwned") {
			t.Errorf("%q shows %q", args, text)
		}
	}
}
