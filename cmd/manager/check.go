package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const (
	// leaderLease names the Lease that the leading manager holds.
	leaderLease = "manager.nfsbench.io"
	// leaseFresh bounds the time since a working manager renewed its Lease.
	leaseFresh = time.Minute
	// checkPatience bounds the wait for a manager that has just been started.
	checkPatience = 2 * time.Minute
)

// check tests an installation, for `helm test`: the API server accepts a benchmark in a dry run, and a manager leads
// if managers elect a leader.
func check(ctx context.Context, c client.Client, namespace string, elects bool, out io.Writer) error {
	b := &v1alpha1.NFSBenchmark{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Namespace: namespace},
		Spec: v1alpha1.NFSBenchmarkSpec{
			Storage: v1alpha1.Storage{Embedded: &v1alpha1.EmbeddedStorage{Size: resource.MustParse("1Gi")}},
			Workload: bench.Workload{Raw: &bench.RawWorkload{
				Pattern: bench.PatternRead, FileSize: resource.MustParse("64Mi"),
			}},
		},
	}
	if err := c.Create(ctx, b, client.DryRunAll); err != nil {
		return fmt.Errorf("the API server does not take a benchmark: %w", err)
	}
	if b.Spec.Protocol.Version == "" {
		return errors.New("the API server fills in no defaults: is the CustomResourceDefinition that of this release?")
	}
	fmt.Fprintln(out, "the API server takes benchmarks")
	if !elects {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	for {
		l := &coordinationv1.Lease{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leaderLease}, l)
		leads := err == nil && l.Spec.RenewTime != nil && l.Spec.HolderIdentity != nil &&
			time.Since(l.Spec.RenewTime.Time) < leaseFresh
		if leads {
			fmt.Fprintf(out, "manager %s leads\n", *l.Spec.HolderIdentity)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no manager has renewed Lease %s/%s within %s: look at the log of the Deployment (%w)", namespace,
				leaderLease, leaseFresh, cmp.Or(err, errors.New("the Lease is old")))
		case <-time.After(time.Second):
		}
	}
}
