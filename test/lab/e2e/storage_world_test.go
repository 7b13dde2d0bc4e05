package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/lab/array"
)

// arraySecret is the Secret with the account of the array.
const arraySecret = "array-account"

// twoNodes is the stand-in for an ONTAP cluster: two nodes with a real data path
// and REST over TLS. Its counters move every second, not every 15, so that a
// short run sees them.
type twoNodes struct {
	*standin.Array
	rest *standin.REST
}

// newTwoNodes lets the test run beside others; name and net are unique.
func newTwoNodes(t *testing.T, name string, net int) *twoNodes {
	t.Helper()
	if os.Getenv("NFSBENCH_LAB") != "1" {
		t.Skip("needs NFS-Ganesha in network namespaces: run `make test` as root, which sets NFSBENCH_LAB=1")
	}
	if err := standin.Missing(); err != nil {
		t.Fatalf("NFSBENCH_LAB is 1, but: %v", err)
	}
	t.Parallel()
	subnets := []string{fmt.Sprintf("10.%d.1.0/24", net), fmt.Sprintf("10.%d.2.0/24", net)}
	a, err := standin.Start(t.Context(), standin.Options{Name: name, Subnets: subnets})
	if err != nil {
		t.Fatalf("start the array of two nodes: %v", err)
	}
	t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			t.Errorf("stop the array of two nodes: %v", err)
		}
	})
	rest, err := a.StartREST(standin.RESTOptions{Grid: time.Second})
	if err != nil {
		t.Fatalf("serve REST of the array: %v", err)
	}
	return &twoNodes{Array: a, rest: rest}
}

// password of one of its accounts.
func (w *twoNodes) password(t *testing.T, user string) string {
	t.Helper()
	for _, a := range w.rest.Accounts {
		if a.User == user {
			return a.Password
		}
	}
	t.Fatalf("the array has no account %q", user)
	return ""
}

// secret keeps an account in a namespace, as its user would.
func (c *cluster) secret(t *testing.T, ns, name, user, password string) {
	t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed}},
		StringData: map[string]string{"username": user, "password": password},
	}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatalf("create Secret %s: %v", name, err)
	}
}

// management is where REST is served, as host:port.
func (w *twoNodes) management() string { return strings.TrimPrefix(w.rest.URL, "https://") }

// asked lets the array be asked with the account of a Secret.
func (w *twoNodes) asked(secret string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		gen.ONTAP(w.management(), w.rest.SVM, secret)(b)
		b.Spec.Storage.Array.ONTAP.TLS.CABundle = string(w.rest.CA)
		b.Spec.Storage.Array.IntervalSeconds = 1
	}
}

// export is the first volume, by all LIFs.
func (w *twoNodes) export() gen.Mod {
	var addresses []string
	for _, l := range w.LIFs() {
		addresses = append(addresses, l.Address)
	}
	return gen.Export(w.Volumes()[0].Junction, addresses...)
}

// blocks reads database blocks at random for some seconds, after an idle baseline that
// is long enough to see what the nodes do without us. Nothing shapes the links of these
// nodes: few reads at once keep other tests from starving.
func blocks(measured int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		seconds(measured)(b)
		*b.Spec.Run.BaselineSeconds, *b.Spec.Run.WarmupSeconds = 4, 2
		raw(func(w *bench.RawWorkload) { w.Pattern, w.Jobs, w.Depth = bench.PatternRandomRead, 1, 2 })(b)
		b.Spec.Workload.Raw.BlockSize.Set(8 << 10)
		fileSize("16Mi")(b)
	}
}

// node is what the status reports about a storage node.
func storageNode(b *v1alpha1.NFSBenchmark, name string) v1alpha1.StorageNodeStatus {
	for _, n := range b.Status.StorageNodes {
		if n.Name == name {
			return n
		}
	}
	return v1alpha1.StorageNodeStatus{}
}

// unread reports whether the readings of the array cover too little of the window of a run for its counters to
// stand for it, as where the machine is busy. The run must say so, and rightly: the array was read, and less often
// than once a second.
func unread(t *testing.T, b *v1alpha1.NFSBenchmark) bool {
	t.Helper()
	i := slices.IndexFunc(b.Status.Findings, func(f bench.Finding) bool {
		return f.Code == judge.ArrayMetricsPartial && strings.Contains(f.Message, "no usable counters")
	})
	if i < 0 {
		return false
	}
	all, inside := readings(newCluster(t).results(t, b)[0].Clients[0])
	said := fmt.Sprintf("%s, with %d readings, %d of them in the window: %s", b.Name, all, inside, b.Status.Findings[i].Message)
	if all == 0 || inside >= int(b.Spec.Run.DurationSeconds) {
		t.Errorf("the array is not called unread because of a busy machine: %s", said)
	}
	t.Log(said)
	return true
}

// readings counts what a client read of its storage, and how much of that in its first window.
func readings(cl runfile.ClientResult) (all, inside int) {
	rep, times := cl.Load.Repetitions[0], map[int64]bool{}
	for _, s := range cl.Observed.Storage {
		if !s.Time.Before(rep.Start) && !s.Time.After(rep.End) {
			times[s.Time.UnixNano()] = true
		}
	}
	return len(cl.Observed.Storage), len(times)
}

// lifBytes is what the array sent by an address, as the result has it.
func lifBytes(t *testing.T, b *v1alpha1.NFSBenchmark, address string) (sent int64) {
	t.Helper()
	_, j := judged(t, b)
	known := false
	for _, r := range j.Repetitions {
		for _, p := range r.StoragePaths {
			if p.Address == address && p.ReadBytes != nil {
				known, sent = true, sent+*p.ReadBytes
			}
		}
	}
	if !known {
		t.Errorf("the result does not have the bytes of %s: %+v", address, j.Summary.StoragePaths)
	}
	return sent
}

// secretsStay demands that a password is in no object of the namespace but its
// Secret, in no event, and in no log.
func (c *cluster) secretsStay(ctx context.Context, t *testing.T, ns string, passwords ...string) {
	t.Helper()
	var said strings.Builder
	for _, args := range [][]string{
		{"-n", ns, "get", "nfsb,cm,jobs,pods,pvc,events,sa,roles,rolebindings,leases", "-o", "yaml"},
		{"-n", systemNamespace, "get", "cm,pods,events,leases", "-o", "yaml"},
		{"-n", systemNamespace, "logs", "-l", "app.kubernetes.io/name=nfsbench", "--tail", "-1"},
		{"get", "pv,storageclass", "-o", "yaml"},
	} {
		out, err := kubectl(t, "", args...)
		if err != nil {
			t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, clipped(out))
		}
		said.WriteString(out)
	}
	if !strings.Contains(said.String(), "nfsbench") || said.Len() < 1000 {
		t.Errorf("nothing was looked at: %d bytes", said.Len())
	}
	for _, p := range passwords {
		if len(p) < 8 {
			t.Fatalf("password %q is too short to look for", p)
		}
		if strings.Contains(said.String(), p) {
			t.Errorf("a password stands in an object, an event or a log of %s", ns)
		}
	}
	_ = ctx
}

func clipped(s string) string {
	if len(s) > 500 {
		return s[:500] + "..."
	}
	return s
}
