package archive

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

// kindConfigMap is the one kind of object that results are kept in.
const kindConfigMap = "ConfigMap"

// Result reads the result that status.resultRef of b names, of all its clients.
// The errors are sentences that say what to do, or those of the API server.
func Result(ctx context.Context, c client.Reader, b *v1alpha1.NFSBenchmark) (runfile.Result, error) {
	ref := b.Status.ResultRef
	if ref == nil {
		return runfile.Result{}, noResult(b)
	}
	m, err := configMap(ctx, c, b.Namespace, *ref)
	if err != nil {
		return runfile.Result{}, err
	}
	if len(ref.Keys) == 0 {
		return runfile.Result{}, fmt.Errorf("status.resultRef of %q names no key of ConfigMap %q", b.Name, ref.Name)
	}
	parts := make([]runfile.Result, 0, len(ref.Keys))
	for _, key := range ref.Keys {
		data, err := valueOf(m, key)
		if err != nil {
			return runfile.Result{}, err
		}
		part, err := runfile.ReadResult(bytes.NewReader(data))
		if err != nil {
			return runfile.Result{}, fmt.Errorf("key %q of ConfigMap %q: %w", key, m.Name, err)
		}
		parts = append(parts, part)
	}
	return runfile.Join(parts...)
}

// noResult says why there is none, and when there will be.
func noResult(b *v1alpha1.NFSBenchmark) error {
	switch phase := b.Status.Phase; {
	case !phase.IsFinished() && phase != "":
		return fmt.Errorf("%q has no result yet: it is %s; 'kubectl nfsbench watch %s' waits for its end", b.Name, phase, b.Name)
	case phase == "":
		return fmt.Errorf("%q has no status yet: is the operator running in this cluster?", b.Name)
	default:
		return fmt.Errorf("%q ended as %s without a result: %s", b.Name, phase, b.Status.Message)
	}
}

func configMap(ctx context.Context, c client.Reader, namespace string, ref v1alpha1.ResultReference) (*corev1.ConfigMap, error) {
	if ref.Kind != kindConfigMap {
		return nil, fmt.Errorf("status.resultRef is of kind %q, which this program cannot read: use the plugin of the operator's version", ref.Kind)
	}
	var m corev1.ConfigMap
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &m)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ConfigMap %q with the result is gone: somebody deleted it, and only the status is left", ref.Name)
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}

func valueOf(m *corev1.ConfigMap, key string) ([]byte, error) {
	if data, ok := m.BinaryData[key]; ok {
		return data, nil
	}
	if text, ok := m.Data[key]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("ConfigMap %q has no key %q: it was changed after the run", m.Name, key)
}
