package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/preflight"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// provision prepares the storage: the embedded server, the volume of Trident or of a class, and the volume for a kernel
// mount of an export.
func (r *Reconciler) provision(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhaseProvisioning
	s.storage = &fact{Reason: v1alpha1.ReasonProvisioning}
	if !r.NoNetworkPolicies {
		for _, p := range manifest.NetworkPolicies(s.b, r.Images) { // before the first pod
			if err := r.Ensure(ctx, s.b, p); err != nil {
				return next{}, err
			}
		}
	}
	if s.b.Spec.Storage.Embedded != nil {
		if n, err := r.provisionServer(ctx, s); err != nil || n.Stop {
			return n, err
		}
	}
	if n, err := pass.Run(ctx, s, r.volumeSteps(s)); err != nil || n.Stop {
		return n, err
	}
	warning, err := r.rulesMayGetLost(ctx, s)
	s.storage = &fact{OK: true, Reason: v1alpha1.ReasonProvisioned, Message: warning}
	return next{}, err
}

// volumeSteps returns the phases that create the volume of a run.
func (r *Reconciler) volumeSteps(s *scope) []phase {
	switch st := s.b.Spec.Storage; {
	case s.b.Status.StartTime != nil && plan.IsForeign(s.b):
		return nil // a lost volume shows in the load's own errors
	case st.Trident != nil:
		return []phase{r.tridentBackend, r.tridentClass, r.tridentClaim, r.tridentKeys}
	case st.StorageClass != nil:
		return []phase{r.classClaim, r.tridentKeys}
	case st.Claim == nil && s.target.ClaimName == s.names.Claim && !plan.HasSurvey(s.b):
		return []phase{r.provisionVolume} // with a survey the array names the address
	default:
		return nil
	}
}

// provisionServer runs the embedded server and reads its addresses.
func (r *Reconciler) provisionServer(ctx context.Context, s *scope) (next, error) {
	var addresses []string
	for _, svc := range manifest.PathServices(s.b) {
		if err := r.Ensure(ctx, s.b, svc); err != nil {
			return next{}, err
		}
		if svc.Spec.ClusterIP == "" {
			return s.wait(v1alpha1.ReasonProvisioning, "waiting for the address of service "+svc.Name, soon)
		}
		addresses = append(addresses, svc.Spec.ClusterIP)
	}
	s.target.Addresses = addresses
	if err := choosePaths(s.b, s.target); err != nil {
		return next{}, err
	}
	s.target.Sources = []runfile.Source{{
		Kind: runfile.SourceEmbedded, Name: "embedded",
		URL: "http://" + net.JoinHostPort(addresses[0], strconv.Itoa(manifest.CountersPort)),
	}}
	if plan.NeedsVolume(s.b) {
		s.target.ClaimName, s.target.VolumeName = s.names.Claim, s.names.Volume
	}
	if s.b.Status.StartTime != nil {
		// Once the load runs, a failure of the server shows in the load's own errors; the measurements until then must not be
		// lost.
		return next{}, nil
	}
	pod := manifest.ServerPod(s.b, r.Images)
	if err := r.Ensure(ctx, s.b, pod); err != nil {
		return next{}, err
	}
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}) {
		return next{}, nil
	}
	t := diagnose.Pods([]corev1.Pod{*pod}, nil, s.now, r.Grace)
	switch {
	case t == nil:
		return s.wait(v1alpha1.ReasonProvisioning, "waiting for the embedded server to be ready", soon)
	case t.Fatal:
		s.storage = &fact{Reason: t.Reason} // Ready has the message
		return s.fail(t.Reason, "the embedded NFS server does not run: "+t.Message)
	default:
		return s.wait(t.Reason, t.Message, soon)
	}
}

// provisionVolume creates the PersistentVolume of an export and its claim, and those of the redo logs.
func (r *Reconciler) provisionVolume(ctx context.Context, s *scope) (next, error) {
	server := s.target.Paths[0].Path
	n, err := r.bindVolume(ctx, s, manifest.Volume(s.b, server, s.target.Export), manifest.Claim(s.b))
	if err != nil || n.Stop || plan.RedoExport(s.b) == "" {
		return n, err
	}
	return r.bindVolume(ctx, s, manifest.RedoVolume(s.b, server), manifest.RedoClaim(s.b))
}

