package benchmark

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAClassMountsTheVersionThatTheKernelUses: a client in user space ignores its options.
func TestAClassMountsTheVersionThatTheKernelUses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client  gen.Mod
		options []string
		says    string // "" = the class can be used
	}{
		"the declared version":      {gen.Kernel, []string{"nfsvers=3"}, ""},
		"another version":           {gen.Kernel, []string{"nfsvers=4.1"}, "mounts with nfsvers=4.1"},
		"no version":                {gen.Kernel, nil, "leaves the version of NFS to be negotiated"},
		"another, and Direct NFS":   {func(*v1alpha1.NFSBenchmark) {}, []string{"nfsvers=4.1"}, ""},
		"no version and Direct NFS": {func(*v1alpha1.NFSBenchmark) {}, nil, ""},
	} {
		b := gen.Benchmark("demo", tc.client)
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: trident.Driver, MountOptions: tc.options,
		}
		reason, message := classProblem(b, class)
		if (reason == "") != (tc.says == "") || !strings.Contains(message, tc.says) {
			t.Errorf("%s: %q %q, want %q", name, reason, message, tc.says)
		}
	}
}

// TestTheLastCallOfAProvisionerIsThatWhichCounts: events have whole seconds, come in any order,
// and after some errors the provisioner goes on.
func TestTheLastCallOfAProvisionerIsThatWhichCounts(t *testing.T) {
	t.Parallel()
	at := func(seconds int, reason, message string) corev1.Event {
		return corev1.Event{
			Reason: reason, Message: message,
			LastTimestamp: metav1.NewTime(time.Unix(1_800_000_000+int64(seconds), 0)),
		}
	}
	const desc = "failed to provision volume with StorageClass \"gold\": rpc error: code = "
	for name, tc := range map[string]struct {
		told []corev1.Event
		want string
	}{
		"nothing":              {nil, ""},
		"others":               {[]corev1.Event{at(1, "ExternalProvisioning", "waiting")}, ""},
		"asked":                {[]corev1.Event{at(1, callBegins, "")}, callBegins},
		"made":                 {[]corev1.Event{at(2, callSucceeded, ""), at(1, callBegins, "")}, callSucceeded},
		"made at once":         {[]corev1.Event{at(1, callSucceeded, ""), at(1, callBegins, "")}, callSucceeded},
		"refused":              {[]corev1.Event{at(1, callBegins, ""), at(2, callFails, desc+"Unknown desc = no pool")}, callFails},
		"refused at once":      {[]corev1.Event{at(1, callBegins, ""), at(1, callFails, desc+"Unknown desc = no pool")}, callFails},
		"tried again":          {[]corev1.Event{at(2, callFails, desc+"Unknown desc = no pool"), at(9, callBegins, "")}, callBegins},
		"timed out":            {[]corev1.Event{at(1, callBegins, ""), at(601, callFails, desc+"DeadlineExceeded desc = x")}, callBegins},
		"the driver restarted": {[]corev1.Event{at(1, callBegins, ""), at(5, callFails, desc+"Unavailable desc = x")}, callBegins},
	} {
		if got, _ := lastCall(tc.told); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
