package judge

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/memory"
)

// FuzzJudge: a result file comes from anywhere; judging it must not panic.
func FuzzJudge(f *testing.F) {
	for _, r := range []runfile.Result{good(f), kernelRun(f), twoNodes("b")(f), pnfsRun(f)} {
		for i := range r.Clients {
			// Small seeds: the fuzzer mutates bytes, and most of a file is samples.
			r.Clients[i].Load.Samples = r.Clients[i].Load.Samples[:12]
			r.Clients[i].Load.Repetitions = r.Clients[i].Load.Repetitions[:1]
			r.Clients[i].Observed.Windows = r.Clients[i].Observed.Windows[:2]
		}
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := runfile.ReadResult(bytes.NewReader(data))
		if err != nil {
			return
		}
		memory.Bound(t, 1<<30+4096*len(data), func() { Judge(r) })
	})
}
