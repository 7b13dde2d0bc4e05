package gitops

import (
	"cmp"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// testCase is an object and what each of the engines makes of it.
type testCase struct {
	name string
	// file is its name in the folder that can be proposed to Argo CD; "" = not there.
	file    string
	object  runtime.Object
	argo    health.HealthStatusCode
	message string        // of Argo CD
	flux    status.Status // by our expressions
	plain   status.Status // by the conditions alone, as kstatus reads them
}

// kinds are the kinds and their cases.
func kinds() map[string][]testCase {
	return map[string][]testCase{"NFSBenchmark": benchmarkCases(), "NFSBenchmarkSuite": suiteCases()}
}

// toUnstructured is the object as an API server would send it.
func toUnstructured(t *testing.T, o runtime.Object) *unstructured.Unstructured {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: m}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if s, ok, _ := unstructured.NestedMap(u.Object, "status"); ok && len(s) == 0 {
		unstructured.RemoveNestedField(u.Object, "status")
	}
	return u
}

// ready returns the conditions of kstatus as the controllers set them: state is InProgress, Failed, Current, or empty
// for an object that is held back on purpose.
func ready(state status.Status, reason, message string) []metav1.Condition {
	at := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	health := pass.Health{Kind: cmp.Or(pass.HealthKind(state), pass.Held), Reason: reason, Message: message}
	table := pass.HealthConditions(func(struct{}, error) pass.Health { return health })
	var out []metav1.Condition
	pass.SetConditions(table, struct{}{}, nil, &out, 2, at)
	return out
}

