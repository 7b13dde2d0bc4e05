package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

func TestTheCheckOfAnInstallation(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{coordinationv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		refused error
		version bench.NFSVersion // by default
		renewed time.Duration    // ago; 0 = there is no Lease
		alone   bool
		want    string // in the error
	}{
		"works":         {version: bench.NFSv3, renewed: time.Second},
		"alone":         {version: bench.NFSv3, alone: true},
		"refused":       {refused: errors.New("no such kind"), want: "does not take a benchmark: no such kind"},
		"another CRD":   {want: "fills in no defaults"},
		"nobody leads":  {version: bench.NFSv3, want: "no manager has renewed Lease system/manager.nfsbench.io"},
		"leads no more": {version: bench.NFSv3, renewed: 2 * leaseFresh, want: "no manager has renewed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
					Create: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.CreateOption) error {
						var asked client.CreateOptions
						asked.ApplyOptions(opts)
						if len(asked.DryRun) == 0 {
							t.Error("the benchmark would be kept")
						}
						o.(*v1alpha1.NFSBenchmark).Spec.Protocol.Version = tc.version
						return tc.refused
					},
				})
				if tc.renewed != 0 {
					b = b.WithObjects(&coordinationv1.Lease{
						ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: leaderLease},
						Spec: coordinationv1.LeaseSpec{
							HolderIdentity: new("nfsbench-0"), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-tc.renewed)},
						},
					})
				}
				ctx, cancel := context.WithTimeout(t.Context(), checkPatience) // by the clock of the bubble
				defer cancel()
				var out strings.Builder
				err := check(ctx, b.Build(), "system", !tc.alone, &out)
				switch {
				case tc.want == "" && (err != nil || strings.Contains(out.String(), "leads") == tc.alone):
					t.Errorf("%v, %q", err, out.String())
				case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("%v, want %q", err, tc.want)
				}
			})
		})
	}
}
