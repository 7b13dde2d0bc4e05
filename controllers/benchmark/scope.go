package benchmark

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/controllers/queue"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options configures a Reconciler. All members but those with a default are required.
type Options struct {
	Client   client.Client // cached reads
	Reader   client.Reader // reads past the cache, for what must not be stale
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Images   manifest.Images
	// LeaseNamespace holds the target Leases; empty = the benchmark's own, for an operator that may see one namespace
	// only.
	LeaseNamespace string
	// TridentNamespace is the namespace of Trident and of the backends that the operator makes; empty = "trident". The
	// operator looks up the volumes of claims there first.
	TridentNamespace string
	// NoNetworkPolicies leaves the pods of benchmarks open to connections.
	NoNetworkPolicies bool
	// Policy returns the policy for benchmarks that admission enforces now; nil = policy.Default.
	Policy func(context.Context) (policy.Policy, error)
	Grace  diagnose.Grace
}

// Reconciler reconciles NFSBenchmarks. Between passes it remembers only when each namespace last got a target, or its
// turn to read results, since when Trident has been missing, and which objects it has compared. It is safe for
// concurrent use.
type Reconciler struct {
	Options
	*owned.Objects

	checker     *policy.Checker
	results     resultTurns // of the passes that have results in memory
	queue       *queue.Queue
	tridentSeen tridentSeen
	underWay    []phase
	finished    []phase
	deleted     []phase
}

const (
	// soon is the interval between checks of things that have no watch or that a watch may miss.
	soon = 5 * time.Second
	// leftoverCheck is the interval between checks of what is left behind.
	leftoverCheck = 30 * time.Second
	// busyPause is the interval between attempts to read a result.
	busyPause = time.Second
)

// scope holds the facts of one pass. Phases fill it in; setStatus reads it. Only functions in the files of a concern
// assign the fields of its part; other files call them.
type scope struct {
	b     *v1alpha1.NFSBenchmark
	names manifest.Names
	now   time.Time

	configMaps map[string]*corev1.ConfigMap // of the run, as this pass has read them

	stage   v1alpha1.Phase // how far this pass came
	waiting *fact          // what the pass waits for, in words
	outcome *outcome       // nil: the run goes on
	events  []event

	storagePart
	loadPart
	cleanupPart
}

// storagePart is what is found about the policy, the target and the storage: storage_*.go.
type storagePart struct {
	policy policy.Policy // set until the load starts
	target *plan.Target
	place  *queue.Place
	// heldSince is when the run got its target; zero = not looked at, or the load has begun.
	heldSince time.Time
	gaveBack  bool // the run gave back the target before the load began
	// keepsTarget is set if the run waits and its survey may still move the volume.
	keepsTarget bool
	storage     *fact // about the storage; nil = not looked at
	// tridentSilent is set if Trident has not yet answered a request.
	tridentSilent bool
	attachedOnly  bool                // Trident exports the volume only to the nodes that mount it
	surveying     *fact               // about a survey that has no answer yet
	moving        *runfile.VolumeMove // the volume move under way
	preflight     *fact               // about the answers of the array; nil = not looked at
}

// loadPart is what is found about the plan, the load and its results: load_*.go.
type loadPart struct {
	plan       *runfile.Plan
	planHash   *string // the new status.planHash, "" to forget the plan; nil = no change
	load       *batchv1.Job
	progress   []runfile.Progress
	reports    []*runfile.LevelReport // last report of each client in a search for capacity; nil = none yet
	database   *diagnose.Database     // what was found in the pods; nil = not checked, or no database
	released   bool                   // the clients may start their load
	levels     []byte                 // published levels of a search with several clients; nil = none
	hasResults bool                   // the pass holds Reconciler.results
	result     *runfile.Result
	damaged    error // names the clients whose results cannot be used
	kept       int64 // bytes of the ConfigMap with the result; 0 = not looked at
	judgement  *judge.Judgement
}

// cleanupPart is what is found about what a run leaves: cleanup*.go.
type cleanupPart struct {
	cleanup    *fact // about what the run left; nil = not looked at
	volumeGone bool  // nothing of a Trident volume is left
	loadGone   bool  // no pod of the load is left
}

// outcome describes how the run ended.
type outcome struct {
	phase   v1alpha1.Phase // Succeeded, Failed or Cancelled
	reason  string
	message string
}

type (
	fact  = pass.Fact
	event = pass.Event
	next  = pass.Next
	phase = func(context.Context, *scope) (next, error)
)

// waitFor ends the pass. With a zero duration only a watch starts the next pass.
func waitFor(after time.Duration) next { return next{Stop: true, After: after} }

// wait ends the pass and records the reason.
func (s *scope) wait(reason, message string, after time.Duration) (next, error) {
	s.waiting = &fact{Reason: reason, Message: message}
	return waitFor(after), nil
}

// end records how the run ended.
func (s *scope) end(phase v1alpha1.Phase, reason, message string) (next, error) {
	s.outcome = &outcome{phase: phase, reason: reason, message: message}
	return waitFor(0), nil
}

func (s *scope) fail(reason, message string) (next, error) {
	return s.end(v1alpha1.PhaseFailed, reason, message)
}

// waitForRelease waits for an operator that can read a file of another release, as after a rollback. It deletes nothing
// and does not try again: a new operator looks at every benchmark, and a change of the file wakes this one.
func (s *scope) waitForRelease(err *runfile.VersionError) {
	s.waiting = &fact{Reason: v1alpha1.ReasonOtherRelease, Message: err.Error() + " as the operator, and the benchmark " +
		"goes on"}
	if isFinished(s.b) {
		s.cleanupWaits()
	}
}

// invalid returns an error that only the user can fix. The error ends the run, and becomes the state of the storage if
// the storage is being made ready.
func invalid(reason, format string, args ...any) error {
	return &pass.Invalid{Reason: reason, Err: fmt.Errorf(format, args...)}
}

func (r *Reconciler) writer() pass.Writer { return pass.Writer{Client: r.Client, Recorder: r.Recorder} }

// dropResults lets another pass have results in memory.
func (r *Reconciler) dropResults(s *scope) {
	if s.hasResults {
		r.results.giveBack()
	}
}
