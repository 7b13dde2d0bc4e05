package benchmark

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzPublished reads a ConfigMap in which pods published hostile bytes. The
// operator takes what makes sense, unpacks no more than it allows itself, and
// goes on.
func FuzzPublished(f *testing.F) {
	var packed bytes.Buffer
	result := runfile.Result{Clients: []runfile.ClientResult{{Load: runfile.Load{Partial: true}}}}
	if _, err := runfile.WriteResultGzip(&packed, result); err != nil {
		f.Fatal(err)
	}
	f.Add(`{"span":"Measure","repetition":1,"percent":40,"etaSeconds":3,"ready":true}`, packed.Bytes())
	f.Add(`{"percent":-2147483648,"final":true,"failed":true}`, []byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, progress string, result []byte) {
		cm := &corev1.ConfigMap{
			Data:       map[string]string{runfile.ProgressKey(0): progress},
			BinaryData: map[string][]byte{runfile.ResultKey(0): result},
		}
		// 200,000 elements of the largest struct, twice for a slice that grows, and the text.
		memory.Bound(t, 320<<20+512*(len(progress)+len(result)), func() {
			progressOf(cm, 0)
			_, _ = runfile.ReadPublished(cm.BinaryData, 1, &runfile.Plan{Schedule: runfile.Schedule{Repetitions: 1000}})
		})
	})
}
