package manifest

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// NetworkPolicies returns the policies that close the pods of a run. Nobody may connect to loaders and collectors,
// except Prometheus to the live metrics; only pods of the run may connect to the embedded server.
//
// If the kernel mounts the embedded server, its NFS ports are open to all: the node of a client mounts it, and a
// NetworkPolicy cannot select nodes.
func NetworkPolicies(b *v1alpha1.NFSBenchmark, images Images) []*networkingv1.NetworkPolicy {
	n := NamesOf(b)
	policy := func(name, component string, selector metav1.LabelSelector,
		ingress ...networkingv1.NetworkPolicyIngressRule,
	) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{
			ObjectMeta: meta(b, name, component),
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: selector, Ingress: ingress, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			},
		}
	}
	ofRun := metav1.LabelSelector{MatchLabels: map[string]string{LabelUID: string(b.UID)}}
	clients := *ofRun.DeepCopy()
	clients.MatchExpressions = []metav1.LabelSelectorRequirement{{
		Key: LabelComponent, Operator: metav1.LabelSelectorOpNotIn, Values: []string{ComponentServer},
	}}
	var live []networkingv1.NetworkPolicyIngressRule
	if images.LiveMetricsPort != 0 {
		live = append(live, networkingv1.NetworkPolicyIngressRule{Ports: ports(int(images.LiveMetricsPort))})
	}
	out := []*networkingv1.NetworkPolicy{policy(n.Clients, ComponentConfig, clients, live...)}
	storage := b.Spec.Storage.Embedded
	if storage == nil {
		return out
	}
	run := []networkingv1.NetworkPolicyPeer{{PodSelector: &ofRun}}
	nfs := networkingv1.NetworkPolicyIngressRule{From: run, Ports: ports(serverPortmap)}
	for i := range pathCount(storage) {
		nfs.Ports = append(nfs.Ports, ports(serverPort+i)...)
	}
	if plan.NeedsVolume(b) {
		nfs.From = nil
	}
	return append(out, policy(n.Server, ComponentServer,
		metav1.LabelSelector{MatchLabels: map[string]string{LabelUID: string(b.UID), LabelComponent: ComponentServer}},
		nfs, networkingv1.NetworkPolicyIngressRule{From: run, Ports: ports(CountersPort)}))
}

func ports(port int) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt(port))}}
}
