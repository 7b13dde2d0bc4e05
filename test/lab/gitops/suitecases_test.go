package gitops

import (
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

type suiteChange func(*v1alpha1.NFSBenchmarkSuite)

// suite is one of generation 2, which its status describes.
func suite(phase v1alpha1.SuitePhase, state status.Status, reason, message string, change ...suiteChange) *v1alpha1.NFSBenchmarkSuite {
	s := &v1alpha1.NFSBenchmarkSuite{
		TypeMeta:   metav1.TypeMeta{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmarkSuite"},
		ObjectMeta: metav1.ObjectMeta{Name: "weekly", Namespace: "storage", Generation: 2},
		Status: v1alpha1.NFSBenchmarkSuiteStatus{
			ObservedGeneration: 2, Phase: phase, Message: message, Conditions: ready(state, reason, message),
		},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

func verdict(v v1alpha1.SuiteVerdict) suiteChange {
	return func(s *v1alpha1.NFSBenchmarkSuite) { s.Status.Verdict = v }
}

// weekly gives it a schedule.
func weekly(s *v1alpha1.NFSBenchmarkSuite) {
	s.Spec.Schedule = &v1alpha1.Schedule{Cron: "0 2 * * 0", TimeZone: "Etc/UTC"}
}

// ended adds a finished run, which becomes the newest.
func ended(phase v1alpha1.SuitePhase) suiteChange {
	return func(s *v1alpha1.NFSBenchmarkSuite) {
		e := v1alpha1.SuiteHistoryEntry{Run: "weekly-1793498400", Phase: phase}
		s.Status.History = append([]v1alpha1.SuiteHistoryEntry{e}, s.Status.History...)
	}
}

func outdated(s *v1alpha1.NFSBenchmarkSuite) { s.Generation = 3 }

// invalidMatrix is what an edit of a scheduled suite can come to, while a run of
// the spec before is under way.
func invalidMatrix(s *v1alpha1.NFSBenchmarkSuite) {
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionMatrixValid, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidSpec, ObservedGeneration: 2,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)),
	})
}

func suiteCases() []testCase {
	out := append(suitesOnce(), suitesByTheClock()...)
	return append(out, suitesOutOfStep()...)
}

func healthy(name, file, message string, s *v1alpha1.NFSBenchmarkSuite) testCase {
	return testCase{name: name, file: file, object: s, argo: health.HealthStatusHealthy, message: message, flux: status.CurrentStatus, plain: status.CurrentStatus}
}

// bad is a failure to those who ask for the verdict; plain is what its conditions say.
func bad(name, file, message string, s *v1alpha1.NFSBenchmarkSuite, plain status.Status) testCase {
	return testCase{name: name, file: file, object: s, argo: health.HealthStatusDegraded, message: message, flux: status.FailedStatus, plain: plain}
}

func working(name, file, message string, s *v1alpha1.NFSBenchmarkSuite) testCase {
	return testCase{name: name, file: file, object: s, argo: health.HealthStatusProgressing, message: message, flux: status.InProgressStatus, plain: status.InProgressStatus}
}

func paused(name, file, message string, s *v1alpha1.NFSBenchmarkSuite) testCase {
	return testCase{name: name, file: file, object: s, argo: health.HealthStatusSuspended, message: message, flux: status.CurrentStatus, plain: status.CurrentStatus}
}

