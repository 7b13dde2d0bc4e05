package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
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

func TestTheReportOfAClassStays(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.operatorOf(t, v1alpha1.PhaseSucceeded)
	file := filepath.Join(t.TempDir(), "gold.html")
	s.run("run", "--storage-class", "gold", "--report", file).mustEnd(t, cli.ExitOK).mustSay(t, "over 2 of 2 paths")
	if page, err := os.ReadFile(file); err != nil || !strings.Contains(string(page), "<html") {
		t.Errorf("the report is %.100q, %v", page, err)
	}
	newShell(t).run("run", "demo", "--claim", "x", "--report", file).mustEnd(t, cli.ExitBadInput).mustSay(t, "give --watch too")
	newShell(t).run("run", "--storage-class", "gold", "--report", "x.pdf").mustEnd(t, cli.ExitBadInput).mustSay(t, `--report is "x.pdf"`)
}

func TestARefusedClassSaysWhatToDo(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("nfsbenchmarks").GroupResource(), "x", errors.New(
		"the policy of this cluster does not let benchmarks have a volume: ask an administrator to run: helm upgrade"))
	s := newShell(t, gold())
	s.refuse = denied
	s.run("run", "--storage-class", "gold").mustEnd(t, cli.ExitBadInput).mustSay(t, "ask an administrator to run: helm upgrade")
	s = newShell(t, gold())
	s.refuse = denied
	s.run("run", "--storage-class", "golt").mustEnd(t, cli.ExitBadInput).mustSay(t, `there is no StorageClass "golt"; did you mean "gold"?`)
	s.in = "apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata: {name: x}\nspec: {storage: {trident: {storageClassName: golt}}}\n"
	s.run("run", "-f", "-").mustEnd(t, cli.ExitBadInput).mustSay(t, `there is no StorageClass "golt"; did you mean "gold"?`)
	s.run("run", "named", "--storage-class", "golt").mustEnd(t, cli.ExitBadInput).mustSay(t, `there is no StorageClass "golt"; did you mean "gold"?`)
}

func TestARunSaysFirstHowLongItTakes(t *testing.T) {
	t.Parallel()
	check, err := crdcheck.New()
	if err != nil {
		t.Fatal(err)
	}
	for yaml, want := range map[string]string{
		"storage: {embedded: {size: 1Gi}}\nworkload: {raw: {pattern: Read, fileSize: 128Mi}}\nrun: {durationSeconds: 30, repetitions: 2}": "Takes about 1m35s (2 windows of 30 s each), and up to 10s more to write the files on slow storage.",
		"storage: {claim: {name: x}}\nprotocol: {client: Kernel}\nworkload: {raw: {pattern: RandomRead, capacity: {microseconds: 1000}}}": "Takes at most",
	} {
		b := complete(t, check, "apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata: {name: x}\nspec:\n  "+strings.ReplaceAll(yaml, "\n", "\n  "))
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: object}
		u.SetKind(benchmarkKind)
		if got := estimate(u); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", yaml, got, want)
		}
	}
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