func (r *Reconciler) bindVolume(
	ctx context.Context, s *scope, pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim,
) (next, error) {
	if err := r.ensureVolume(ctx, s, pv); err != nil {
		if apierrors.IsForbidden(err) {
			without := "set spec.protocol.client to DirectNFS, or "
			if s.b.Spec.Database != nil { // a database keeps its files on a volume with either client
				without = "or "
			}
			return next{}, invalid(v1alpha1.ReasonForbidden, "a kernel mount of an export needs a PersistentVolume, which the "+
				"operator may not create: install it with cluster scope, %sgive a claim: %w", without, err)
		}
		return next{}, err
	}
	if err := r.Ensure(ctx, s.b, pvc); err != nil {
		return next{}, err
	}
	if pvc.Status.Phase != corev1.ClaimBound && s.b.Status.StartTime == nil {
		return s.wait(v1alpha1.ReasonProvisioning,
			fmt.Sprintf("waiting for claim %s to be bound to volume %s", pvc.Name, pv.Name), soon)
	}
	return next{}, nil
}

const (
	// tridentQuick is the time after which the operator looks for the reason of a delay. Trident makes a backend or a
	// volume in a few seconds if the array answers.
	tridentQuick = 15 * time.Second
	// tridentAnswers bounds how long Trident may be down, and tridentCreates how long its container may take to be
	// created, which includes the image pull.
	tridentAnswers, tridentCreates = 2 * time.Minute, 5 * time.Minute
	// deadLIF is the time, roughly, that Trident spends on a backend whose management LIF does not answer: twice 134 s of
	// the kernel and 90 s of ZAPI. A start of Trident takes twice as long for each such backend.
	deadLIF = 450 * time.Second
	// tridentPatience bounds the wait for a busy Trident, which may first work on another backend.
	tridentPatience = 2*deadLIF + time.Minute
	// tridentLimit bounds the wait for one object of Trident in all cases: a start that a dead LIF prolongs to 15 minutes,
	// then an attempt for another backend and one for the benchmark's own.
	tridentLimit = 45 * time.Minute
	// volumePatience bounds the wait for a volume, from the creation of its claim, and for a backend that Trident refuses,
	// from the first answer. Trident retries after a failure, and some failures are temporary.
	volumePatience = 5 * time.Minute
	// slowLIF explains why Trident does not answer.
	slowLIF = "Trident waits 8 minutes for a management LIF that does not answer, and for ever for one that accepts " +
		"connections and sends nothing, until its controller is restarted"
)

// storageWaits sets the conditions of the storage and of the run.
func (s *scope) storageWaits(reason, message string) (next, error) {
	s.storage = &fact{Reason: reason} // Ready has the message
	return s.wait(reason, message, soon)
}

// storageFailed records an error that only the user can fix, if the run failed at its storage.
func (s *scope) storageFailed(bad *pass.Invalid) {
	if s.storage != nil && !s.storage.OK {
		s.storage = &fact{Reason: bad.Reason} // Ready has the message
	}
}

// tridentBackend creates the backend that the benchmark asks for, and waits until Trident has accepted it.
func (r *Reconciler) tridentBackend(ctx context.Context, s *scope) (next, error) {
	name := s.b.Spec.Storage.Trident.BackendName
	if name == "" {
		return next{}, nil
	}
	backend, _ := s.policy.Backend(name) // checkPolicy has checked that it exists
	config := manifest.TridentBackendConfig(s.b, r.TridentNamespace, backend.BackendSpec)
	where := config.GetNamespace() + "/" + config.GetName()
	if err := r.Ensure(ctx, s.b, config); err != nil {
		return next{}, tridentError(err, config.GetNamespace())
	}
	c, err := trident.ReadBackendConfig(config)
	created := config.GetCreationTimestamp().Time
	end := bounded(created, s.answered(created, false).Add(volumePatience))
	late := s.now.After(end)
	refused := fmt.Sprintf("Trident refuses TridentBackendConfig %s: %s: ask an administrator to correct backend %s in "+
		"policy.backends of the chart, or its Secret in namespace %s", where, c.Message, name, config.GetNamespace())
	switch {
	case err != nil:
		return next{}, invalid(v1alpha1.ReasonBackendFailed, "%w", err)
	case c.IsReady():
		return next{}, r.checkPools(ctx, s, config)
	case config.GetDeletionTimestamp() != nil || c.Phase == trident.PhaseDeleting:
		return next{}, invalid(v1alpha1.ReasonBackendFailed, "somebody deletes TridentBackendConfig %s", where)
	case !c.IsAnswered():
		return r.awaitTrident(ctx, s, config, c)
	case c.IsFailed() && late:
		return next{}, invalid(v1alpha1.ReasonBackendFailed, "%s", refused)
	case c.IsFailed():
		return s.storageWaits(v1alpha1.ReasonBackendFailed,
			refused+"; Trident tries again, and the run waits until "+until(end))
	case late:
		return next{}, invalid(v1alpha1.ReasonBackendFailed, "TridentBackendConfig %s is %s after %s: %s", where, c.Phase,
			end.Sub(created).Round(time.Second), c.Message)
	default:
		return s.storageWaits(v1alpha1.ReasonProvisioning,
			fmt.Sprintf("waiting for Trident to bind TridentBackendConfig %s; the run waits until %s", where, until(end)))
	}
}

