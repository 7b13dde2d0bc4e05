package main

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/compare"
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
	s.run("run", "--storage-class", "gold", "--compare", "silver").mustEnd(t, cli.ExitLeft)
	s.mustBeEmpty(t)
}

func TestTwoClassesAreMeasuredInTurns(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	ran := s.operatorOf(t, v1alpha1.PhaseSucceeded)
	s.run("run", "--storage-class", "gold", "--compare", "silver", "--duration", "100s").mustEnd(t, cli.ExitOK).
		mustSay(t, "Round 5 of 5: silver, 20 s", "no difference of gold and silver that is significant")
	var order []string
	for _, spec := range *ran {
		order = append(order, spec.Storage.StorageClass.Name)
		if r := spec.Run; r.DurationSeconds != 20 || *r.WarmupSeconds != 6 || *r.BaselineSeconds != 6 {
			t.Errorf("a round of %+v", r)
		}
	}
	want := slices.Repeat([]string{"gold", "silver", "silver", "gold"}, 3)
	if !slices.Equal(order, want[:10]) {
		t.Errorf("order %v", order)
	}
	s.mustBeEmpty(t)
}

func TestTheBetterClassIsNamed(t *testing.T) {
	t.Parallel()
	line := func(metric, outcome string, shift float64) compare.Line {
		return compare.Line{Metric: metric, Outcome: outcome, Shift: &shift, AdjustedP: new(0.016)}
	}
	for name, c := range map[string]struct {
		lines []compare.Line
		want  string
	}{
		"better":  {[]compare.Line{line("Throughput", compare.Better, .12)}, "b is better than a, and that is significant: Throughput +12.0 % (p 0.016).\n"},
		"worse":   {[]compare.Line{line("Throughput", compare.Worse, -.12)}, "a is better than b, and that is significant. b against it: Throughput -12.0 % (p 0.016).\n"},
		"both":    {[]compare.Line{line("Throughput", compare.Worse, -.12), line("MeanLatency", compare.Better, .2)}, "Neither class is better in all. b against a: better in Mean latency +20.0 % (p 0.016); worse in Throughput -12.0 % (p 0.016).\n"},
		"small":   {[]compare.Line{line("Throughput", compare.Negligible, .001)}, "There is no difference of a and b that is significant and large enough to matter.\n"},
		"unknown": {nil, "The classes cannot be compared: there are too few numbers.\n"},
	} {
		var out bytes.Buffer
		if err := writeBetter(&out, [2]string{"a", "b"}, compare.Table{Comparisons: c.lines}); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
	}
}
