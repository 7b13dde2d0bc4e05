package suite

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// addPoints adds the numbers of a benchmark to its result. The benchmark's controller keeps
// them beside the result; the cache may be behind the benchmark's status, and then the API
// server has them. A benchmark that failed has none, for what it measured cannot be
// compared; nor has one whose result was deleted or damaged, and the message says so.
func (r *Reconciler) addPoints(ctx context.Context, b *v1alpha1.NFSBenchmark, to *runfile.SuiteResult) error {
	switch {
	case !isSuccess(*to):
		return nil
	case b.Status.ResultRef == nil:
		to.Message = "it has no result"
		return nil
	}
	name := b.Status.ResultRef.Name
	for _, from := range []client.Reader{r.Client, r.Reader} {
		var cm corev1.ConfigMap
		if err := from.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, &cm); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read the numbers of benchmark %q: %w", b.Name, err)
		}
		packed, ok := cm.BinaryData[runfile.KeySuitePoints]
		if !ok {
			continue
		}
		file, err := runfile.ReadSuitePoints(bytes.NewReader(packed))
		if err != nil {
			to.Message = fmt.Sprintf("ConfigMap %q with its result is damaged: %v", name, err)
		}
		to.Points = file.Points
		return nil
	}
	to.Message = fmt.Sprintf("ConfigMap %q with its result has no key %s", name, runfile.KeySuitePoints)
	return nil
}
