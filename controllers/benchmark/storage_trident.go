package benchmark

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// tridentState is the state of Trident, as far as the operator can see it.
type tridentState struct {
	runs       bool          // a pod of it is available
	down       string        // why it does not run; empty = it runs, or nobody knows whether it does
	starts     bool          // it is down, and its program runs and is not ready
	patience   time.Duration // how long a run waits for it, in this state
	changed    time.Time     // when this state began; zero = not known
	worksOn    string        // another backend configuration, in words
	worksSince time.Time     // the newest creation time of these configurations: Trident began no earlier
	retries    string        // another that failed and that Trident retries now and then; its status does not show when
}

// work describes what keeps Trident busy, or may; "" if nothing is known.
func (t tridentState) work() string {
	switch {
	case t.worksOn != "":
		return fmt.Sprintf("; Trident works on %s: %s", t.worksOn, slowLIF)
	case t.retries != "":
		return fmt.Sprintf("; Trident may be trying %s again, which failed: %s", t.retries, slowLIF)
	default:
		return ""
	}
}

// holds reports whether a volume waits for other work of Trident, and returns that work or the reason why Trident is
// down. unanswered reports that a call to Trident has no answer.
func (t tridentState) holds(unanswered bool) (held bool, why string) {
	switch {
	case t.down != "":
		return t.starts, "; " + t.down
	case t.worksOn != "" || unanswered:
		return true, t.work()
	default:
		return false, ""
	}
}

// tridentSeen remembers since when Trident has been in a state that has no time in Kubernetes, such as a missing
// Deployment. It is safe for concurrent use.
type tridentSeen struct {
	mu          sync.Mutex
	patience    time.Duration // of that state
	first, last time.Time
}

// since returns when a state with this patience was first seen. A state that was not checked for long counts as new.
func (t *tridentSeen) since(patience time.Duration, now time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.patience != patience || now.Sub(t.last) > volumePatience {
		t.patience, t.first = patience, now
	}
	t.last = now
	return t.first
}

// dates sets the time at which a state was first seen, for a state that has no time in Kubernetes.
func (t *tridentSeen) dates(state tridentState, now time.Time) tridentState {
	if first := t.since(state.patience, now); state.down != "" && !state.starts {
		state.changed = first
	}
	return state
}

// maxBackendConfigs bounds the backend configurations that are read, and maxControllers the pods of Trident's
// controller: it has one, and evicted pods stay.
const maxBackendConfigs, maxControllers = 1000, 500

// lookAtTrident finds what Trident does while it reports nothing.
func (r *Reconciler) lookAtTrident(ctx context.Context, s *scope) (tridentState, error) {
	t, named, err := r.lookAtController(ctx)
	if err != nil {
		return t, err
	}
	list := tridentList(trident.KindBackendConfig)
	err = r.Reader.List(ctx, list, client.InNamespace(r.TridentNamespace), client.Limit(maxBackendConfigs))
	if err != nil && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return t, fmt.Errorf("list TridentBackendConfigs in namespace %q: %w", r.TridentNamespace, err)
	}
	for i := range list.Items {
		u := &list.Items[i]
		c, err := trident.ReadBackendConfig(u)
		if err == nil && c.Taken && !named {
			t.down, t.patience = "", tridentPatience // Trident was there, and its Deployment has another name
		}
		if err != nil || !c.Taken || owned.IsOurs(s.b, u) {
			continue
		}
		what := fmt.Sprintf("TridentBackendConfig %s/%s", u.GetNamespace(), u.GetName())
		if u.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy {
			what = "the backend of another benchmark" // other tenants may not see its name
		}
		switch {
		case c.IsWorkedOn():
			t.worksOn, t.worksSince = cmp.Or(t.worksOn, what), later(t.worksSince, u.GetCreationTimestamp().Time)
		case c.IsFailed():
			t.retries = cmp.Or(t.retries, what)
		}
	}
	return r.tridentSeen.dates(t, s.now), nil
}

