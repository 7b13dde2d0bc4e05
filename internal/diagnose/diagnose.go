// Package diagnose decides what the state of a run's pods means for the run: go on, wait, or give up, and why.
//
// It is pure: it takes pods and events and returns one Trouble. Kubernetes retries forever where a benchmark should
// fail quickly, so each kind of trouble has a grace period, after which it counts as permanent.
package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Grace holds how long each kind of trouble may last.
type Grace struct {
	ImagePull  time.Duration
	Scheduling time.Duration // long: an autoscaler may bring a node
	Mount      time.Duration
	Secret     time.Duration // short: users create the Secret before the benchmark
	Refused    time.Duration // pods that the cluster refuses to create
	Start      time.Duration // created but not running, for any other reason
	Database   time.Duration // until the database of a pod must be ready; only for pods with a database
}

// DefaultGrace returns the grace periods for clusters whose registry and nodes work.
func DefaultGrace() Grace {
	return Grace{
		ImagePull: 30 * time.Second, Scheduling: 5 * time.Minute, Mount: 30 * time.Second,
		Secret: 10 * time.Second, Refused: 30 * time.Second, Start: 5 * time.Minute,
	}
}

// Trouble describes a problem of a pod.
type Trouble struct {
	Reason  string // a condition reason
	Message string // what is wrong and what to do
	Fatal   bool   // the grace period is over
}

func trouble(reason string, fatal bool, format string, args ...any) *Trouble {
	return &Trouble{Reason: reason, Fatal: fatal, Message: fmt.Sprintf(format, args...)}
}

// Pods returns the most serious trouble of a run's pods, or nil. Events are the warnings about these pods; only mount
// problems need them.
func Pods(pods []corev1.Pod, events []corev1.Event, now time.Time, grace Grace) *Trouble {
	var worst *Trouble
	for i := range pods {
		t := onePod(&pods[i], events, now, grace)
		if t.weight() > worst.weight() {
			worst = t
		}
	}
	return worst
}

// weight orders troubles by how well they explain the end of a run. If one pod of a Job fails, Kubernetes stops the
// others: a stopped pod does not explain the failure.
func (t *Trouble) weight() int {
	switch {
	case t == nil:
		return 0
	case !t.Fatal:
		return 1
	case t.Reason == runfile.FailureCancelled:
		return 2
	default:
		return 3
	}
}

// NoPods explains why a Job has no pods although it should. Events are the warnings about the Job, the latest first:
// only in events does the Job controller report that a quota or an admission rule refuses the pods.
func NoPods(job *batchv1.Job, events []corev1.Event, now time.Time, grace Grace) *Trouble {
	age := now.Sub(job.CreationTimestamp.Time)
	for _, e := range events {
		if e.InvolvedObject.UID != job.UID || e.Reason != "FailedCreate" {
			continue
		}
		return &Trouble{Reason: v1alpha1.ReasonPodRefused, Fatal: age > grace.Refused, Message: Refusal(job, e.Message)}
	}
	if age <= grace.Start {
		return nil
	}
	return trouble(runfile.FailureTimeout, true, "job %s has no pods after %s: %s", job.Name, grace.Start,
		cmp.Or(lastSaid(events, job.UID), noEvent))
}

// lookAgain tells the user how to keep pods, which are gone when the message is read.
const lookAgain = ": to look at the pod, run the benchmark again with spec.cleanup.onFailure Retain"

// noEvent takes the place of a warning.
const noEvent = "no event says why"

// lastSaid returns the last warning about an object, empty if there is none, from a list with the latest event first.
// The message quotes it, because the event is gone when the message is read.
func lastSaid(events []corev1.Event, about types.UID) string {
	for _, e := range events {
		if e.InvolvedObject.UID == about {
			return oneLine(e.Reason + ": " + e.Message)
		}
	}
	return ""
}

// podSecurity matches the API server's refusal of a pod by a Pod Security Standard.
var podSecurity = regexp.MustCompile(`violates PodSecurity "(restricted|baseline)`) //nolint:gochecknoglobals // a constant in all but name

// Refusal explains why the cluster refuses the pods of a Job, and names the fix if it is known.
func Refusal(job *batchv1.Job, message string) string {
	said := fmt.Sprintf("the cluster refuses the pods of job %s: %s", job.Name, oneLine(message))
	m := podSecurity.FindStringSubmatch(message)
	if m == nil || !slices.ContainsFunc(
		slices.Concat(job.Spec.Template.Spec.InitContainers, job.Spec.Template.Spec.Containers),
		func(c corev1.Container) bool { return c.Name == databaseContainer }) {
		return said
	}
	level := "baseline"
	if m[1] == level {
		level = "privileged" // only the user's own settings need more than baseline
	}
	return fmt.Sprintf("namespace %s enforces the Pod Security Standard %s, which this database cannot keep: %s; label "+
		"it (kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=%s), or use another namespace (%s)",
		job.Namespace, m[1], strings.Join(needs(message), "; "), job.Namespace, level, said)
}

