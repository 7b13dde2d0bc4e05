package judge

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

// Bytes rarely fuzz into a result that is read at all, so this test breaks
// results field by field: judging any of them must not panic.
func TestJudgingABrokenResultDoesNotPanic(t *testing.T) {
	t.Parallel()
	bases := []func(testing.TB) runfile.Result{
		good, kernelRun, twoNodes("b"), pnfsRun, nativePNFS("10.0.1.61", "10.0.3.61"), arrayTrouble, scanRun, onKernel, ladder, inBatches,
		func(testing.TB) runfile.Result { return experiments.Ramp() }, func(testing.TB) runfile.Result { return experiments.Calibrations()[4].Result() },
	}
	for seed := range uint64(160) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		r := bases[seed%uint64(len(bases))](t)
		r.Clients = append(r.Clients, client(t, 1))
		if seed%3 == 0 {
			discover(&r, 10e9)
		}
		breakFields(reflect.ValueOf(&r).Elem(), rnd, 0.02)
		Judge(r)
	}
}

// arrayTrouble has everything at once that an array can have.
func arrayTrouble(t testing.TB) runfile.Result {
	t.Helper()
	r := twoNodes("b")(t)
	r.Plan.Survey.Volume.QoS = &runfile.QoS{Policy: "gold", MaxIOPS: new(int64(100)), MaxBytesPerSecond: new(int64(1000))}
	r.Plan.Survey.Missing = []runfile.MissingFact{{What: "CPU", Why: "403"}}
	r.Plan.Survey.ClockOffsetMilliseconds = new(int64(9000))
	r.Plan.Survey.LIFs[1].AtHome = new(false)
	r.Plan.Survey.NFS.TransferSizeBytes = new(int64(65536))
	r.Clients[0].Load.Mount.ReadSizeBytes = 65536
	one(2, func(w *runfile.StorageWindow) { w.VolumeNodes = []string{"a", "b", "a"} })(&r)
	one(3, func(w *runfile.StorageWindow) { w.ReadBytes = new(int64(0)) })(&r)
	sampled(&r, func(s *runfile.StorageSample, i int) { s.VolumeNode = []string{"a", "b", "", "a"}[i] })
	return r
}

func breakFields(v reflect.Value, rnd *rand.Rand, p float64) {
	if rnd.Float64() < p && v.CanSet() {
		switch v.Kind() {
		case reflect.Int32:
			v.SetInt([]int64{-1, 1, math.MaxInt32, math.MinInt32}[rnd.IntN(4)])
		case reflect.Int64:
			v.SetInt([]int64{-1, 1, math.MaxInt64, math.MinInt64}[rnd.IntN(4)])
		case reflect.String:
			v.SetString([]string{"", "x", "pNFS", "10.0.1.61", "addr=", ":/"}[rnd.IntN(6)])
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