// checkBackend refuses a benchmark that no volume of its backend can serve.
func checkBackend(b *v1alpha1.NFSBenchmark, backend trident.BackendSpec) error {
	t, driver := b.Spec.Storage.Trident, backend.DriverName()
	if err := checkPlacement(t, trident.Unplaceable(driver, false)); err != nil {
		return err
	}
	const ask = "ask an administrator to name a policy that admits the clients in policy.backends of the chart"
	switch {
	case backend.ExportPolicy != "":
		return nil
	case t.PVCAnnotations[trident.ExportPolicyAnnotation] != "":
		return invalid(preflight.ExportPolicyDenies, "backend %s of the policy has no exportPolicy: Trident then makes the "+
			"export policies of its volumes itself, and ignores %s in spec.storage.trident.pvcAnnotations: leave it out, or %s",
			t.BackendName, trident.ExportPolicyAnnotation, ask)
	case driver == trident.DriverFlexGroup, plan.NeedsVolume(b): // Trident admits the nodes of the cluster to a FlexGroup
		return nil
	default:
		return invalid(preflight.ExportPolicyDenies, "backend %s of the policy has no exportPolicy: %s %s", t.BackendName,
			attachedOnly, ask)
	}
}

// attachedOnly explains why a client that mounts nothing is refused.
const attachedOnly = "Trident then admits only the nodes that have attached a volume, and this client attaches none:"

// checkPlacement refuses a benchmark that chooses aggregates although ONTAP places the volumes of the backend. why is
// the reason for ONTAP's placement, or "" if Trident places them.
func checkPlacement(t *v1alpha1.TridentStorage, why string) error {
	if why == "" || t == nil || len(t.StoragePools) == 0 && t.MoveTo == "" {
		return nil
	}
	return invalid(v1alpha1.ReasonInvalidSpec, "spec.storage.trident.storagePools and moveTo name aggregates, but the "+
		"backend %s, and ONTAP places its volumes: leave them out", why)
}

// checkPools refuses a choice of aggregates if the array of the backend, as Trident found it, has no aggregates for its
// volumes: the provisioner would find no pool.
func (r *Reconciler) checkPools(ctx context.Context, s *scope, config *unstructured.Unstructured) error {
	if checkPlacement(s.b.Spec.Storage.Trident, "any reason") == nil {
		return nil // it chooses no aggregates
	}
	u, err := r.findBackend(ctx, config.GetNamespace(), func(name, _ string) bool { return name == config.GetName() })
	if err != nil || u == nil {
		return err
	}
	b, _ := trident.ReadBackend(u) // a backend that cannot be read is reported once the volume exists
	return checkPlacement(s.b.Spec.Storage.Trident, b.Unplaceable)
}

// until formats the end of a wait. Conditions have the end and not the time left, which would change with every pass.
func until(end time.Time) string { return end.UTC().Format("15:04:05 MST") }

