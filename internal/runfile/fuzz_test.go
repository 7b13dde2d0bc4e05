package runfile

import (
	"bytes"
	"encoding/json"
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
	f.Add([]byte(`{"version":"nfsbench.io/plan/v2","workload":{"raw":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		memory.Bound(t, 4096*len(data), func() { readPlanTwice(t, data) })
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
	if err := WriteResultGzip(&packed, fullResult()); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		// A packed file may grow to MaxResultBytes, read into a buffer that doubles.
		memory.Bound(t, 5*MaxResultBytes+512*len(data), func() {
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
		memory.Bound(t, 512*len(data), func() {
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