// needs returns the privileges that a pod with a database needs, and why.
func needs(message string) []string {
	var out []string
	if strings.Contains(message, `"`+databaseContainer+`"`) {
		out = append(out, "oradism of Direct NFS is setuid root, and the image of Oracle Free restarts its database by "+
			"su, which need allowPrivilegeEscalation: without it Direct NFS falls back to the kernel unnoticed")
	}
	if strings.Contains(message, `"permissions"`) {
		out = append(out, "init container permissions gives the volume to user oracle as root, which "+
			"spec.database.container.setPermissions Disabled leaves out where it is his already")
	}
	if len(out) == 0 {
		out = append(out, "see what the cluster says")
	}
	return out
}

func onePod(p *corev1.Pod, events []corev1.Event, now time.Time, grace Grace) *Trouble {
	age := now.Sub(p.CreationTimestamp.Time)
	if t := disrupted(p); t != nil {
		return t
	}
	if p.Status.Phase == corev1.PodFailed {
		return failed(p)
	}
	if t := unschedulable(p, age, grace); t != nil {
		return t
	}
	if t := database(p, now, grace); t != nil {
		return t
	}
	if t := waiting(p, age, grace); t != nil {
		return t
	}
	if p.Status.Phase != corev1.PodPending {
		return nil
	}
	if t := mounting(p, events, age, grace); t != nil {
		return t
	}
	// A pod is Pending until its database is ready, and database images are large. The startup limit of the database
	// covers a running database.
	limit := grace.Start
	if hasDatabase(p) {
		limit += grace.Database + databaseMargin
	}
	if age <= limit {
		return nil
	}
	return trouble(runfile.FailureTimeout, true, "pod %s has not started within %s: %s", p.Name, limit,
		cmp.Or(lastSaid(events, p.UID), noEvent+lookAgain))
}

// Disruption returns what took a pod from a run under way; nil if nothing did. Kubernetes marks such pods before it
// ends them.
func Disruption(pods []corev1.Pod) *Trouble {
	for i := range pods {
		if t := disrupted(&pods[i]); t != nil {
			return t
		}
	}
	return nil
}

func disrupted(p *corev1.Pod) *Trouble {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue {
			continue
		}
		return trouble(v1alpha1.ReasonPodLost, true, "pod %s was taken from node %s while it ran: %s (%s)", p.Name,
			p.Spec.NodeName, advice(c.Reason), oneLine(c.Reason+": "+c.Message))
	}
	return nil
}

// advice explains a reason of DisruptionTarget, and what to do.
func advice(reason string) string {
	const again = "run the benchmark again, under another name, "
	switch reason {
	case "EvictionByEvictionAPI":
		return "it was evicted, as kubectl drain and autoscalers do; " + again +
			"when the node is back or with spec.pods.nodeSelector on one that stays"
	case corev1.PodReasonPreemptionByScheduler:
		return "a pod of higher priority took its place; " + again + "on a node with room"
	case "DeletionByTaintManager":
		return "its node was tainted, because it is down or was put out of service; " + again +
			"when the node is back or on another"
	case "DeletionByPodGC":
		return "its node is gone; " + again + "on another"
	case corev1.PodReasonTerminationByKubelet:
		return "its node shut down or was short of memory or disk; " + again + "when that is fixed"
	default:
		return again + "when the cause is gone"
	}
}

func failed(p *corev1.Pod) *Trouble {
	if p.Status.Reason != "" { // Evicted, NodeLost, DeadlineExceeded, ...
		return trouble(v1alpha1.ReasonPodLost, true, "pod %s was ended by Kubernetes: %s: %s", p.Name, p.Status.Reason,
			oneLine(p.Status.Message))
	}
	for _, s := range slices.Concat(p.Status.ContainerStatuses, p.Status.InitContainerStatuses) {
		e := s.State.Terminated
		if e == nil || e.ExitCode == 0 {
			continue
		}
		if f := failureIn(e.Message); f != nil && e.Reason != "OOMKilled" {
			return &Trouble{Reason: f.Code, Fatal: true, Message: oneLine(f.Message)}
		}
		return &Trouble{Reason: v1alpha1.ReasonContainerFailed, Fatal: true, Message: exitMessage(p.Name, s.Name, e)}
	}
	return trouble(v1alpha1.ReasonContainerFailed, true, "pod %s failed, and no container says why%s", p.Name, lookAgain)
}

