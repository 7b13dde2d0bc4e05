package judge

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Bytes rarely fuzz into a result that is read at all, so this test breaks
// results field by field: judging any of them must not panic.
func TestJudgingABrokenResultDoesNotPanic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		r := []func(testing.TB) runfile.Result{good, kernelRun}[seed%2](t)
		r.Clients = append(r.Clients, client(t, 1))
		if seed%3 == 0 {
			discover(&r, 10e9)
		}
		breakFields(reflect.ValueOf(&r).Elem(), rnd, 0.02)
		Judge(r)
	}
}

func breakFields(v reflect.Value, rnd *rand.Rand, p float64) {
	if rnd.Float64() < p && v.CanSet() {
		switch v.Kind() {
		case reflect.Int32:
			v.SetInt([]int64{-1, 1, math.MaxInt32, math.MinInt32}[rnd.IntN(4)])
		case reflect.Int64:
			v.SetInt([]int64{-1, 1, math.MaxInt64, math.MinInt64}[rnd.IntN(4)])
		case reflect.Float64:
			v.SetFloat([]float64{-1, math.MaxFloat64, 1e-300}[rnd.IntN(3)])
		default:
			v.SetZero()
		}
	}
	switch v.Kind() { //nolint:exhaustive // leaves need nothing more
	case reflect.Pointer:
		if !v.IsNil() {
			breakFields(v.Elem(), rnd, p)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			breakFields(field, rnd, p)
		}
	case reflect.Slice:
		for i := range v.Len() {
			breakFields(v.Index(i), rnd, p)
		}
	}
}
