package suite

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// gathered is what the benchmarks of a run say.
type gathered struct {
	results   []runfile.SuiteResult // finished ones, by position
	live      []underWay
	retried   int32
	simulated bool
}

// addPoints adds the numbers of a benchmark to its result.
type addPoints func(*v1alpha1.NFSBenchmark, *runfile.SuiteResult) error

// gather adds what benchmarks say to the results that are known already: the
// benchmarks of those may be gone. Of several attempts the first that succeeded
// counts, otherwise the newest; one under way that comes after a failure undoes it.
// It adds the numbers of a benchmark once; its error is that of add.
func gather(old []runfile.SuiteResult, all []v1alpha1.NFSBenchmark, add addPoints) (gathered, error) {
	best := map[workflow.Key]runfile.SuiteResult{}
	for _, r := range old {
		best[keyOf(r)] = r
	}
	g, seen := gathered{}, map[workflow.Key]int32{}
	for i := range all {
		b := &all[i]
		r, ok := resultOf(b)
		if !ok {
			continue
		}
		seen[keyOf(r)]++
		switch is, known := best[keyOf(r)]; {
		case isUnderWay(b):
			g.live = append(g.live, liveOf(b, r))
		case !b.Status.Phase.IsFinished():
		case !known || isBetter(r, is):
			if err := add(b, &r); err != nil {
				return gathered{}, err
			}
			best[keyOf(r)] = r
			g.simulated = g.simulated || isSimulated(b)
		}
	}
	for _, n := range seen {
		g.retried += n - 1
	}
	maps.DeleteFunc(best, func(key workflow.Key, r runfile.SuiteResult) bool {
		return slices.ContainsFunc(g.live, func(l underWay) bool { return l.key == key && !isSuccess(r) && l.attempt > r.Attempt })
	})
	for _, r := range best {
		g.results = append(g.results, r)
	}
	slices.SortFunc(g.results, func(a, b runfile.SuiteResult) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.Benchmark, b.Benchmark))
	})
	slices.SortFunc(g.live, func(a, b underWay) int { return strings.Compare(a.name, b.name) })
	return g, nil
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func keyOf(r runfile.SuiteResult) workflow.Key {
	return workflow.Key{Cell: r.Cell, Repetition: r.Repetition}
}

// isBetter says whether a counts rather than b.
func isBetter(a, b runfile.SuiteResult) bool {
	if isSuccess(a) != isSuccess(b) {
		return isSuccess(a)
	}
	if isSuccess(a) {
		return a.Attempt < b.Attempt
	}
	return a.Attempt >= b.Attempt
}

// resultOf reads a benchmark; false when its labels do not say which one it is.
func resultOf(b *v1alpha1.NFSBenchmark) (runfile.SuiteResult, bool) {
	repetition, ok := number(b, v1alpha1.LabelRepetition)
	cell := b.Labels[v1alpha1.LabelCell]
	if !ok || cell == "" {
		return runfile.SuiteResult{}, false
	}
	position, _ := number(b, v1alpha1.LabelPosition)
	attempt, _ := number(b, v1alpha1.LabelAttempt)
	st := b.Status
	r := runfile.SuiteResult{
		Cell: cell, Repetition: repetition, Position: position, Attempt: attempt, Benchmark: b.Name,
		Phase: string(st.Phase), Verdict: string(st.Verdict), Validity: string(st.Validity),
		Started: timeOf(st.StartTime), Ended: timeOf(st.CompletionTime),
	}
	for _, f := range st.Findings {
		r.Findings = append(r.Findings, f.Code)
	}
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionSucceeded); c != nil && !isSuccess(r) {
		r.Reason, r.Message = c.Reason, statussize.ClipTo(st.Message, 256)
	}
	return r, true
}

func number(b *v1alpha1.NFSBenchmark, label string) (int32, bool) {
	n, err := strconv.ParseInt(b.Labels[label], 10, 32)
	return int32(n), err == nil
}

// isUnderWay says that a benchmark still does something, or will: one that is
// being deleted or was held back before it began does not.
func isUnderWay(b *v1alpha1.NFSBenchmark) bool {
	held := b.Spec.Suspend && b.Status.StartTime == nil && isHeldBack(b)
	return !b.Status.Phase.IsFinished() && b.DeletionTimestamp.IsZero() && !held
}

func isHeldBack(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
	return c != nil && c.Reason == v1alpha1.ReasonSuspended && c.ObservedGeneration == b.Generation
}

func liveOf(b *v1alpha1.NFSBenchmark, r runfile.SuiteResult) underWay {
	l := underWay{name: b.Name, key: keyOf(r), attempt: r.Attempt, suspended: b.Spec.Suspend, started: r.Started}
	if b.Status.Progress != nil {
		l.percent = b.Status.Progress.Percent
	}
	if q := b.Status.Queue; q != nil {
		l.waits = "it waits for " + q.Behind
	}
	return l
}

// isSimulated says that a stand-in took part: the numbers are not of real storage.
func isSimulated(b *v1alpha1.NFSBenchmark) bool {
	return slices.ContainsFunc(b.Status.Findings, func(f v1alpha1.Finding) bool {
		return f.Code == "SimulatedStorage" || f.Code == "SimulatedDatabase"
	})
}