// benchmark is one of generation 2, which its status describes.
func benchmark(phase v1alpha1.Phase, state status.Status, reason, message string, change ...func(*v1alpha1.NFSBenchmark)) *v1alpha1.NFSBenchmark {
	b := &v1alpha1.NFSBenchmark{
		TypeMeta:   metav1.TypeMeta{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark"},
		ObjectMeta: metav1.ObjectMeta{Name: "oltp", Namespace: "storage", Generation: 2},
		Status: v1alpha1.NFSBenchmarkStatus{
			ObservedGeneration: 2, Phase: phase, Message: message, Conditions: ready(state, reason, message),
		},
	}
	for _, f := range change {
		f(b)
	}
	return b
}

func judged(verdict bench.Verdict, validity bench.Validity) func(*v1alpha1.NFSBenchmark) {
	return func(b *v1alpha1.NFSBenchmark) { b.Status.Verdict, b.Status.Validity = verdict, validity }
}

func suspended(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true }

func stale(b *v1alpha1.NFSBenchmark) { b.Generation = 3 }

func benchmarkCases() []testCase {
	out := append(benchmarksUnderWay(), benchmarksAtTheirEnd()...)
	return append(out, benchmarksOutOfStep()...)
}

func benchmarksUnderWay() []testCase {
	const working = status.InProgressStatus
	row := func(phase v1alpha1.Phase, reason, message, file string) testCase {
		return testCase{
			name: "under way, " + string(phase), file: file, object: benchmark(phase, working, reason, message),
			argo: health.HealthStatusProgressing, message: message, flux: working, plain: working,
		}
	}
	out := []testCase{
		row(v1alpha1.PhasePending, v1alpha1.ReasonPending, "waiting for the claim", ""),
		row(v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, "position 2, behind storage/other", "queued"),
		row(v1alpha1.PhaseProvisioning, v1alpha1.ReasonProvisioning, "making the volume", ""),
		row(v1alpha1.PhasePreparing, v1alpha1.ReasonPreparing, "filling 12 of 64 GiB", ""),
		row(v1alpha1.PhaseRunning, v1alpha1.ReasonRunning, "measuring: 40 %", "running"),
		row(v1alpha1.PhaseCollecting, v1alpha1.ReasonCollecting, "gathering the results", ""),
	}
	// A run that is being stopped by spec.suspend is under way until it is Cancelled.
	stopping := row(v1alpha1.PhaseRunning, v1alpha1.ReasonRunning, "stopping", "")
	stopping.name, stopping.object = "under way, and told to stop", benchmark(v1alpha1.PhaseRunning, working, v1alpha1.ReasonRunning, "stopping", suspended)
	silent := row(v1alpha1.PhaseRunning, v1alpha1.ReasonRunning, "", "")
	silent.name, silent.message = "under way, without a word", "The benchmark is Running"
	return append(out, stopping, silent)
}

func benchmarksAtTheirEnd() []testCase {
	const numbers = "228 MB/s, 97 % of the wire limit"
	row := func(name, file string, verdict bench.Verdict, validity bench.Validity, prefix string) testCase {
		c := testCase{
			name: name, file: file, argo: health.HealthStatusHealthy, message: prefix + numbers, flux: status.CurrentStatus, plain: status.CurrentStatus,
			object: benchmark(v1alpha1.PhaseSucceeded, status.CurrentStatus, v1alpha1.ReasonCompleted, numbers, judged(verdict, validity)),
		}
		if prefix != "" {
			c.argo, c.flux = health.HealthStatusDegraded, status.FailedStatus
		}
		return c
	}
	broken := func(name, file string, phase v1alpha1.Phase, reason, message string) testCase {
		return testCase{
			name: name, file: file, argo: health.HealthStatusDegraded, message: message, flux: status.FailedStatus, plain: status.FailedStatus,
			object: benchmark(phase, status.FailedStatus, reason, message),
		}
	}
	return []testCase{
		row("passed", "passed", bench.VerdictPass, bench.ValidityValid, ""),
		row("passed, with numbers that are suspect", "", bench.VerdictPass, bench.ValiditySuspect, ""),
		row("no thresholds", "", bench.VerdictNotEvaluated, bench.ValidityValid, ""),
		row("neither verdict nor validity", "", "", "", ""),
		row("thresholds missed", "missed", bench.VerdictFail, bench.ValidityValid, "The thresholds were not met: "),
		row("no verdict", "inconclusive", bench.VerdictInconclusive, bench.ValiditySuspect, "No verdict could be reached: "),
		row("numbers that may not be believed", "invalid", bench.VerdictNotEvaluated, bench.ValidityInvalid, "The numbers may not be believed: "),
		broken("failed", "failed", v1alpha1.PhaseFailed, v1alpha1.ReasonMountFailed, "192.0.2.20:/oradata refuses the mount"),
		broken("stopped", "stopped", v1alpha1.PhaseCancelled, runfile.FailureCancelled, "stopped by spec.suspend"),
	}
}

func benchmarksOutOfStep() []testCase {
	const unseen = "The operator has not seen the last change yet"
	wait := func(name, file, message string, o runtime.Object, plain status.Status) testCase {
		return testCase{name: name, file: file, object: o, argo: health.HealthStatusProgressing, message: message, flux: status.InProgressStatus, plain: plain}
	}
	bare := benchmark("", "", "", "")
	bare.Status = v1alpha1.NFSBenchmarkStatus{}
	unobserved := benchmark(v1alpha1.PhaseSucceeded, status.CurrentStatus, v1alpha1.ReasonCompleted, "228 MB/s")
	unobserved.Status.ObservedGeneration = 0
	later := benchmark("Cooling", status.InProgressStatus, v1alpha1.ReasonRunning, "")
	laterReady := benchmark("Archived", status.CurrentStatus, v1alpha1.ReasonCompleted, "228 MB/s")
	laterFailed := benchmark("Abandoned", status.FailedStatus, runfile.FailureTimeout, "given up")
	held := testCase{
		name: "held back", file: "suspended", object: benchmark(v1alpha1.PhasePending, "", v1alpha1.ReasonSuspended, "held back by spec.suspend", suspended),
		argo: health.HealthStatusSuspended, message: "held back by spec.suspend", flux: status.CurrentStatus, plain: status.CurrentStatus,
	}
	return []testCase{
		held,
		// kstatus takes an object without a status for Current: Flux needs the expressions.
		{
			name: "no status", file: "new", object: bare, argo: health.HealthStatusProgressing,
			message: "The operator has not looked at the benchmark yet", flux: status.UnknownStatus, plain: status.CurrentStatus,
		},
		wait("a status of no generation", "", "The operator has not looked at the benchmark yet", unobserved, status.CurrentStatus),
		wait("passed, then changed", "changed", unseen,
			benchmark(v1alpha1.PhaseSucceeded, status.CurrentStatus, v1alpha1.ReasonCompleted, "228 MB/s", judged(bench.VerdictPass, bench.ValidityValid), stale), status.InProgressStatus),
		wait("failed, then changed", "", unseen,
			benchmark(v1alpha1.PhaseFailed, status.FailedStatus, runfile.FailureTimeout, "too late", stale), status.InProgressStatus),
		wait("held back, then changed", "", unseen,
			benchmark(v1alpha1.PhasePending, "", v1alpha1.ReasonSuspended, "held back", suspended, stale), status.InProgressStatus),
		wait("a phase of a later version", "", "The benchmark is Cooling", later, status.InProgressStatus),
		{
			name: "a good end of a later version", object: laterReady, argo: health.HealthStatusHealthy,
			message: "228 MB/s", flux: status.CurrentStatus, plain: status.CurrentStatus,
		},
		{
			name: "a bad end of a later version", object: laterFailed, argo: health.HealthStatusDegraded,
			message: "given up", flux: status.FailedStatus, plain: status.FailedStatus,
		},
	}
}