// awaitTrident waits while Trident has reported nothing about a backend: Trident works on this one or another, or does
// not run.
func (r *Reconciler) awaitTrident(
	ctx context.Context, s *scope, config *unstructured.Unstructured, c trident.BackendConfig,
) (next, error) {
	since, ns := config.GetCreationTimestamp().Time, config.GetNamespace()
	where := fmt.Sprintf("TridentBackendConfig %s/%s", ns, config.GetName())
	s.tridentSilent = true
	if s.now.Sub(since) < tridentQuick {
		return s.storageWaits(v1alpha1.ReasonProvisioning, "waiting for Trident to bind "+where)
	}
	t, err := r.lookAtTrident(ctx, s)
	if err != nil {
		return next{}, err
	}
	look := fmt.Sprintf("see kubectl -n %s get pods -l app=controller.csi.trident.netapp.io", ns)
	reason, message, fails := v1alpha1.ReasonProvisioning, "", v1alpha1.ReasonBackendFailed
	switch {
	case t.starts:
		reason, fails = v1alpha1.ReasonTridentBusy, v1alpha1.ReasonTridentBusy
		message = fmt.Sprintf("Trident has not yet read %s: %s: %s", where, t.down, look)
	case t.down != "":
		fails = v1alpha1.ReasonTridentMissing
		message = fmt.Sprintf("Trident has not processed %s: %s: correct trident.namespace of the chart, or %s", where,
			t.down, look)
	case c.Taken:
		message = fmt.Sprintf("Trident works on %s, created at %s, and has not reported a result: %s", where,
			until(since), slowLIF)
		outcome, err := r.probeLIF(ctx, s)
		if err != nil {
			return next{}, err
		}
		message += outcome
	case t.worksOn != "" || t.runs:
		reason, fails = v1alpha1.ReasonTridentBusy, v1alpha1.ReasonTridentBusy
		message = fmt.Sprintf("Trident runs and has not yet read %s, created at %s%s", where, until(since), t.work())
	default:
		fails = v1alpha1.ReasonTridentMissing
		message = fmt.Sprintf("Trident has not processed %s, created at %s: it reads its own namespace only, and the "+
			"operator may not see whether it runs: %s, and correct trident.namespace of the chart%s", where, until(since), look,
			t.work())
	}
	end := bounded(since, later(since, t.changed).Add(t.patience))
	if s.now.After(end) {
		return next{}, invalid(fails, "%s; given up after %s", message, end.Sub(since).Round(time.Second))
	}
	return s.storageWaits(reason, message+"; the run waits until "+until(end))
}

// probeLIF connects from a pod to the management LIF of the backend, and returns the outcome in words; "" while the
// outcome is not known or if the probe cannot run.
func (r *Reconciler) probeLIF(ctx context.Context, s *scope) (string, error) {
	backend, _ := s.policy.Backend(s.b.Spec.Storage.Trident.BackendName)
	err := r.Ensure(ctx, s.b, manifest.ProbeJob(s.b, backend.ManagementLIF, r.Images))
	if bad := (*pass.Invalid)(nil); err != nil && !errors.As(err, &bad) { // a refusal leaves the outcome unknown
		return "", err
	}
	pods, err := r.Pods(ctx, s.b, manifest.ComponentProbe)
	if err != nil || len(pods) == 0 {
		return "", err
	}
	return probed(pods[0], backend.ManagementLIF), nil
}

// probed describes the result of a pod's connection to a management LIF; "" while it is not known.
func probed(p corev1.Pod, lif string) string {
	i := slices.IndexFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == manifest.ContainerProbe && c.State.Terminated != nil
	})
	if i < 0 {
		return ""
	}
	e := p.Status.ContainerStatuses[i].State.Terminated
	_, why, found := strings.Cut(e.Message, manifest.NoConnection)
	switch {
	case found:
		return fmt.Sprintf("; the management LIF %s does not answer a pod of this namespace either: %s%s", lif,
			manifest.NoConnection, pass.ClipTo(strings.Join(strings.Fields(why), " "), maxProbe))
	case e.ExitCode == 0:
		return fmt.Sprintf("; the management LIF %s accepts connections from a pod of this namespace: look at the log of "+
			"Trident's controller, and restart it if that shows no answer of the LIF", lif)
	default:
		return ""
	}
}

// maxProbe bounds the message of a pod about its connection, in bytes.
const maxProbe = 200

