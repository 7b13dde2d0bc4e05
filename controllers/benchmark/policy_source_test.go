package benchmark

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAChangeOfThePolicyHoldsAtOnce: admission knows it at once, too.
func TestAChangeOfThePolicyHoldsAtOnce(t *testing.T) {
	t.Parallel()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "policy"}}
	c := fake.NewClientBuilder().WithObjects(cm).Build()
	write := func(text string) {
		t.Helper()
		cm.Data = map[string]string{policy.Key: text, policy.UpgradeKey: "helm x"}
		if err := c.Update(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	write("limits: {clients: 2}")
	read := PolicyIn(c, client.ObjectKeyFromObject(cm))
	for range 2 {
		if p, err := read(t.Context()); err != nil || p.Limits.Clients != 2 || p.Upgrade != "helm x" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	write("limits: {clients: 3}")
	if p, err := read(t.Context()); err != nil || p.Limits.Clients != 3 {
		t.Errorf("after a change: %+v, %v", p, err)
	}
	write("limits: {client: 3}")
	for range 2 { // the second answer must not be that of the policy before
		if p, err := read(t.Context()); err == nil || !strings.Contains(err.Error(), "system/policy") || p.Limits.Clients == 3 {
			t.Errorf("a mistake in the policy: %+v, %v", p, err)
		}
	}
	if err := c.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context()); err == nil {
		t.Error("a ConfigMap that is gone still has a policy")
	}
}

// TestNoClaimIsMadeThatThePolicyDoesNotAllow, nor a volume, whatever the benchmark says.
func TestNoClaimIsMadeThatThePolicyDoesNotAllow(t *testing.T) {
	t.Parallel()
	r := reconcilerWith(t)
	b := gen.Benchmark("b", gen.In("bench"), gen.StorageClass("gold"))
	s := &scope{b: b, names: manifest.NamesOf(b)}
	s.policy.StorageClasses = []policy.StorageClass{{Name: "gold", Namespaces: []string{"bench"}, MaxSize: "10Gi"}}
	pvc := manifest.ClassClaim(b)
	pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("11Gi")
	for what, err := range map[string]error{
		"claim": r.ensureClaim(t.Context(), s, pvc), "volume": r.ensureVolume(t.Context(), s, manifest.Volume(b, "192.0.2.1", "/x")),
	} {
		if bad := (*pass.Invalid)(nil); !errors.As(err, &bad) || bad.Reason != v1alpha1.ReasonPolicyDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAClassThatDoesNotExistIsNotTheMatterOfThePolicy: the name is a typo, and the policy would hide it.
func TestAClassThatDoesNotExistIsNotTheMatterOfThePolicy(t *testing.T) {
	t.Parallel()
	class := func(name string, labels map[string]string) client.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	r := reconcilerWith(t, class("gold", nil), class("silk", map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}))
	for name, tc := range map[string]struct {
		mod    gen.Mod
		reason string
		says   string
	}{
		"typo":          {gen.StorageClass("golt"), v1alpha1.ReasonClassNotFound, `there is no StorageClass "golt" (did you mean "gold"?): create it, or correct spec.storage.storageClass.name`},
		"Trident":       {gen.TridentClass("golt"), v1alpha1.ReasonClassNotFound, `did you mean "gold"?): create it, or correct spec.storage.trident.storageClassName`},
		"of a run":      {gen.StorageClass("silt"), v1alpha1.ReasonClassNotFound, "(there is gold)"},
		"that exists":   {gen.StorageClass("gold"), v1alpha1.ReasonPolicyDenied, "policy.storageClasses"},
		"without class": {gen.TridentBackend("golt"), v1alpha1.ReasonPolicyDenied, "policy.backends"},
	} {
		b := gen.Benchmark("b", gen.In("bench"), tc.mod)
		b.Spec.Clients = 1
		r.Policy = func(context.Context) (policy.Policy, error) {
			return policy.Policy{StorageClasses: []policy.StorageClass{{Name: "gold", Namespaces: []string{"bench"}, MaxSize: "1Mi"}}}, nil
		}
		_, err := r.checkPolicy(t.Context(), &scope{b: b, names: manifest.NamesOf(b)})
		if bad := (*pass.Invalid)(nil); !errors.As(err, &bad) || bad.Reason != tc.reason || !strings.Contains(bad.Error(), tc.says) {
			t.Errorf("%s: %v, want %s", name, err, tc.says)
		}
	}
}

// TestAMissingClassIsNoSuggestion although the policy allows it.
func TestAMissingClassIsNoSuggestion(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[string]string{
		"golt": "see kubectl get storageclass", "gold": `did you mean "gold"?`, "*": "see kubectl get storageclass",
	} {
		s := &scope{b: gen.Benchmark("b", gen.In("bench"))}
		s.policy.StorageClasses = []policy.StorageClass{{Name: allowed, Namespaces: []string{"bench"}}}
		if got := otherClasses(s, "golt"); got != want {
			t.Errorf("%s is allowed: %q, want %q", allowed, got, want)
		}
	}
}
