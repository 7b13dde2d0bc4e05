package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// databaseContainer is the native sidecar with the database, which serves the main container.
const databaseContainer = "database"

const (
	// databaseMargin is the time after its own limit in which the container of a database may report that it was not
	// ready: it knows the reason better than the operator.
	databaseMargin = time.Minute
	// lastWordOfLoad bounds the time in which a load notices that its database is gone. The load then reports and saves
	// more than the operator could.
	lastWordOfLoad = 30 * time.Second
)

// Database is the state of the database in a pod.
type Database struct {
	Running bool      // its container runs; the database may not accept connections yet
	Since   time.Time // of Running
	Ready   bool      // its startup probe has passed
}

// DatabaseOf returns the state of the database in the pods of a run; nil if there is none, or not yet.
func DatabaseOf(pods []corev1.Pod) *Database {
	for i := range pods {
		st := databaseStatus(&pods[i])
		if st == nil {
			continue
		}
		d := &Database{Ready: st.Started != nil && *st.Started}
		if r := st.State.Running; r != nil {
			d.Running, d.Since = true, r.StartedAt.Time
		}
		return d
	}
	return nil
}

// DatabaseEnd explains why the database of a run has ended; nil if it has not ended, or was stopped on purpose.
func DatabaseEnd(pods []corev1.Pod) *Trouble {
	for i := range pods {
		st := databaseStatus(&pods[i])
		if st == nil {
			continue
		}
		if e := ending(st); e != nil && (e.ExitCode != 0 || st.RestartCount > 0) {
			return databaseEnded(&pods[i], e, 0)
		}
	}
	return nil
}

func databaseStatus(p *corev1.Pod) *corev1.ContainerStatus {
	for i := range p.Status.InitContainerStatuses {
		if st := &p.Status.InitContainerStatuses[i]; st.Name == databaseContainer {
			return st
		}
	}
	return nil
}

func hasDatabase(p *corev1.Pod) bool {
	return databaseStatus(p) != nil ||
		slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == databaseContainer })
}

// ending returns the last termination of a container; nil if it never ended.
func ending(st *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if e := st.State.Terminated; e != nil {
		return e
	}
	return st.LastTerminationState.Terminated
}

// database checks the database of a pod whose load has not ended. The kubelet restarts an ended database, but that does
// not help: a load is over once it has lost its database, and a database whose creation failed would fail again.
func database(p *corev1.Pod, now time.Time, grace Grace) *Trouble {
	st := databaseStatus(p)
	if st == nil || p.DeletionTimestamp != nil || loadEnded(p) {
		return nil
	}
	if e := ending(st); e != nil {
		t := databaseEnded(p, e, grace.Database)
		t.Fatal = !started(p) || now.Sub(e.FinishedAt.Time) > lastWordOfLoad
		return t
	}
	up := st.Started != nil && *st.Started || started(p)
	if r := st.State.Running; r != nil && !up && now.Sub(r.StartedAt.Time) > grace.Database+databaseMargin {
		return &Trouble{Reason: runfile.FailureDatabaseNotReady, Fatal: true, Message: notReady(p, grace.Database)}
	}
	return nil
}

// loadEnded reports whether the containers that use the database have ended: the database is then told to stop.
func loadEnded(p *corev1.Pod) bool {
	all := p.Status.ContainerStatuses
	return len(all) > 0 && !slices.ContainsFunc(all,
		func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil })
}

func databaseEnded(p *corev1.Pod, e *corev1.ContainerStateTerminated, limit time.Duration) *Trouble {
	t := &Trouble{Reason: runfile.FailureDatabaseEnded}
	f := failureIn(e.Message)
	switch {
	case e.Reason == "OOMKilled":
		t.Message = fmt.Sprintf("the database in pod %s was killed because it took more memory than it may: raise "+
			"spec.database.container.resources.limits.memory, from which SGA and PGA are derived, or lower those in "+
			"spec.database.container.parameters", p.Name)
	case f != nil:
		t.Reason, t.Message = f.Code, oneLine(f.Message)
	case limit > 0 && !started(p) && e.FinishedAt.Sub(e.StartedAt.Time) >= limit:
		t.Reason, t.Message = runfile.FailureDatabaseNotReady, notReady(p, limit)+said(e)
	default:
		t.Message = fmt.Sprintf("the container of the database in pod %s ended with exit code %d%s: to look at its log, run "+
			"the benchmark again with spec.cleanup.onFailure Retain", p.Name, e.ExitCode, said(e))
	}
	return t
}

func notReady(p *corev1.Pod, limit time.Duration) string {
	return fmt.Sprintf("the database in pod %s was not ready within %s: raise "+
		"spec.database.container.startupTimeoutSeconds if it only needs more time, or run the benchmark again with "+
		"spec.cleanup.onFailure Retain to look at its log", p.Name, limit)
}

// said returns the end of a log, as a suffix for a message.
func said(e *corev1.ContainerStateTerminated) string {
	if last := oneLine(lastWords(e.Message)); last != "" {
		return " (" + last + ")"
	}
	return ""
}

// failureIn returns the failure that the program around the database wrote as its last line: "nfsbench:
// OradismNotSetuid: a sentence"; nil if there is none.
func failureIn(message string) *runfile.Failure {
	all := lastLine.FindAllStringSubmatch(message, -1)
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	return &runfile.Failure{Code: last[1], Message: strings.TrimSpace(last[2])}
}

// lastLine matches only codes that can be the reason of a condition.
var lastLine = regexp.MustCompile(`(?m)^nfsbench: ([A-Z][A-Za-z0-9]{2,127}): (\S.*)$`) //nolint:gochecknoglobals // a constant in all but name
