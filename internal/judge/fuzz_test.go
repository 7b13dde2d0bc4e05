package judge

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzJudge: a result file comes from anywhere; judging it must not panic.
func FuzzJudge(f *testing.F) {
	bases := []runfile.Result{good(f), kernelRun(f), twoNodes("b")(f), pnfsRun(f), nativePNFS("10.0.1.61")(f), scanRun(f), ladder(f), experiments.Ramp(), experiments.Kit("NFS"), experiments.Calibrations()[4].Result()}
	for _, r := range bases {
		for i := range r.Clients {
			// Small seeds: the fuzzer mutates bytes, and most of a file is samples.
			l, o := &r.Clients[i].Load, r.Clients[i].Observed
			l.Samples = l.Samples[:min(len(l.Samples), 12)]
			l.Repetitions = l.Repetitions[:min(len(l.Repetitions), 2)]
			o.Windows = o.Windows[:min(len(o.Windows), 2)]
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
		memory.Bound(t, 64<<20+4096*len(data), func() { Judge(r) })
	})
}
