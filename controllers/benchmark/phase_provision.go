package benchmark

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// provision makes the storage ready: the embedded server where it is asked
// for, that of Trident, and the volume of a kernel mount of an export.
func (r *Reconciler) provision(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhaseProvisioning
	s.storage = &fact{reason: v1alpha1.ReasonProvisioning}
	if s.b.Spec.Storage.Embedded != nil {
		if n, err := r.provisionServer(ctx, s); err != nil || n.stop {
			return n, err
		}
	}
	switch {
	case s.b.Spec.Storage.Trident != nil:
		if n, err := r.provisionTrident(ctx, s); err != nil || n.stop {
			return n, err
		}
	case s.target.ClaimName == s.names.Claim && !hasSurvey(s.b): // else the array tells by which address
		if n, err := r.provisionVolume(ctx, s); err != nil || n.stop {
			return n, err
		}
	}
	s.storage = &fact{ok: true, reason: v1alpha1.ReasonProvisioned}
	return next{}, nil
}

// provisionServer runs the embedded server and learns its addresses.
func (r *Reconciler) provisionServer(ctx context.Context, s *scope) (next, error) {
	var addresses []string
	for _, svc := range manifest.PathServices(s.b) {
		if err := r.ensure(ctx, s.b, svc); err != nil {
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
	s.target.Sources = []runfile.Source{embeddedSource(addresses[0])}
	if plan.NeedsVolume(s.b) {
		s.target.ClaimName, s.target.VolumeName = s.names.Claim, s.names.Volume
	}
	if s.b.Status.StartTime != nil {
		// Once the load runs, a server that fails shows in the load's own
		// errors; what it measured until then must not be lost.
		return next{}, nil
	}
	return r.serverReady(ctx, s)
}

func (r *Reconciler) serverReady(ctx context.Context, s *scope) (next, error) {
	pod := manifest.ServerPod(s.b, r.Images)
	if err := r.ensure(ctx, s.b, pod); err != nil {
		return next{}, err
	}
	if podReady(pod) {
		return next{}, nil
	}
	t := diagnose.Pods([]corev1.Pod{*pod}, nil, s.now, r.Grace)
	switch {
	case t == nil:
		return s.wait(v1alpha1.ReasonProvisioning, "waiting for the embedded server to be ready", soon)
	case t.Fatal:
		s.storage = &fact{reason: t.Reason, message: t.Message}
		return s.fail(t.Reason, "the embedded NFS server does not run: "+t.Message)
	default:
		return s.wait(t.Reason, t.Message, soon)
	}
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// provisionVolume brings an export into a PersistentVolume of our own.
func (r *Reconciler) provisionVolume(ctx context.Context, s *scope) (next, error) {
	pv := manifest.Volume(s.b, s.target.Paths[0].Path, s.target.Export)
	if err := r.ensure(ctx, s.b, pv); err != nil {
		if apierrors.IsForbidden(err) {
			return next{}, invalid(v1alpha1.ReasonForbidden, fmt.Errorf(
				"a kernel mount of an export needs a PersistentVolume, which the operator may not create: install it with cluster scope, %sgive a claim: %w", withoutVolume(s.b), err))
		}
		return next{}, err
	}
	pvc := manifest.Claim(s.b)
	if err := r.ensure(ctx, s.b, pvc); err != nil {
		return next{}, err
	}
	if pvc.Status.Phase != corev1.ClaimBound && s.b.Status.StartTime == nil {
		return s.wait(v1alpha1.ReasonProvisioning, fmt.Sprintf("waiting for claim %s to be bound to volume %s", pvc.Name, pv.Name), soon)
	}
	return next{}, nil
}

// withoutVolume is how a run can do without a volume: not with a database, which
// keeps its files on one whoever carries its I/O.
func withoutVolume(b *v1alpha1.NFSBenchmark) string {
	if b.Spec.Database != nil {
		return "or "
	}
	return "set spec.protocol.client to DirectNFS, or "
}

// configure writes the plan and everything that the collectors need. A plan
// that exists is the plan: a newer manager must not change a run under way.
func (r *Reconciler) configure(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhasePreparing
	p, err := r.planOf(ctx, s)
	if err != nil {
		return next{}, err
	}
	s.plan = p
	return next{}, r.ensurePublishing(ctx, s.b)
}

// ensurePublishing makes the object that a run's pods publish to, and the right
// to do so.
func (r *Reconciler) ensurePublishing(ctx context.Context, b *v1alpha1.NFSBenchmark) error {
	objects := []client.Object{
		manifest.ResultConfigMap(b),
		manifest.CollectorServiceAccount(b),
		manifest.CollectorRole(b),
		manifest.CollectorRoleBinding(b),
	}
	for _, o := range objects {
		if err := r.ensure(ctx, b, o); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) planOf(ctx context.Context, s *scope) (*runfile.Plan, error) {
	have := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.b.Namespace, Name: s.names.Plan}, have)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if err == nil && isOurs(s.b, have) {
		return decodePlan(have.Data[manifest.PlanKey])
	}
	if err == nil {
		return nil, checkOurs(s.b, have)
	}
	p, err := plan.Build(s.b, *s.target)
	if err != nil {
		return nil, invalid(v1alpha1.ReasonInvalidSpec, err)
	}
	text, err := encodePlan(p)
	if err != nil {
		return nil, err
	}
	oranfstab, err := p.Engine.Oranfstab()
	if err != nil {
		return nil, err
	}
	if err := r.ensure(ctx, s.b, manifest.PlanConfigMap(s.b, text, oranfstab)); err != nil {
		return nil, err
	}
	return &p, nil
}