// answered returns when Trident last answered about an object with that creation time: now, or, if the condition
// StorageProvisioned is False, when it became False. The condition is Unknown while Trident is silent; for a silent
// Trident answered returns when the silence began.
func (s *scope) answered(created time.Time, silent bool) time.Time {
	c := meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionStorageProvisioned)
	if c == nil || c.Status == metav1.ConditionTrue || c.Status == metav1.ConditionUnknown && !silent {
		return later(created, s.now)
	}
	return later(created, c.LastTransitionTime.Time)
}

// bounded limits the end of a wait for an object with that creation time, because Trident can restart and be silent
// again and again.
func bounded(created, end time.Time) time.Time {
	if last := created.Add(tridentLimit); end.After(last) {
		return last
	}
	return end
}

// tridentClass creates the class of the benchmark's own backend, or checks the user's class.
func (r *Reconciler) tridentClass(ctx context.Context, s *scope) (next, error) {
	if name := s.b.Spec.Storage.Trident.BackendName; name != "" {
		backend, _ := s.policy.Backend(name)
		err := r.Ensure(ctx, s.b, manifest.TridentClass(s.b, backend.BackendSpec))
		if apierrors.IsForbidden(err) {
			return next{}, invalid(v1alpha1.ReasonForbidden, "a Trident backend needs a StorageClass, which the operator may "+
				"not create: install it with cluster scope and trident.enabled, or give a claim in spec.storage.claim: %w", err)
		}
		return next{}, err
	}
	class, err := r.readClass(ctx, s,
		"install it with cluster scope and trident.enabled, or give a claim in spec.storage.claim")
	if err != nil {
		return next{}, err
	}
	return next{}, checkTridentClass(s.b, class)
}

// checkTridentClass refuses a class of the user that cannot serve the benchmark.
func checkTridentClass(b *v1alpha1.NFSBenchmark, class *storagev1.StorageClass) error {
	// A class can write the parameter in two ways.
	backend := cmp.Or(class.Parameters["backendType"], class.Parameters[trident.AnnotationPrefix+"backendType"])
	switch {
	case class.Provisioner != trident.Driver:
		return invalid(v1alpha1.ReasonClassNotTrident, "StorageClass %q has provisioner %s and not %s: name a class of "+
			"Trident, or make a claim of this one and use spec.storage.claim", class.Name, class.Provisioner, trident.Driver)
	case trident.Refusal(backend) != "":
		return invalid(v1alpha1.ReasonDriverRefused, "StorageClass %q: %s", class.Name, trident.Refusal(backend))
	case bindsLate(class):
		return invalid(v1alpha1.ReasonInvalidSpec, "StorageClass %q binds late (WaitForFirstConsumer), but the export must "+
			"be known before the first pod: name a class with volumeBindingMode: Immediate, or give "+
			"spec.storage.trident.backendName", class.Name)
	case len(class.MountOptions) == 0:
		return nil // the volume then has the mount options of the backend
	default:
		return checkVersion(b, class.Name, class.MountOptions)
	}
}

// checkVersion refuses a class whose mount options set another NFS version than the protocol. A negotiated version is
// an error only with storage.trident: for other storage the mounted version is checked in the result.
func checkVersion(b *v1alpha1.NFSBenchmark, class string, options []string) error {
	if !plan.MountDecides(b.Spec.Protocol) {
		return nil // a user-space client chooses its version itself and does not use the mount
	}
	want, have := trident.NFSVersion(plan.MountOptions(b.Spec.Protocol, "")), trident.NFSVersion(options)
	switch {
	case have == want:
		return nil
	case !trident.Negotiated(have, want):
		return invalid(v1alpha1.ReasonInvalidSpec, "StorageClass %q mounts with nfsvers=%s, but spec.protocol.version %s "+
			"means nfsvers=%s: name another class, or correct the version", class, have, b.Spec.Protocol.Version, want)
	case b.Spec.Storage.Trident == nil:
		return nil
	default:
		return invalid(v1alpha1.ReasonInvalidSpec, "StorageClass %q leaves the version of NFS to be negotiated: add "+
			"nfsvers=%s to its mountOptions (a copy of the class, since they cannot be changed), or give "+
			"spec.storage.trident.backendName", class, want)
	}
}