// lookAtController finds whether Trident's controller runs. The answer is certain unless the Deployment is missing and
// the operator may not read the pods: the Deployment may then have another name.
func (r *Reconciler) lookAtController(ctx context.Context) (t tridentState, certain bool, err error) {
	t, d := tridentState{patience: tridentPatience}, &appsv1.Deployment{}
	err = r.Reader.Get(ctx, client.ObjectKey{Namespace: r.TridentNamespace, Name: trident.Deployment}, d)
	switch {
	case err == nil:
		t = availability(d)
	case apierrors.IsNotFound(err):
		t.patience = tridentAnswers
		t.down = fmt.Sprintf("there is no Deployment %s in namespace %s", trident.Deployment, r.TridentNamespace)
	case !apierrors.IsForbidden(err):
		return t, false, fmt.Errorf("read Deployment %q: %w", trident.Deployment, err)
	}
	if t.down == "" {
		return t, true, nil
	}
	pods := &corev1.PodList{}
	err = r.Reader.List(ctx, pods, client.InNamespace(r.TridentNamespace), client.Limit(maxControllers),
		client.MatchingLabels{trident.ControllerLabel: trident.Controller})
	switch {
	case apierrors.IsForbidden(err):
		return t, d.Name != "", nil
	case err != nil:
		return t, false, fmt.Errorf("list the pods of Trident in namespace %q: %w", r.TridentNamespace, err)
	}
	return inPods(t, d, pods.Items), true, nil
}

// availability returns whether a Deployment has ready pods, and since when. Its pods are not ready while Trident
// starts.
func availability(d *appsv1.Deployment) tridentState {
	t := tridentState{runs: d.Status.AvailableReplicas > 0, patience: tridentPatience} // scaled to 0 stays Available
	said, refused := "", ""
	for _, c := range d.Status.Conditions {
		about := ": " + strings.TrimSuffix(c.Message, ".")
		switch {
		case c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue:
			t.changed = c.LastTransitionTime.Time
		case c.Type == appsv1.DeploymentAvailable:
			t.runs, t.changed, said = false, c.LastTransitionTime.Time, about
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			refused = about
		}
	}
	switch {
	case t.runs:
	case d.Status.Replicas == 0:
		t.patience = tridentAnswers
		t.down = fmt.Sprintf("Deployment %s/%s has no pod%s%s", d.Namespace, d.Name, said, refused)
	default:
		t.starts = true
		t.down = fmt.Sprintf("no pod of Deployment %s/%s is ready%s: a start takes Trident 15 minutes for each backend "+
			"whose management LIF does not answer", d.Namespace, d.Name, said)
	}
	return t
}

// inPods corrects by its pods the state of a Trident whose Deployment is missing or not available.
func inPods(said tridentState, d *appsv1.Deployment, pods []corev1.Pod) tridentState {
	t := said
	for i := range pods {
		p := &pods[i]
		why, creates := notRunning(p)
		switch {
		case p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed: // another pod replaces it
		case why == "" && d.Name == "":
			return tridentState{runs: true, patience: tridentPatience} // its Deployment has another name
		case why == "":
			return said
		default:
			t.starts, t.patience = false, tridentAnswers
			if creates {
				t.patience = tridentCreates
			}
			t.down = fmt.Sprintf("pod %s/%s does not run: %s", p.Namespace, p.Name, pass.ClipTo(why, maxSaid))
		}
	}
	return t
}

// notRunning returns why Trident's program does not run in a pod; "" if it runs. creates reports that its container is
// being created, which is no fault.
func notRunning(p *corev1.Pod) (why string, creates bool) {
	for _, c := range p.Status.ContainerStatuses {
		w, e := c.State.Waiting, c.State.Terminated
		switch {
		case c.Name != trident.ControllerContainer:
		case w != nil:
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": "), w.Reason == "ContainerCreating"
		case e != nil:
			return fmt.Sprintf("container %s has ended with code %d", c.Name, e.ExitCode), false
		default:
			return "", false
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message, false
		}
	}
	return fmt.Sprintf("container %s is not yet created", trident.ControllerContainer), true
}

// rulesMayGetLost returns a warning about a release of Trident that may lose the export rules by which a volume admits
// the nodes; "" if there is none. A started load keeps the message from its start.
func (r *Reconciler) rulesMayGetLost(ctx context.Context, s *scope) (string, error) {
	was := meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionStorageProvisioned)
	switch {
	case s.b.Status.StartTime != nil && was != nil && was.Status == metav1.ConditionTrue:
		return was.Message, nil
	case !s.attachedOnly:
		return "", nil
	}
	d := &appsv1.Deployment{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.TridentNamespace, Name: trident.Deployment}, d)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Deployment %q: %w", trident.Deployment, err)
	}
	release := trident.LosesRules(d)
	if release == "" {
		return "", nil
	}
	return fmt.Sprintf("Trident %s runs with enableConcurrency and may lose the export rules of the volume when a "+
		"backend changes: use release 26.06.2 or later, or a backend with an exportPolicy", release), nil
}
