package benchmark

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// configMaps are all that a namespace holds. It accepts patches, and keeps nothing of them.
type configMaps struct {
	client.Client
	of map[string]*corev1.ConfigMap
}

func (c configMaps) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	into, ok := obj.(*corev1.ConfigMap)
	if cm := c.of[key.Name]; ok && cm != nil {
		*into = *cm
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
}

func (configMaps) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// readerOf has a namespace that holds the objects of a run whose owner is b.
func readerOf(b *v1alpha1.NFSBenchmark, planText string, result *corev1.ConfigMap) (*Reconciler, *scope) {
	c := configMaps{of: map[string]*corev1.ConfigMap{
		manifest.NamesOf(b).Plan:   manifest.PlanConfigMap(b, planText, ""),
		manifest.NamesOf(b).Result: result,
	}}
	return &Reconciler{Options: Options{Client: c, Reader: c}}, &scope{b: b, names: manifest.NamesOf(b), now: time.Unix(1e9, 0)}
}

// planned is a benchmark that two clients run, with its plan and the hash of that.
func planned(t testing.TB) (*v1alpha1.NFSBenchmark, runfile.Plan, string) {
	t.Helper()
	b := gen.Benchmark("demo", gen.UID("u"), gen.Clients(2))
	raw := b.Spec.Workload.Raw
	raw.Pattern, raw.ReadPercent = bench.PatternRandomMixed, new(int32(60))
	raw.Capacity = gen.CapacityWithin("", runfile.LatencyBound{Percentile: "p99", Microseconds: 1000})
	p, err := plan.Build(b, plan.Target{Export: "/vol/oradata", Paths: runfile.ChannelsTo(b.Spec.Storage.Export.Servers...)})
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.Workload = *p.Workload.DeepCopy() // with the defaults of the CRD
	var text strings.Builder
	if err := runfile.WritePlan(&text, p); err != nil {
		t.Fatal(err)
	}
	b.Status.PlanHash = hashOf(text.String())
	return b, p, text.String()
}

// FuzzKnownPlan reads a plan of hostile bytes whose hash is right. What is taken has the sizes that
// the spec allows.
func FuzzKnownPlan(f *testing.F) {
	b, _, text := planned(f)
	f.Add(text)
	f.Add(strings.Replace(text, `"clients": 2`, `"clients": 2147483647`, 1))
	f.Add(strings.Replace(text, `"repetitions": 1`, `"repetitions": 2147483647`, 1))
	f.Add(`{"version":"nfsbench.io/plan/v99"}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := b.DeepCopy()
		b.Status.PlanHash = hashOf(text)
		r, s := readerOf(b, text, nil)
		memory.Bound(t, 256<<10+32*len(text)+2048*runfile.ElementsOf([]byte(text)), func() {
			p, err := r.knownPlan(t.Context(), s)
			if err == nil && (p.Clients != 2 || p.Run.UID != "u" || p.Schedule.Repetitions != 1) {
				t.Errorf("taken: %+v", p)
			}
		})
	})
}

// FuzzReadResult reads a ConfigMap in which pods published hostile bytes, and decides what follows.
// The operator takes what makes sense, unpacks no more than it allows itself, and goes on.
func FuzzReadResult(f *testing.F) {
	b, p, text := planned(f)
	var packed bytes.Buffer
	result := runfile.Result{Plan: p, Clients: []runfile.ClientResult{{Load: runfile.Load{Partial: true}}}}
	if _, err := runfile.WriteResultGzip(&packed, result); err != nil {
		f.Fatal(err)
	}
	levels, err := levelsText(p, nil)
	if err != nil {
		f.Fatal(err)
	}
	const report = `{"span":"Measure","percent":40,"ready":true,"level":{"index":1,"due":[5,6],"done":[5],"slow":[[1],[2,3]]}}`
	f.Add(report, levels, packed.Bytes())
	f.Add(`{"percent":-2147483648,"final":true,"failed":true}`, `{"levels":[{"index":1}]}`, []byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, progress, levels string, result []byte) {
		published := manifest.ResultConfigMap(b)
		published.Data = map[string]string{
			runfile.KeyRelease: "now", runfile.KeyLevels: levels,
			runfile.ProgressKey(0): progress, runfile.ProgressKey(1): progress,
		}
		published.BinaryData = map[string][]byte{runfile.ResultKey(0): result}
		// 200,000 elements of the largest struct, twice for a slice that grows, and the text.
		memory.Bound(t, 320<<20+512*(len(progress)+len(levels)+len(result)), func() {
			r, s := readerOf(b, text, published)
			var err error
			if s.plan, err = r.knownPlan(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			err = r.readResult(t.Context(), s)
			if other := (*runfile.VersionError)(nil); err != nil && !errors.As(err, &other) {
				t.Fatal(err)
			}
			setProgress(s)
			if _, err = r.nextLevel(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		})
	})
}
