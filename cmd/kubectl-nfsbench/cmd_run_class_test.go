package main

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
)

// operatorOf ends each benchmark that is looked at, and notes the specs in the order of their runs.
func (s *shell) operatorOf(t *testing.T, phase v1alpha1.Phase) *[]v1alpha1.NFSBenchmarkSpec {
	t.Helper()
	var ran []v1alpha1.NFSBenchmarkSpec
	s.onGet = func(o client.Object) {
		b, is := o.(*v1alpha1.NFSBenchmark)
		if !is {
			return
		}
		done, m := finished(t, b.Name, 1)
		b.Status = done.Status
		b.Status.Phase = phase
		if s.client.Create(t.Context(), m) == nil {
			ran = append(ran, b.Spec)
		}
	}
	return &ran
}

func (s *shell) mustBeEmpty(t *testing.T) {
	t.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := s.client.List(context.WithoutCancel(t.Context()), list); err != nil || len(list.Items) > 0 {
		t.Errorf("%d benchmarks stay, %v", len(list.Items), err)
	}
}

func TestAClassIsMeasuredAndNothingStays(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	ran := s.operatorOf(t, v1alpha1.PhaseSucceeded)
	s.run("run", "--storage-class", "gold", "--size", "20Gi").mustEnd(t, cli.ExitOK).mustSay(t, "over 2 of 2 paths", "Removing class-gold-")
	if len(*ran) != 1 || (*ran)[0].Storage.StorageClass.Name != "gold" || (*ran)[0].Run.DurationSeconds != classSeconds ||
		(*ran)[0].Storage.StorageClass.Size.String() != "20Gi" {
		t.Errorf("ran %+v", *ran)
	}
	s.mustBeEmpty(t)
}

func TestAClassThatFailsIsRemovedToo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.operatorOf(t, v1alpha1.PhaseFailed)
	s.run("run", "--storage-class", "gold").mustEnd(t, cli.ExitFailed).mustSay(t, "ended as Failed")
	s.mustBeEmpty(t)
}

func TestCtrlCRemovesTheVolume(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.ctx = ctx
	s.onGet = func(client.Object) { cancel() }
	s.run("run", "--storage-class", "gold").mustEnd(t, cli.ExitLeft)
	s.mustBeEmpty(t)
}
