package benchmark

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// setDatabaseReady says whether the database takes connections and is configured
// as declared. It is for runs that have one.
func setDatabaseReady(s *scope) {
	kind := v1alpha1.ConditionDatabaseReady
	switch {
	case s.b.Spec.Database == nil:
	case s.outcome != nil:
		databaseAtEnd(s)
	case isTrue(s.b, kind):
	case s.database != nil && s.database.Ready, slices.ContainsFunc(s.progress, isConnected):
		setCondition(s.b, kind, metav1.ConditionTrue, v1alpha1.ReasonDatabaseReady, "")
	case s.databaseStarts():
		setCondition(s.b, kind, metav1.ConditionUnknown, v1alpha1.ReasonDatabaseStarting, "the health script of the database does not say yet that it is ready; status.message tells for how long")
	case meta.FindStatusCondition(s.b.Status.Conditions, kind) == nil:
		setCondition(s.b, kind, metav1.ConditionUnknown, v1alpha1.ReasonPending, "")
	}
}

// databaseAtEnd settles the condition with the end of the run: a database that
// was ready stays so, unless the run ended because of it.
func databaseAtEnd(s *scope) {
	kind, o := v1alpha1.ConditionDatabaseReady, s.outcome
	wasReady := isTrue(s.b, kind) || s.result != nil && slices.ContainsFunc(s.result.Clients, hasConnected)
	switch {
	case o.phase == v1alpha1.PhaseSucceeded:
		setCondition(s.b, kind, metav1.ConditionTrue, v1alpha1.ReasonDatabaseReady, "")
	case isOfDatabase(o.reason) || !wasReady && o.phase == v1alpha1.PhaseFailed:
		setCondition(s.b, kind, metav1.ConditionFalse, o.reason, o.message)
	case wasReady:
		setCondition(s.b, kind, metav1.ConditionTrue, v1alpha1.ReasonDatabaseReady, "")
	default:
		setCondition(s.b, kind, metav1.ConditionFalse, o.reason, "the run ended before its database was ready")
	}
}

// isOfDatabase says that a run ended because its database takes no connections,
// or is not as it was declared.
func isOfDatabase(reason string) bool {
	return slices.Contains([]string{
		runfile.FailureDatabaseNotReady, runfile.FailureDatabaseEnded, runfile.FailurePassword, runfile.FailurePrivilege,
		runfile.FailureOracleClient, runfile.FailureOradism, runfile.FailureDirectNFSMissing, runfile.FailureParameter,
		runfile.FailureAsyncIO, runfile.FailureTimedStatistics,
	}, reason)
}

// isConnected says that a loader has come beyond reaching the database. The last
// step says nothing, for a load that failed comes to it, too.
func isConnected(p runfile.Progress) bool { return !p.Failed && isAfterConnect(p.Span) }

func hasConnected(c runfile.ClientResult) bool {
	return slices.ContainsFunc(c.Load.Spans, func(sp runfile.Span) bool { return isAfterConnect(sp.Kind) })
}

func isAfterConnect(span string) bool {
	return span != "" && span != runfile.SpanConnect && span != runfile.SpanDone && span != runfile.SpanClean
}

func isTrue(b *v1alpha1.NFSBenchmark, kind string) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, kind)
}