func suitesOnce() []testCase {
	const answer = "dnfs is better: throughput +6.2 %, p = 0.001"
	run := func(v v1alpha1.SuiteVerdict) *v1alpha1.NFSBenchmarkSuite {
		return suite(v1alpha1.SuiteSucceeded, status.CurrentStatus, v1alpha1.ReasonCompleted, answer, verdict(v), ended(v1alpha1.SuiteSucceeded))
	}
	begin := suite(v1alpha1.SuitePending, status.InProgressStatus, v1alpha1.ReasonArgoSilent, "nobody acts on the workflow")
	going := suite(v1alpha1.SuiteRunning, status.InProgressStatus, v1alpha1.ReasonRunning, "12 of 64 benchmarks", verdict(v1alpha1.SuiteNotEvaluated))
	again := suite(v1alpha1.SuiteRunning, status.InProgressStatus, v1alpha1.ReasonRunning, "1 of 64 benchmarks", verdict(v1alpha1.SuiteFail), ended(v1alpha1.SuiteFailed))
	invalid := suite(v1alpha1.SuitePending, status.FailedStatus, v1alpha1.ReasonInvalidSpec, "cell nfs-16: users must be at least 1", invalidMatrix)
	failed := suite(v1alpha1.SuiteFailed, status.FailedStatus, v1alpha1.ReasonBenchmarkFailed, "2 of 64 benchmarks failed", ended(v1alpha1.SuiteFailed))
	stopped := suite(v1alpha1.SuiteCancelled, status.FailedStatus, runfile.FailureCancelled, "stopped by spec.shutdown", ended(v1alpha1.SuiteCancelled))
	held := suite(v1alpha1.SuiteSuspended, "", v1alpha1.ReasonSuspended, "held back by spec.suspend")
	return []testCase{
		working("once, Pending", "", "nobody acts on the workflow", begin),
		working("once, Running", "running", "12 of 64 benchmarks", going),
		working("once, run again after a failure", "", "1 of 64 benchmarks", again),
		bad("once, not valid", "invalid", "cell nfs-16: users must be at least 1", invalid, status.FailedStatus),
		bad("once, failed", "failed", "2 of 64 benchmarks failed", failed, status.FailedStatus),
		bad("once, stopped", "", "stopped by spec.shutdown", stopped, status.FailedStatus),
		paused("once, held back", "", "held back by spec.suspend", held),
		healthy("once, passed", "passed", answer, run(v1alpha1.SuitePass)),
		healthy("once, no thresholds", "", answer, run(v1alpha1.SuiteNotEvaluated)),
		bad("once, thresholds missed", "missed", "The thresholds were not met: "+answer, run(v1alpha1.SuiteFail), status.CurrentStatus),
		bad("once, no verdict", "", "No verdict could be reached: "+answer, run(v1alpha1.SuiteInconclusive), status.CurrentStatus),
	}
}