// tridentClaim creates the claim, waits for its volume and follows the volume to the array.
func (r *Reconciler) tridentClaim(ctx context.Context, s *scope) (next, error) {
	pvc := manifest.TridentClaim(s.b)
	if err := r.ensureClaim(ctx, s, pvc); err != nil {
		return next{}, err
	}
	// Record the name before there is a volume: if the provisioning is interrupted, only the UID of the claim identifies
	// the volume that Trident made.
	s.target.VolumeName = cmp.Or(pvc.Spec.VolumeName, trident.VolumeName(pvc.UID))
	if pvc.Status.Phase != corev1.ClaimBound {
		return r.awaitVolume(ctx, s, pvc, "")
	}
	pv := &corev1.PersistentVolume{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: pvc.Spec.VolumeName}, pv); err != nil {
		if apierrors.IsForbidden(err) {
			return next{}, invalid(v1alpha1.ReasonForbidden, "the operator may not read PersistentVolume %q: install it with "+
				"cluster scope: %w", pvc.Spec.VolumeName, err)
		}
		return next{}, fmt.Errorf("read volume %q: %w", pvc.Spec.VolumeName, err)
	}
	gap, err := r.followTrident(ctx, s, pv, r.TridentNamespace)
	switch {
	case err != nil:
		return next{}, err
	case gap != nil:
		return s.awaitGap(gap, pv)
	default:
		return next{}, choosePaths(s.b, s.target)
	}
}

// awaitGap waits for a fact about a volume that is not known yet.
func (s *scope) awaitGap(gap *fact, pv *corev1.PersistentVolume) (next, error) {
	end := s.answered(pv.CreationTimestamp.Time, false).Add(volumePatience)
	n, err := s.storageWaits(gap.Reason, gap.Message+"; the run waits until "+until(end))
	if s.now.After(end) {
		return next{}, invalid(gap.Reason, "%s", gap.Message)
	}
	return n, err
}

// awaitVolume waits for the volume of a claim, longer if Trident is busy with other work. consumer describes the pod
// that the claim waits for, or is "".
func (r *Reconciler) awaitVolume(
	ctx context.Context, s *scope, pvc *corev1.PersistentVolumeClaim, consumer string,
) (next, error) {
	told, err := r.eventsOf(ctx, pvc.Namespace, "PersistentVolumeClaim", pvc.Name, pvc.UID)
	if err != nil {
		return next{}, err
	}
	since, t := pvc.CreationTimestamp.Time, tridentState{}
	if s.now.Sub(since) > tridentQuick {
		if t, err = r.lookAtTrident(ctx, s); err != nil {
			return next{}, err
		}
	}
	suspended, err := r.suspendedBackends(ctx, s)
	if err != nil {
		return next{}, err
	}
	is, asked := lastCall(told)
	if is != callBegins && asked.After(t.worksSince) {
		t.worksOn = "" // Trident has answered since: the other backend does not delay the volume (enableConcurrency)
	}
	held, why := t.holds(is == callBegins && s.now.Sub(asked) > tridentQuick)
	end := s.answered(since, held).Add(volumePatience)
	if held || is == callBegins || is == callSucceeded {
		end = later(end, later(since, t.changed).Add(tridentPatience))
	}
	end = bounded(since, end)
	reason, message := v1alpha1.ReasonProvisioning,
		fmt.Sprintf("waiting for Trident to make the volume of claim %s%s", pvc.Name, consumer)
	if said := lastWarning(told); said != "" {
		reason, message = v1alpha1.ReasonProvisioningFailed, fmt.Sprintf("Trident makes no volume for claim %s: %s",
			pvc.Name, said)
	}
	message += suspended + why
	if held {
		reason, s.tridentSilent = v1alpha1.ReasonTridentBusy, true
	}
	if s.now.After(end) {
		if reason == v1alpha1.ReasonProvisioning {
			reason = v1alpha1.ReasonProvisioningFailed
		}
		return next{}, invalid(reason, "claim %s is not bound after %s: %s", pvc.Name, end.Sub(since).Round(time.Second),
			message)
	}
	return s.storageWaits(reason, message+"; the run waits until "+until(end))
}

