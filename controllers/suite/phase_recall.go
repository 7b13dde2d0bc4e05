package suite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// argoHelp says how Argo Workflows is to be had.
const argoHelp = "Argo Workflows is not installed: install v3.6 or newer, for example with " +
	"kubectl create namespace argo && kubectl apply -n argo --server-side -f https://github.com/argoproj/argo-workflows/releases/latest/download/install.yaml, " +
	"or with helm install argo-workflows argo/argo-workflows; the suite starts by itself then"

// recall finds the runs there are: by their workflows and by their records. It reads
// their metadata only.
func (r *Reconciler) recall(ctx context.Context, s *scope) (next, error) {
	byName := map[string]*run{}
	of := func(name string) *run {
		if byName[name] == nil {
			byName[name] = &run{name: name}
		}
		return byName[name]
	}
	records, err := r.list(ctx, s, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, client.MatchingLabels{manifest.LabelComponent: componentRecord})
	if err != nil {
		return next{}, err
	}
	for i := range records {
		if name := records[i].Labels[v1alpha1.LabelSuiteRun]; name != "" && isOurs(s, &records[i]) {
			of(name).record = &records[i]
		}
	}
	workflows, err := r.list(ctx, s, workflow.Workflow, nil)
	switch {
	case isNotServed(err):
		s.argo = &fact{reason: v1alpha1.ReasonArgoMissing, message: argoHelp}
	case err != nil:
		return next{}, err
	}
	for _, w := range workflows {
		one := of(cmp.Or(w.Labels[v1alpha1.LabelSuiteRun], w.Name))
		one.workflows = append(one.workflows, w)
	}
	s.setRuns(byName)
	return next{}, nil
}

// list gives the metadata of a suite's objects, past the cache.
func (r *Reconciler) list(ctx context.Context, s *scope, of schema.GroupVersionKind, more client.MatchingLabels) ([]metav1.PartialObjectMetadata, error) {
	which := client.MatchingLabels{v1alpha1.LabelSuite: s.suite.Name}
	maps.Copy(which, more)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
	if err := r.Reader.List(ctx, list, client.InNamespace(s.suite.Namespace), which); err != nil {
		return nil, fmt.Errorf("list %ss of the suite: %w", of.Kind, err)
	}
	return list.Items, nil
}

// isNotServed says that the API server does not know a kind: it never did, or its
// CRD is gone.
func isNotServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// setRuns puts the runs in the order in which they began. A run that had a workflow
// and has none was deleted by somebody.
func (s *scope) setRuns(byName map[string]*run) {
	argo := s.argo == nil
	if was := s.suite.Status.Run; was != nil && was.Workflow != "" && was.CompletionTime == nil && byName[was.Name] == nil && argo {
		byName[was.Name] = &run{name: was.Name}
	}
	for _, one := range byName {
		slices.SortFunc(one.workflows, func(a, b metav1.PartialObjectMetadata) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(attemptOf(one.name, a.Name), attemptOf(one.name, b.Name)))
		})
		one.vanished = argo && len(one.workflows) == 0
		s.runs = append(s.runs, one)
	}
	slices.SortFunc(s.runs, func(a, b *run) int {
		return cmp.Or(a.started().Compare(b.started()), cmp.Compare(a.name, b.name))
	})
}

// wantsArgo says that there is something for Argo to do.
func (s *scope) wantsArgo() bool {
	if s.scheduled() || len(s.open()) > 0 {
		return true
	}
	return s.due() != ""
}

// checkArgo ends the pass where nobody could run anything.
func (r *Reconciler) checkArgo(_ context.Context, s *scope) (next, error) {
	switch {
	case !s.wantsArgo():
		s.argo = nil
		return next{}, nil
	case s.argo != nil:
		s.waiting = s.argo
		return next{stop: true, after: argoDelay}, nil
	default:
		s.argo = &fact{ok: true, reason: v1alpha1.ReasonArgoFound}
		return next{}, nil
	}
}
