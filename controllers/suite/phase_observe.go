package suite

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// silence is how long nobody need act on a new workflow before it is remarked.
const silence = time.Minute

// observe reads how far the runs are that have not ended, and what the newest one
// came to if it has.
func (r *Reconciler) observe(ctx context.Context, s *scope) (next, error) {
	for _, one := range s.runs {
		over := one.isOver()
		if over && one != s.current() {
			continue
		}
		if err := r.load(ctx, s, one); err != nil {
			return next{}, err
		}
		if over || !one.loaded {
			continue
		}
		if err := r.look(ctx, s, one); err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

// load fills in what the record of a run says, or begins one.
func (r *Reconciler) load(ctx context.Context, s *scope, one *run) error {
	if one.loaded {
		return nil
	}
	if one.record == nil {
		if s.matrix != nil {
			one.file, one.loaded, one.changed = newFile(s, one), true, true
		}
		return nil
	}
	cached := r.memory.of(s.suite.UID, s.suite.Generation)
	version := string(one.record.UID) + "/" + one.record.ResourceVersion
	if cached.recordVersion != version {
		file, err := r.read(ctx, s, one.record.Name)
		if err != nil {
			return err
		}
		if one == s.current() {
			cached.recordVersion, cached.record = version, file
		}
		one.file, one.loaded = file, true
		return nil
	}
	one.file, one.loaded = cached.record, true
	return nil
}

// read reads a record past the cache, which does not hold them.
func (r *Reconciler) read(ctx context.Context, s *scope, name string) (runfile.SuiteRun, error) {
	cm := &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.suite.Namespace, Name: name}, cm); err != nil {
		return runfile.SuiteRun{}, fmt.Errorf("read record %q: %w", name, err)
	}
	file, err := runfile.ReadSuiteRun(bytes.NewReader(cm.BinaryData[runfile.KeySuiteRun]))
	if err != nil {
		return runfile.SuiteRun{}, blocked(v1alpha1.ReasonInvalidSpec, fmt.Errorf("the record in ConfigMap %q is damaged, delete it: %w", name, err))
	}
	return file, nil
}

// look asks the newest workflow of a run, and its benchmarks.
func (r *Reconciler) look(ctx context.Context, s *scope, one *run) error {
	if name := one.workflow(); name != "" {
		wf := &unstructured.Unstructured{}
		wf.SetGroupVersionKind(workflow.Workflow)
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.suite.Namespace, Name: name}, wf)
		switch {
		case apierrors.IsNotFound(err):
			one.vanished = true
		case err != nil:
			return fmt.Errorf("read workflow %q: %w", name, err)
		default:
			one.object, one.state = wf, workflow.Observe(wf)
			one.file.Workflow = name
			checkArgoActs(s, one)
		}
	}
	list := &v1alpha1.NFSBenchmarkList{}
	err := r.Client.List(ctx, list, client.InNamespace(s.suite.Namespace), client.MatchingFields{IndexRun: one.name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the benchmarks of run %q: %w", one.name, err)
	}
	g, err := gather(one.file.Results, list.Items, func(b *v1alpha1.NFSBenchmark, to *runfile.SuiteResult) error { return r.addPoints(ctx, b, to) })
	if err != nil {
		return err
	}
	one.take(g)
	return nil
}

// checkArgoActs notes when no controller acts on a workflow.
func checkArgoActs(s *scope, one *run) {
	if one.state.Phase != "" || s.now.Sub(one.object.GetCreationTimestamp().Time) < silence {
		return
	}
	s.argo = &fact{reason: v1alpha1.ReasonArgoSilent, message: fmt.Sprintf(
		"no workflow-controller acts on Workflow %s: is it running (kubectl get pods -A -l app=workflow-controller), and does it watch namespace %s?",
		one.object.GetName(), s.suite.Namespace)}
}

// take makes what was gathered the run's.
func (one *run) take(g gathered) {
	if !reflect.DeepEqual(one.file.Results, g.results) {
		one.changed = true
	}
	one.file.Results, one.live = g.results, g.live
	one.file.Retried = max(one.file.Retried, g.retried)
	one.file.Simulated = one.file.Simulated || g.simulated
}
