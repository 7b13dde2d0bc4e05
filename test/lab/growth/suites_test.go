package growth

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/workflow"
	"github.com/nfsbench/nfsbench/test/gen"
)

const (
	suitesOver     = 7 // have ended, when the manager is started again
	suitesUnderWay = 5
	suiteCells     = 5
	suiteRounds    = 9  // the benchmarks of a suite are 45
	suiteDone      = 20 // of one that is under way
)

// levels are those of the ramp in nfs-vs-dnfs.
func levels() []int32 {
	var out []int32
	for users := range int32(16) {
		out = append(out, users+1)
	}
	return out
}

// ramp is a benchmark with a status as large as they come: sixteen levels of load.
func ramp(name string) *v1alpha1.NFSBenchmark {
	array := targetOf(name) + ".growth.example"
	return gen.Benchmark(name, gen.In(namespace), gen.Export("/vol/oradata", "a."+array, "b."+array),
		gen.SLOB(bench.SLOBRandomRead, levels()...), gen.Repetitions(2))
}

// suiteOf makes five cells out of such a benchmark.
func suiteOf(name string) *v1alpha1.NFSBenchmarkSuite {
	s := &v1alpha1.NFSBenchmarkSuite{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.NFSBenchmarkSuiteSpec{
			Template:    v1alpha1.BenchmarkTemplate{Spec: ramp(name + "-0").Spec},
			Axes:        []v1alpha1.Axis{{Name: "unit"}},
			Repetitions: suiteRounds,
			Compare:     &v1alpha1.Compare{Baseline: map[string]v1alpha1.ShortName{"unit": "u0"}},
		},
	}
	for i := range suiteCells {
		patch := fmt.Appendf(nil, `{"workload":{"slob":{"workUnit":%d}}}`, 64+i)
		s.Spec.Axes[0].Values = append(s.Spec.Axes[0].Values, v1alpha1.AxisValue{Name: "u" + strconv.Itoa(i), Patch: &runtime.RawExtension{Raw: patch}})
	}
	return s
}

// suiteRun is a run that the manager has handed to Argo, which the test plays.
type suiteRun struct{ suite, name string }

// name of a benchmark of a run.
func (s suiteRun) benchmark(slot int) string {
	return fmt.Sprintf("%s-u%d-r%d-0", s.name, slot%suiteCells, slot/suiteCells+1)
}

// labels of a benchmark of a run.
func (s suiteRun) labels(slot int) map[string]string {
	return map[string]string{
		v1alpha1.LabelSuite: s.suite, v1alpha1.LabelSuiteRun: s.name, v1alpha1.LabelCell: "u" + strconv.Itoa(slot%suiteCells),
		v1alpha1.LabelRepetition: strconv.Itoa(slot/suiteCells + 1), v1alpha1.LabelPosition: strconv.Itoa(slot + 1), v1alpha1.LabelAttempt: "0",
	}
}

// startSuites applies n suites and waits for their Workflows.
func (w *world) startSuites(n int) []suiteRun {
	w.Helper()
	for i := range n {
		if err := w.k.c.Create(w.Context(), suiteOf(fmt.Sprintf("g%02d", i))); err != nil {
			w.Fatalf("create suite: %v", err)
		}
	}
	var runs []suiteRun
	w.Cleanup(func() {
		if w.Failed() && len(runs) < n {
			w.Logf("the first suite: %+v", w.suite("g00").Status)
		}
	})
	eventually(w.T, startPatient, "all suites have a workflow", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(workflow.Workflow)
		if err := w.k.c.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
			return false
		}
		runs = nil
		for _, wf := range list.Items {
			runs = append(runs, suiteRun{suite: wf.GetLabels()[v1alpha1.LabelSuite], name: wf.GetName()})
		}
		return len(runs) == n
	})
	return runs
}

// suite reads one; an empty one where it cannot be read.
func (w *world) suite(name string) v1alpha1.NFSBenchmarkSuite {
	w.Helper()
	var s v1alpha1.NFSBenchmarkSuite
	if err := w.k.c.Get(context.WithoutCancel(w.Context()), client.ObjectKey{Namespace: namespace, Name: name}, &s); err != nil {
		w.Logf("read suite %s: %v", name, err)
	}
	return s
}

// playArgo writes the status of a Workflow as Argo's controller would.
func (w *world) playArgo(r suiteRun, phase string) {
	w.Helper()
	status := map[string]any{"phase": phase, "startedAt": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
	if phase == "Succeeded" {
		status["finishedAt"] = time.Now().UTC().Format(time.RFC3339)
	}
	wf := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	wf.SetGroupVersionKind(workflow.Workflow)
	raw, err := wf.MarshalJSON()
	if err != nil {
		w.Fatal(err)
	}
	wf.SetNamespace(namespace)
	wf.SetName(r.name)
	if err := w.k.c.Patch(w.Context(), wf, client.RawPatch(types.MergePatchType, raw)); err != nil {
		w.Fatalf("play Argo for %s: %v", r.name, err)
	}
}

// wantTables waits for the comparisons of the suites that have ended.
func (w *world) wantTables(runs []suiteRun) {
	w.Helper()
	var last v1alpha1.NFSBenchmarkSuite
	eventually(w.T, patience, "the suites that have ended have their tables", func() bool {
		for _, r := range runs {
			last = w.suite(r.suite)
			if last.Status.Phase != v1alpha1.SuiteSucceeded {
				return false
			}
		}
		return true
	})
	// Four cells, sixteen levels, two metrics. The status has room for some of them.
	if st := last.Status; len(st.Comparisons) == 0 || !strings.Contains(st.Message, "128 comparisons") {
		w.Errorf("suite %s has %d comparisons: %s", last.Name, len(st.Comparisons), st.Message)
	}
}
