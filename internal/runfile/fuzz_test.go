package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func FuzzReadPlan(f *testing.F) {
	example, err := os.ReadFile(schemaDir + "/example.plan.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(`{"version":"nfsbench.io/plan/v1","workload":{"raw":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, mostOf(t, data, MaxPlanBytes), func() { readPlanTwice(t, data) })
	})
}

func readPlanTwice(t *testing.T, data []byte) {
	t.Helper()
	p, err := ReadPlan(bytes.NewReader(data))
	if err != nil {
		return
	}
	_ = p.Validate()
	var b bytes.Buffer
	if err := WritePlan(&b, p); err != nil {
		t.Fatal(err)
	}
	again, err := ReadPlan(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("what was written is not read: %v", err)
	}
	var b2 bytes.Buffer
	if err := WritePlan(&b2, again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), b2.Bytes()) {
		t.Fatal("reading and writing changes a plan")
	}
}

func FuzzReadResult(f *testing.F) {
	var plain, packed bytes.Buffer
	if err := WriteResult(&plain, fullResult()); err != nil {
		f.Fatal(err)
	}
	if _, err := WriteResultGzip(&packed, fullResult()); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, mostOf(t, data, MaxResultBytes), func() {
			r, err := ReadResult(bytes.NewReader(data))
			if err != nil {
				return
			}
			if err := WriteResult(io.Discard, r); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// FuzzReadLoad reads what a loader left, which may have been killed while it
// wrote.
func FuzzReadLoad(f *testing.F) {
	whole, err := json.Marshal(fullResult().Clients[0].Load)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, mostOf(t, data, MaxResultBytes), func() {
			l, err := ReadLoad(bytes.NewReader(data))
			if err != nil {
				return
			}
			again, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ReadLoad(bytes.NewReader(again)); err != nil {
				t.Fatalf("what was written is not read: %v", err)
			}
		})
	})
}

func FuzzReadSuiteRun(f *testing.F) {
	var plain, packed, points bytes.Buffer
	if err := errors.Join(write(&plain, "run", fullSuiteRun()), WriteSuiteRunGzip(&packed, fullSuiteRun()),
		WriteSuitePoints(&points, SuitePoints{Points: fullSuiteRun().Results[0].Points})); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add(packed.Bytes())
	f.Add(points.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, mostOf(t, data, MaxSuiteRunBytes), func() {
			if run, err := ReadSuiteRun(bytes.NewReader(data)); err == nil {
				if err := write(io.Discard, "suite run", run); err != nil {
					t.Fatal(err)
				}
			}
		})
		memory.Bound(t, mostOf(t, data, MaxStoredRunBytes), func() { _, _ = readStored(bytes.NewReader(data)) })
		memory.Bound(t, mostOf(t, data, MaxSuitePointsBytes), func() { _, _ = ReadSuitePoints(bytes.NewReader(data)) })
	})
}

func FuzzReadSurvey(f *testing.F) {
	for _, file := range []any{fullSurvey(), fullRequest()} {
		seed, err := json.Marshal(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, mostOf(t, data, MaxSurveyBytes), func() {
			if s, err := ReadSurvey(bytes.NewReader(data)); err == nil {
				_ = WriteSurvey(io.Discard, s)
			}
			if q, err := ReadSurveyRequest(bytes.NewReader(data)); err == nil {
				_ = q.Validate()
			}
		})
	})
}

// FuzzReadCapacitySearch reads the value of the key "levels" in a ConfigMap.
func FuzzReadCapacitySearch(f *testing.F) {
	for _, seed := range []string{
		`{"levels":[{"index":1,"round":1,"operationsPerSecond":64,"warmupSeconds":1,"seconds":5}]}`,
		`{"levels":[{"index":1,"round":1,"operationsPerSecond":64,"seconds":5,` +
			`"outcome":{"due":9,"done":9,"bounds":[{"share":0.1,"low":0,"high":1}]}}],"ended":true}`,
		`{"levels":[{"index":1,"round":1,"operationsPerSecond":64,"seconds":5},null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, mostOf(t, data, MaxSearchBytes), func() {
			s, err := ReadCapacitySearch(data)
			if err != nil {
				return
			}
			again, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(again) > MaxSearchBytes {
				return // numbers that others wrote in a shorter form
			}
			if _, err := ReadCapacitySearch(again); err != nil {
				t.Fatalf("what was written is not read: %v", err)
			}
		})
	})
}

// mostOf is the maximum that a reader may allocate for one file: 8 bytes per byte of its text,
// which is copied into growing buffers, and 2 KiB per list element and null, which makes room for
// another struct. A gzip has at most limit bytes of text.
func mostOf(t *testing.T, data []byte, limit int) int {
	t.Helper()
	r, err := decompressed(bytes.NewReader(data), "file")
	if err != nil {
		return 128 << 10 // the windows of gzip
	}
	text, _ := io.ReadAll(io.LimitReader(r, int64(limit)+1)) //nolint:errcheck // what is there counts
	return 128<<10 + 32*len(text) + 2048*(ElementsOf(text)+bytes.Count(text, []byte("null")))
}

func FuzzReadChecks(f *testing.F) {
	f.Add([]byte(`[{"check":"volume","result":"FAIL","message":"read only"}]`))
	f.Add([]byte(`[{"result":"GREAT"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 64 << 10
		memory.Bound(t, most+64*len(data), func() {
			checks, err := ReadChecks(string(data))
			if err == nil && (len(checks) == 0 || len(checks) > maxChecks) {
				t.Errorf("%d checks", len(checks))
			}
		})
	})
}
