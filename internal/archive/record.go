package archive

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Records reads the records of all runs of a suite that are kept, newest first.
// A ConfigMap with the suite's label and without a record is no error; one whose
// record cannot be read is.
func Records(ctx context.Context, c client.Reader, namespace, suite string) ([]runfile.SuiteRun, error) {
	var list corev1.ConfigMapList
	err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelSuite: suite})
	if err != nil {
		return nil, err
	}
	var runs []runfile.SuiteRun
	for i := range list.Items {
		m := &list.Items[i]
		data, ok := m.BinaryData[runfile.KeySuiteRun]
		if !ok {
			continue
		}
		run, err := runfile.ReadSuiteRun(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %q: %w", m.Name, err)
		}
		runs = append(runs, run)
	}
	slices.SortStableFunc(runs, func(a, b runfile.SuiteRun) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Run, a.Run))
	})
	return runs, nil
}