// loadContainer is the main container of a load pod.
const loadContainer = "loader"

func exitMessage(pod, container string, e *corev1.ContainerStateTerminated) string {
	why := fmt.Sprintf("exit code %d", e.ExitCode)
	const signalled = 128 // shells and runtimes add the number of the signal
	if e.ExitCode > signalled {
		why += fmt.Sprintf(" (killed by signal %d)", e.ExitCode-signalled)
	}
	if e.Reason == "OOMKilled" {
		why = "out of memory: raise spec.pods.resources.limits.memory, or lower jobs and depth"
	}
	msg := fmt.Sprintf("container %s of pod %s ended: %s", container, pod, why)
	if last := oneLine(lastWords(e.Message)); last != "" {
		msg += ": " + last
	}
	return msg
}

// lastWords returns the end of a container's log without the loader's progress and without INFO lines. The progress is
// one JSON object per line, of which the first may be cut off at its start.
func lastWords(log string) string {
	var words []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "{") && !strings.HasSuffix(line, "}") && !strings.Contains(line, " level=INFO ") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

func unschedulable(p *corev1.Pod, age time.Duration, grace Grace) *Trouble {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return trouble(v1alpha1.ReasonUnschedulable, age > grace.Scheduling, "no node takes pod %s: %s", p.Name,
				oneLine(c.Message))
		}
	}
	return nil
}

// waiting checks containers that Kubernetes does not start.
func waiting(p *corev1.Pod, age time.Duration, grace Grace) *Trouble {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := s.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable":
			return imageTrouble(p, s, w, age > grace.ImagePull)
		case "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
			return imageTrouble(p, s, w, true)
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			if t := withoutSecret(p, w.Message, age, grace); t != nil {
				return t
			}
			return trouble(v1alpha1.ReasonContainerFailed, age > grace.ImagePull, "container %s of pod %s cannot start: %s",
				s.Name, p.Name, oneLine(w.Message))
		case "CrashLoopBackOff":
			if s.Name == databaseContainer {
				continue // see database
			}
			return crashing(p, s)
		}
	}
	return nil
}

// imageTrouble explains what to check about an image; Oracle's registry requires a login and accepted terms.
func imageTrouble(p *corev1.Pod, s corev1.ContainerStatus, w *corev1.ContainerStateWaiting, fatal bool) *Trouble {
	advice := "the image name, the registry and the pull secrets"
	if s.Name == databaseContainer {
		advice = "spec.database.container.image, the registry and spec.pods.imagePullSecrets"
	}
	image := s.Image // as the kubelet writes it, which may differ from the pod
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == s.Name {
			image = c.Image
		}
	}
	if strings.HasPrefix(image, "container-registry.oracle.com/") {
		advice += "; Oracle's registry wants a login, and its terms accepted for this image"
	}
	return trouble(v1alpha1.ReasonImagePullFailed, fatal, "image %s cannot be pulled for container %s of pod %s: check "+
		"%s (%s: %s)", s.Image, s.Name, p.Name, advice, w.Reason, oneLine(w.Message))
}

// maxRestarts bounds the restarts of a sidecar beside a running load: the kubelet then waits 10, 20 and 40 s before a
// restart.
const maxRestarts = 3

// crashing checks a container that the kubelet restarts. Before the load starts it would crash forever; beside a
// running load it has time to recover.
func crashing(p *corev1.Pod, s corev1.ContainerStatus) *Trouble {
	t := &Trouble{
		Reason: v1alpha1.ReasonContainerFailed, Fatal: !started(p) || s.RestartCount >= maxRestarts,
		Message: fmt.Sprintf("container %s of pod %s keeps crashing", s.Name, p.Name),
	}
	if e := s.LastTerminationState.Terminated; e != nil {
		t.Message = exitMessage(p.Name, s.Name, e)
	}
	if !t.Fatal {
		t.Message += "; the load goes on, and the container is started again"
	}
	return t
}

// started reports whether the main containers have begun.
func started(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil
	})
}

// Begun reports whether any container of a pod has run. None runs before the volumes of the pod are mounted.
func Begun(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool {
			return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0
		})
}

const maxDetail = 400

// oneLine removes line breaks and shortens a message for a status.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return s
}
