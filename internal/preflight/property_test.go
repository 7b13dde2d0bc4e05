package preflight

import (
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// What is not known never stops a run, whatever the run is.
func TestASurveyThatKnowsNothingPasses(t *testing.T) {
	t.Parallel()
	surveys := map[string]*runfile.Survey{
		"no survey":      nil,
		"an empty one":   {},
		"empty parts":    {Volume: &runfile.SurveyVolume{}, NFS: &runfile.NFSService{}, Rules: []runfile.ExportRule{}, LIFs: []runfile.LIF{}},
		"a problem only": {Problem: &runfile.SurveyProblem{Reason: runfile.SurveyFailed}},
	}
	rnd := rand.New(rand.NewPCG(1, 7))
	for name, s := range surveys {
		for range 200 {
			in := Input{Benchmark: anyBenchmark(rnd), Target: plan.Target{Survey: s, Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}}}
			for _, r := range Check(in) {
				if r.Message != "" {
					t.Fatalf("%s: %s says %q of %+v", name, r.Code, r.Message, in.Benchmark.Spec)
				}
			}
		}
	}
}

func anyBenchmark(rnd *rand.Rand) *v1alpha1.NFSBenchmark {
	b := gen.Benchmark("any", gen.Clients(rnd.Int32N(64)), gen.Version([]bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41, bench.PNFS}[rnd.IntN(4)]))
	b.Spec.Protocol.UserID = new(rnd.Int64N(2))
	b.Spec.Storage.Array = []*v1alpha1.ArrayAccess{nil, {}, {ONTAP: &v1alpha1.ONTAPAccess{}}, {FlashBlade: &v1alpha1.FlashBladeAccess{}}}[rnd.IntN(4)]
	if rnd.IntN(2) == 0 {
		b.Spec.Storage.Export, b.Spec.Storage.Trident = nil, &v1alpha1.TridentStorage{}
	}
	transfer(([]string{"4Ki", "1Mi"})[rnd.IntN(2)])(&Input{Benchmark: b})
	if rnd.IntN(4) == 0 {
		b.Spec.Workload.Raw = nil
	}
	return b
}

// Surveys come from a ConfigMap that others may write: whatever stands in one
// must not stop the manager.
func TestABrokenSurveyDoesNotPanic(t *testing.T) {
	t.Parallel()
	camel := regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		in := good()
		breakFields(reflect.ValueOf(in.Target.Survey).Elem(), rnd)
		results := Check(in)
		if !slices.EqualFunc(results, Check(in), func(a, b Result) bool { return a == b }) {
			t.Fatalf("seed %d: two answers to one question", seed)
		}
		for _, r := range results {
			if !camel.MatchString(r.Code) {
				t.Fatalf("seed %d: %+v", seed, r)
			}
		}
	}
}

func breakFields(v reflect.Value, rnd *rand.Rand) {
	if rnd.Float64() < 0.1 && v.CanSet() {
		switch v.Kind() { //nolint:exhaustive // the others have but one way to break
		case reflect.Int32:
			v.SetInt([]int64{-1, 1, 33, 129, math.MaxInt32, math.MinInt32}[rnd.IntN(6)])
		case reflect.Int64:
			v.SetInt([]int64{-1, 1, math.MaxInt64, math.MinInt64}[rnd.IntN(4)])
		case reflect.String:
			v.SetString([]string{"", "x", "10.0.1.61", "::/0", "10.0.0.0/300", "fe80::1%eth0", ",,"}[rnd.IntN(7)])
		default:
			v.SetZero()
		}
	}
	switch v.Kind() { //nolint:exhaustive // leaves need nothing more
	case reflect.Pointer:
		if !v.IsNil() {
			breakFields(v.Elem(), rnd)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				breakFields(v.Field(i), rnd)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			breakFields(v.Index(i), rnd)
		}
	}
}
