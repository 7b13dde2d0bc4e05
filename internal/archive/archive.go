// Package archive reads back what runs have left in a cluster: the result of a
// benchmark, and the records of a suite's runs. It only reads.
package archive

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Result reads the result that status.resultRef of b names, of all its clients. Of a run
// that did not succeed some may have published none. The errors are sentences that say
// what to do, or those of the API server.
func Result(ctx context.Context, c client.Reader, b *v1alpha1.NFSBenchmark) (runfile.Result, error) {
	ref := b.Status.ResultRef
	if ref == nil {
		return runfile.Result{}, noResult(b)
	}
	var m corev1.ConfigMap
	switch err := c.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: ref.Name}, &m); {
	case apierrors.IsNotFound(err):
		return runfile.Result{}, fmt.Errorf("ConfigMap %q with the result is gone: somebody deleted it, and only the "+
			"status is left", ref.Name)
	case err != nil:
		return runfile.Result{}, err
	}
	res, err := runfile.ReadPublished(m.BinaryData, b.Spec.Clients, nil)
	if err != nil {
		return runfile.Result{}, fmt.Errorf("ConfigMap %q: %w", m.Name, err)
	}
	for i := range max(b.Spec.Clients, 1) {
		_, ok := m.BinaryData[runfile.ResultKey(i)]
		if !ok && (len(res.Clients) == 0 || b.Status.Phase == v1alpha1.PhaseSucceeded) {
			return runfile.Result{}, fmt.Errorf("ConfigMap %q has no key %q: it was changed after the run", m.Name,
				runfile.ResultKey(i))
		}
	}
	return res, nil
}

// noResult says why there is none, and when there will be.
func noResult(b *v1alpha1.NFSBenchmark) error {
	switch phase := b.Status.Phase; {
	case !phase.IsFinished() && phase != "":
		return fmt.Errorf("%q has no result yet: it is %s; 'kubectl nfsbench watch %s' waits for its end", b.Name,
			phase, b.Name)
	case phase == "":
		return fmt.Errorf("%q has no status yet: is the operator running in this cluster?", b.Name)
	default:
		return fmt.Errorf("%q ended as %s without a result: %s", b.Name, phase, b.Status.Message)
	}
}

// RecordName is the name of the ConfigMap with the record of a suite's run.
func RecordName(run string) string { return run + "-record" }

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
		run, err := runfile.ReadStoredSuiteRun(bytes.NewReader(data))
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