// suspendedBackends reports how many backends of Trident, or whether the benchmark's own, an administrator has
// suspended; "" if none. It does not name other backends: which of them the StorageClass may use is not known, and a
// user may not see them.
func (r *Reconciler) suspendedBackends(ctx context.Context, s *scope) (string, error) {
	list, own, name := tridentList(trident.KindBackend), "", ""
	if st := s.b.Spec.Storage.Trident; st != nil && st.BackendName != "" {
		name = st.BackendName
		backend, _ := s.policy.Backend(name)
		own = manifest.TridentBackendConfig(s.b, r.TridentNamespace, backend.BackendSpec).GetName()
	}
	err := r.Reader.List(ctx, list, client.InNamespace(r.TridentNamespace))
	if err != nil && (s.b.Spec.Storage.Trident != nil || !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err)) {
		return "", tridentError(err, r.TridentNamespace) // a class needs no access to that namespace
	}
	count := 0
	for _, u := range list.Items {
		b, _ := trident.ReadBackend(&u) // the state may be readable although the rest is not
		if b.Suspended && (own == "" || own == b.Name) {
			count++
		}
	}
	what := "Trident has " + human.Count(count, "suspended backend")
	switch {
	case count == 0:
		return "", nil
	case own != "":
		what = "backend " + name + " is suspended"
	}
	return "; " + what + ": Trident makes no volume there until an administrator sets this back " +
		"(tridentctl update backend state NAME --user-state normal)", nil
}

// tridentKeys takes the target again once the address is known: no run on an export of the same address may run at the
// same time.
func (r *Reconciler) tridentKeys(ctx context.Context, s *scope) (next, error) {
	stage, place, before := s.stage, s.place, s.target.Keys
	keys := append(slices.Clone(before), plan.SVMKeys(s.target.Backend)...)
	keys = append(keys, plan.ServerKeys(s.target.Addresses)...)
	s.target.Keys = plan.DistinctKeys(keys)
	n, err := r.takeTarget(ctx, s, before)
	if err != nil || n.Stop {
		return n, err
	}
	s.stage, s.place = stage, place
	return next{}, nil
}

// eventsOf returns the events about an object; none if the operator may not read them.
func (r *Reconciler) eventsOf(
	ctx context.Context, namespace, kind, name string, uid types.UID,
) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	err := r.Reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{
		"involvedObject.kind": kind, "involvedObject.name": name,
	}, client.Limit(maxEvents))
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the events of %s %q: %w", kind, name, err)
	}
	// Drop events of an earlier object of that name.
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.UID != "" && e.InvolvedObject.UID != uid
	}), nil
}

// lastWarning returns the last warning about an object; "" if there is none.
func lastWarning(told []corev1.Event) string {
	said := slices.DeleteFunc(slices.Clone(told), func(e corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	if len(said) == 0 {
		return ""
	}
	last := slices.MaxFunc(said, func(a, b corev1.Event) int { return saidAt(a).Compare(saidAt(b)) })
	return last.Reason + ": " + strings.TrimSpace(last.Message)
}

// callTimeout is the timeout of a call by the provisioner that comes with Trident (--timeout=600s).
const callTimeout = 10 * time.Minute

// Reasons of the provisioner's events about a claim.
const (
	callBegins    = "Provisioning"
	callFails     = "ProvisioningFailed"
	callSucceeded = "ProvisioningSucceeded"
)

// lastCall returns the reason and the time of the provisioner's last event about a claim. After some errors the
// provisioner continues although the claim is gone: they count as a call that begins.
func lastCall(told []corev1.Event) (reason string, at time.Time) {
	for _, e := range told {
		is, when := e.Reason, saidAt(e)
		if is == callFails && slices.ContainsFunc([]string{"Canceled", "DeadlineExceeded", "Unavailable", "Aborted"},
			func(code string) bool { return strings.Contains(e.Message, "code = "+code+" ") }) {
			is = callBegins
		}
		// Events have whole seconds: of two in the same second the answer is the later.
		newer := when.After(at) || when.Equal(at) && is != callBegins
		if newer && (is == callBegins || is == callFails || is == callSucceeded) {
			reason, at = is, when
		}
	}
	return reason, at
}

// saidAt returns when an event was last reported: the latest of its times.
func saidAt(e corev1.Event) time.Time {
	records := []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time}
	if e.Series != nil {
		records = append(records, e.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(records, time.Time.Compare)
}
