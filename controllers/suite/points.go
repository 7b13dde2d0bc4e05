package suite

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// readPoints reads the numbers of a benchmark that succeeded, which the benchmark's
// controller keeps beside the result. The cache may be behind the benchmark's status;
// then the API server has them. A benchmark whose result was deleted or damaged has none,
// and lost says so.
func (r *Reconciler) readPoints(ctx context.Context, b *v1alpha1.NFSBenchmark) (points []runfile.SuitePoint, lost string, err error) {
	ref := b.Status.ResultRef
	if ref == nil {
		return nil, "it has no result", nil
	}
	for _, from := range []client.Reader{r.Client, r.Reader} {
		var cm corev1.ConfigMap
		err := from.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: ref.Name}, &cm)
		if client.IgnoreNotFound(err) != nil {
			return nil, "", fmt.Errorf("read the numbers of benchmark %q: %w", b.Name, err)
		}
		packed, ok := cm.BinaryData[runfile.KeySuitePoints]
		if apierrors.IsNotFound(err) || !ok {
			lost = fmt.Sprintf("ConfigMap %q with its result has no key %s", ref.Name, runfile.KeySuitePoints)
			continue
		}
		file, err := runfile.ReadSuitePoints(bytes.NewReader(packed))
		if err != nil {
			return nil, fmt.Sprintf("ConfigMap %q with its result is damaged: %v", ref.Name, err), nil
		}
		return file.Points, "", nil
	}
	return nil, lost, nil
}
