package benchmark

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// graceFor returns how long the troubles of a run may last. The spec of a database sets the time that its start may
// take.
func (r *Reconciler) graceFor(b *v1alpha1.NFSBenchmark) diagnose.Grace {
	g := r.Grace
	if d := plan.Container(b); d != nil {
		g.Database = time.Duration(d.StartupTimeoutSeconds) * time.Second
	}
	return g
}

// databaseStarts reports whether the container of the database runs and the database is not ready yet.
func (s *scope) databaseStarts() bool {
	return s.database != nil && s.database.Running && !s.database.Ready
}

// startMessage describes what the pods of a run do before their first progress.
func (s *scope) startMessage() string {
	switch {
	case s.databaseStarts():
		what := "creating or opening the database" // an earlier run may have created it
		if st := s.b.Spec.Storage; st.Trident != nil || st.Embedded != nil {
			what = "creating the database"
		}
		const step = 10 * time.Second // the message changes only at each step
		return fmt.Sprintf("%s, %s", what, max(s.now.Sub(s.database.Since), 0).Truncate(step))
	case plan.Container(s.b) != nil && (s.database == nil || !s.database.Ready):
		return "starting the pod of the database: its image is pulled and its volume mounted"
	default:
		return "starting the load pods"
	}
}

// deadlineMessage returns the reason and the message of a run that exceeded its time.
func (s *scope) deadlineMessage() (reason, message string) {
	seconds := s.plan.Schedule.TimeoutSeconds
	if d := plan.Container(s.b); d != nil && !isTrue(s.b, v1alpha1.ConditionDatabaseReady) {
		return runfile.FailureDatabaseNotReady, fmt.Sprintf(
			"the database was not ready when the time of the run was over, %d s for the load and %d s to start: raise "+
				"spec.database.container.startupTimeoutSeconds, or run the benchmark again with spec.cleanup.onFailure Retain to "+
				"look at its log", seconds, d.StartupTimeoutSeconds)
	}
	return runfile.FailureTimeout, fmt.Sprintf("the run took longer than %d s: raise spec.run.timeoutSeconds, or make "+
		"files or durations smaller", seconds) + s.notReported()
}

// explainDatabase reads from the pods why a load lost its database: only Kubernetes knows, for example, that the
// database took too much memory.
func (r *Reconciler) explainDatabase(ctx context.Context, s *scope, f *runfile.Failure) (next, error) {
	pods, err := r.Pods(ctx, s.b, manifest.ComponentLoad)
	if err != nil {
		return next{}, err
	}
	if t := diagnose.DatabaseEnd(pods); t != nil {
		return s.fail(t.Reason, t.Message+"; "+f.Message)
	}
	if slices.ContainsFunc(pods, isActive) {
		return s.wait(v1alpha1.ReasonCollecting, "waiting for the pod of a database that ended to end", soon)
	}
	return s.fail(f.Code, f.Message)
}

// reportKeptDatabase returns a message about the database files that outlive the run; "" if none do. On an export or a
// claim the files stay, so that the next run need not create the database. An event repeats the message once, because
// the status is deleted with the benchmark.
func (s *scope) reportKeptDatabase() string {
	gone := storageGoes(s.b)
	if plan.Container(s.b) == nil || s.b.Status.StartTime == nil || gone {
		return ""
	}
	stays := fmt.Sprintf("the database stays in %s, in the folders %s and dbconfig: the next benchmark there opens it "+
		"instead of creating one; if none will come, delete them by hand",
		exportsOf(s.b), plan.InstanceOf(plan.Container(s.b)).SID)
	if !isCleanedUp(s.b) {
		s.events = append(s.events, event{Reason: v1alpha1.ReasonRetained, Action: "CleanUp", Note: stays})
	}
	return stays
}

// reportKeptSchemas reports the schemas that may be left in a shared database because the loader ended before it could
// drop them.
func (r *Reconciler) reportKeptSchemas(ctx context.Context, s *scope) (next, error) {
	w := s.b.Spec.Workload.SLOB
	if w == nil || w.Kit != nil || isCleanedUp(s.b) {
		return next{}, nil
	}
	left, err := r.filesMayBeLeft(ctx, s)
	if err != nil || !left || s.plan.Keep {
		return next{}, err
	}
	return s.reportLeftover(fmt.Sprintf(
		"schemas of the load may be left in database %s: the next run with them drops them or goes on with them; else "+
			"drop the users NFSBENCH1 to NFSBENCH%d that have a table NFSBENCH_MARKER, and tablespace %s if nothing else is "+
			"in it",
		plan.External(s.b).ConnectString, max(w.Schemas, 1), w.Tablespace))
}

// isOfDatabase reports whether a run ended because its database accepts no connections or differs from its spec.
func isOfDatabase(reason string) bool {
	return slices.Contains([]string{
		runfile.FailureDatabaseNotReady, runfile.FailureDatabaseEnded, runfile.FailurePassword, runfile.FailurePrivilege,
		runfile.FailureOracleClient, runfile.FailureOradism, runfile.FailureDirectNFSMissing, runfile.FailureParameter,
		runfile.FailureAsyncIO, runfile.FailureTimedStatistics,
	}, reason)
}

// isAfterConnect reports whether a loader has reached its database. The last steps do not show
// that: a failed load goes through them too.
func isAfterConnect(span string) bool {
	return span != "" && span != runfile.SpanConnect && span != runfile.SpanDone && span != runfile.SpanClean
}

func isTrue(b *v1alpha1.NFSBenchmark, kind string) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, kind)
}
