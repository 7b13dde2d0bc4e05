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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Result reads the results of all clients of b from the ConfigMap in status.resultRef. If the run did not succeed,
// the results of some clients may be missing. Errors are sentences that say what to do, or come from the API server.
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

// noResult returns an error that says why b has no result, and when to expect one.
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

// RecordName returns the name of the ConfigMap with the record of a suite's run.
func RecordName(run string) string { return run + "-record" }

// maxRecords bounds the records of a suite that are read: a suite keeps 50 runs, the accepted run and the run under
// way.
const maxRecords = 52

// Records reads the records of the newest runs of a suite, newest first. Any user who may write ConfigMaps may have
// written them, so they share one size budget. The sentences in leftOut name the records that are too old, too large
// or damaged.
func Records(
	ctx context.Context, c client.Reader, suite *v1alpha1.NFSBenchmarkSuite,
) (runs []runfile.SuiteRun, leftOut []string, err error) {
	newest, older, err := newestRecords(ctx, c, suite)
	if err != nil {
		return nil, nil, err
	}
	if older > 0 {
		leftOut = append(leftOut, fmt.Sprintf("%d older records are left out: at most %d are read", older, maxRecords))
	}
	left := runfile.RecordsBudget()
	for _, m := range newest {
		run, err := runfile.ReadSuiteRunWithin(bytes.NewReader(m.BinaryData[runfile.KeySuiteRun]), &left)
		if err != nil {
			leftOut = append(leftOut, fmt.Sprintf("the record in ConfigMap %q is left out: %v", m.Name, err))
			continue
		}
		runs = append(runs, run)
	}
	slices.SortStableFunc(runs, func(a, b runfile.SuiteRun) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Run, a.Run))
	})
	return runs, leftOut, nil
}

// newestRecords returns the newest ConfigMaps with records whose controller is the suite, newest first, and the
// number of older ones. It holds at most two pages of them.
func newestRecords(
	ctx context.Context, c client.Reader, suite *v1alpha1.NFSBenchmarkSuite,
) (newest []corev1.ConfigMap, older int, err error) {
	for next := ""; ; {
		var page corev1.ConfigMapList
		err := c.List(ctx, &page, client.InNamespace(suite.Namespace),
			client.MatchingLabels{v1alpha1.LabelSuite: suite.Name}, client.Limit(maxRecords), client.Continue(next))
		if err != nil {
			return nil, 0, err
		}
		for _, m := range page.Items {
			if _, ok := m.BinaryData[runfile.KeySuiteRun]; ok && metav1.IsControlledBy(&m, suite) {
				newest = append(newest, m)
			}
		}
		slices.SortFunc(newest, func(a, b corev1.ConfigMap) int {
			return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
		})
		older += max(len(newest)-maxRecords, 0)
		newest = slices.Delete(newest, min(len(newest), maxRecords), len(newest))
		if next = page.Continue; next == "" {
			return newest, older, nil
		}
	}
}
