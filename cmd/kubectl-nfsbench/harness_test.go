package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// shell is a terminal of a user with a cluster in memory.
type shell struct {
	t      *testing.T
	client client.WithWatch
	onGet  func(client.Object)
	refuse error // of each creation
	in     string
	ctx    context.Context
}

type outcome struct {
	code     int
	out, err string
}

func newShell(t *testing.T, objects ...client.Object) *shell {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, ctx: t.Context()}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.NFSBenchmark{}, &v1alpha1.NFSBenchmarkSuite{}).
		WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if err == nil && s.onGet != nil {
				s.onGet(o)
			}
			return err
		}, Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if s.refuse != nil {
				return s.refuse
			}
			return c.Create(ctx, o, opts...)
		}}).Build()
	return s
}

// now is the clock of every test.
func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// begun is when the first run of a test began.
func begun() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// run executes a command line.
func (s *shell) run(args ...string) outcome {
	s.t.Helper()
	a := &app{
		flags: genericclioptions.NewConfigFlags(true), now: now, every: time.Millisecond,
		connect: func(a *app) (*cluster, error) {
			namespace, explicit := "bench", false
			if n := *a.flags.Namespace; n != "" {
				namespace, explicit = n, true
			}
			return &cluster{Client: s.client, namespace: namespace, explicit: explicit}, nil
		},
	}
	var out, errOut bytes.Buffer
	code := a.execute(s.ctx, args, strings.NewReader(s.in), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

func (o outcome) mustEnd(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.out, o.err)
	}
	return o
}

func (o outcome) mustSay(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.out+o.err, text) {
			t.Errorf("no %q in\nstdout: %s\nstderr: %s", text, o.out, o.err)
		}
	}
}

func (s *shell) get(name string, o client.Object) {
	s.t.Helper()
	if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, o); err != nil {
		s.t.Fatal(err)
	}
}

// finished is a benchmark that succeeded, and the ConfigMap with its result of so
// many clients.
func finished(t *testing.T, name string, clients int32, mods ...gen.Mod) (*v1alpha1.NFSBenchmark, *corev1.ConfigMap) {
	t.Helper()
	mods = append([]gen.Mod{gen.UID("uid-" + name), gen.Repetitions(4), gen.Clients(clients)}, mods...)
	b := gen.Benchmark(name, mods...)
	addresses := []string{"10.0.1.61", "10.0.2.61"}
	p, err := plan.Build(b, plan.Target{Addresses: addresses, Export: "/vol/oradata", Paths: runfile.ChannelsTo(addresses...)})
	if err != nil {
		t.Fatal(err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: manifest.NamesOf(b).Result}, BinaryData: map[string][]byte{}}
	b.Status.ResultRef = &v1alpha1.ResultReference{Name: m.Name}
	for i := range clients {
		var buf bytes.Buffer
		part := runfile.Result{Plan: p, Clients: []runfile.ClientResult{gen.Client(t, p, i, begun())}}
		if _, err := runfile.WriteResultGzip(&buf, part); err != nil {
			t.Fatal(err)
		}
		m.BinaryData[runfile.ResultKey(i)] = buf.Bytes()
	}
	b.Status.Phase, b.Status.Verdict, b.Status.Validity = v1alpha1.PhaseSucceeded, bench.VerdictPass, bench.ValidityValid
	b.Status.Resolved = &v1alpha1.ResolvedStatus{Oranfstab: gen.Oranfstab(t, p)}
	return b, m
}

// suiteOf is a suite of two clients, nfs and dnfs, that succeeded.
func suiteOf(name string, change func(*v1alpha1.NFSBenchmarkSuite)) *v1alpha1.NFSBenchmarkSuite {
	s := &v1alpha1.NFSBenchmarkSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1alpha1.NFSBenchmarkSuiteSpec{Template: v1alpha1.BenchmarkTemplate{Spec: gen.Benchmark("x").Spec}, Repetitions: 6},
		Status: v1alpha1.NFSBenchmarkSuiteStatus{
			Phase: v1alpha1.SuiteSucceeded, Verdict: v1alpha1.SuiteNotEvaluated, Matrix: &v1alpha1.MatrixStatus{Cells: 2, Benchmarks: 12},
			Run: &v1alpha1.SuiteRunStatus{Name: name + "-1", Finished: 12, Succeeded: 12, Percent: 100},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

// record is the ConfigMap of a run of suiteOf: the mean latency of dnfs is factor
// times that of nfs.
func record(t *testing.T, suite, run string, started time.Time, factor float64) *corev1.ConfigMap {
	t.Helper()
	r := runfile.SuiteRun{
		Suite: suite, Namespace: "bench", Run: run, Started: started, Phase: "Succeeded", Settings: runfile.SuiteSettings{Repetitions: 6, Order: "Interleaved"},
		Cells: []runfile.SuiteCell{
			{Name: "nfs", Values: []runfile.SuiteAxis{{Axis: "client", Value: "nfs"}}},
			{Name: "dnfs", Values: []runfile.SuiteAxis{{Axis: "client", Value: "dnfs"}}},
		},
	}
	for rep := range int32(6) {
		for _, cell := range r.Cells {
			latency := 1000 + 3*float64(rep)
			if cell.Name == "dnfs" {
				latency *= factor
			}
			r.Results = append(r.Results, runfile.SuiteResult{
				Cell: cell.Name, Repetition: rep + 1, Position: 2*rep + 1, Benchmark: run + "-" + cell.Name, Phase: "Succeeded", Validity: "Valid",
				Points: []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: latency, bench.MetricThroughput: 1e12 / latency}}},
			})
		}
	}
	var b bytes.Buffer
	if err := runfile.WriteSuiteRunGzip(&b, r); err != nil {
		t.Fatal(err)
	}
	owner := *metav1.NewControllerRef(suiteOf(suite, nil), v1alpha1.GroupVersion.WithKind(suiteKind))
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "bench", Name: run + "-record", Labels: map[string]string{v1alpha1.LabelSuite: suite}, OwnerReferences: []metav1.OwnerReference{owner},
		},
		BinaryData: map[string][]byte{runfile.KeySuiteRun: b.Bytes()},
	}
}