func suitesByTheClock() []testCase {
	const next = "next run on Sunday 02:00"
	waits := func(change ...suiteChange) *v1alpha1.NFSBenchmarkSuite {
		return suite(v1alpha1.SuiteScheduled, status.CurrentStatus, v1alpha1.ReasonScheduled, next, append([]suiteChange{weekly}, change...)...)
	}
	fails := func(phase v1alpha1.SuitePhase, reason string, change ...suiteChange) *v1alpha1.NFSBenchmarkSuite {
		return suite(phase, status.FailedStatus, reason, next, append([]suiteChange{weekly}, change...)...)
	}
	runs := func(change ...suiteChange) *v1alpha1.NFSBenchmarkSuite {
		return suite(v1alpha1.SuiteRunning, status.CurrentStatus, v1alpha1.ReasonScheduled, "", append([]suiteChange{weekly}, change...)...)
	}
	held := suite(v1alpha1.SuiteSuspended, "", v1alpha1.ReasonSuspended, "spec.schedule.suspend", weekly, verdict(v1alpha1.SuiteFail), ended(v1alpha1.SuiteSucceeded))
	first := healthy("scheduled, first run", "", "A run is under way", runs())
	second := healthy("scheduled, another run", "scheduled-running", "A run is under way", runs(verdict(v1alpha1.SuitePass), ended(v1alpha1.SuiteSucceeded)))
	worse := bad("scheduled, another run after a regression", "", next,
		fails(v1alpha1.SuiteRunning, "Regressed", verdict(v1alpha1.SuiteRegressed), ended(v1alpha1.SuiteSucceeded)), status.FailedStatus)
	edited := bad("scheduled, a run under way and an edit that is not valid", "", next,
		fails(v1alpha1.SuiteRunning, v1alpha1.ReasonInvalidSpec, invalidMatrix), status.FailedStatus)
	heldWorse := bad("scheduled, suspended after a regression", "", next,
		fails(v1alpha1.SuiteSuspended, "Regressed", verdict(v1alpha1.SuiteRegressed), ended(v1alpha1.SuiteSucceeded)), status.FailedStatus)
	unsaid := bad("scheduled, regressed, of a version that does not stall", "", "Regressed: "+next,
		waits(verdict(v1alpha1.SuiteRegressed), ended(v1alpha1.SuiteSucceeded)), status.CurrentStatus)
	return []testCase{
		healthy("scheduled, no run yet", "scheduled", next, waits()),
		healthy("scheduled, passed", "", next, waits(verdict(v1alpha1.SuitePass), ended(v1alpha1.SuiteSucceeded))),
		healthy("scheduled, passed after a failure", "", next, waits(verdict(v1alpha1.SuitePass), ended(v1alpha1.SuiteFailed), ended(v1alpha1.SuiteSucceeded))),
		bad("scheduled, regressed", "regressed", next, fails(v1alpha1.SuiteScheduled, "Regressed", verdict(v1alpha1.SuiteRegressed), ended(v1alpha1.SuiteSucceeded)), status.FailedStatus),
		bad("scheduled, thresholds missed", "", "The thresholds were not met: "+next, waits(verdict(v1alpha1.SuiteFail), ended(v1alpha1.SuiteSucceeded)), status.CurrentStatus),
		bad("scheduled, no verdict", "inconclusive", "No verdict could be reached: "+next, waits(verdict(v1alpha1.SuiteInconclusive), ended(v1alpha1.SuiteSucceeded)), status.CurrentStatus),
		bad("scheduled, newest run failed", "", "The newest run did not succeed: "+next, waits(ended(v1alpha1.SuiteSucceeded), ended(v1alpha1.SuiteFailed)), status.CurrentStatus),
		// Stopped by its user, or replaced by the next: it says nothing of the storage.
		healthy("scheduled, newest run stopped", "", next, waits(ended(v1alpha1.SuiteCancelled))),
		first, second, worse, edited, heldWorse, unsaid,
		paused("scheduled, suspended", "suspended", "spec.schedule.suspend", held),
	}
}

func suitesOutOfStep() []testCase {
	const unseen = "The operator has not seen the last change yet"
	bare := suite("", "", "", "")
	bare.Status = v1alpha1.NFSBenchmarkSuiteStatus{}
	unobserved := working("a status of no generation", "", "The operator has not looked at the suite yet", suite(v1alpha1.SuiteSucceeded, status.CurrentStatus, v1alpha1.ReasonCompleted, "done"))
	unobserved.object.(*v1alpha1.NFSBenchmarkSuite).Status.ObservedGeneration = 0
	unobserved.plain = status.CurrentStatus
	return []testCase{
		// kstatus takes an object without a status for Current: Flux needs the expressions.
		{
			name: "no status", file: "new", object: bare, argo: health.HealthStatusProgressing,
			message: "The operator has not looked at the suite yet", flux: status.UnknownStatus, plain: status.CurrentStatus,
		},
		unobserved,
		working("passed, then changed", "changed", unseen, suite(v1alpha1.SuiteScheduled, status.CurrentStatus, v1alpha1.ReasonScheduled, "", weekly, verdict(v1alpha1.SuitePass), outdated)),
		working("regressed, then changed", "", unseen, suite(v1alpha1.SuiteScheduled, status.CurrentStatus, v1alpha1.ReasonScheduled, "", weekly, verdict(v1alpha1.SuiteRegressed), outdated)),
		working("suspended, then changed", "", unseen, suite(v1alpha1.SuiteSuspended, "", v1alpha1.ReasonSuspended, "", outdated)),
		working("a phase of a later version", "", "The suite is Pausing", suite("Pausing", status.InProgressStatus, v1alpha1.ReasonRunning, "")),
		healthy("a good end of a later version", "", "archived", suite("Archived", status.CurrentStatus, v1alpha1.ReasonCompleted, "archived")),
		bad("a bad end of a later version", "", "given up", suite("Abandoned", status.FailedStatus, runfile.FailureTimeout, "given up"), status.FailedStatus),
	}
}
