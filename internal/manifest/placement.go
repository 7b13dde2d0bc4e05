package manifest

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// podsOf returns the pod settings of the benchmark, merged over the administrator's defaults.
func podsOf(b *v1alpha1.NFSBenchmark, images Images) v1alpha1.Pods {
	p, defaults := ptr.Deref(b.Spec.Pods, v1alpha1.Pods{}), images.Pods
	p.Labels = over(defaults.Labels, p.Labels)
	p.Annotations = over(defaults.Annotations, p.Annotations)
	p.NodeSelector = over(defaults.NodeSelector, p.NodeSelector)
	p.Affinity = cmp.Or(p.Affinity, defaults.Affinity)
	p.PriorityClassName = cmp.Or(p.PriorityClassName, defaults.PriorityClassName)
	p.RuntimeClassName = cmp.Or(p.RuntimeClassName, defaults.RuntimeClassName)
	p.SecurityContext = cmp.Or(p.SecurityContext, defaults.SecurityContext)
	p.Resources = cmp.Or(p.Resources, defaults.Resources)
	if p.Tolerations == nil {
		p.Tolerations = defaults.Tolerations
	}
	if p.TopologySpreadConstraints == nil {
		p.TopologySpreadConstraints = defaults.TopologySpreadConstraints
	}
	return p
}

// over merges two maps; values of high take precedence.
func over(low, high map[string]string) map[string]string {
	if len(low) == 0 {
		return high
	}
	out := maps.Clone(low)
	maps.Copy(out, high)
	return out
}

// place sets the security context and the spread of load pods, which no other pods get.
func place(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, clients int32, images Images) {
	p := podsOf(b, images)
	if s := p.SecurityContext; s != nil {
		spec.SecurityContext.SupplementalGroups = append(spec.SecurityContext.SupplementalGroups, s.SupplementalGroups...)
		if s.SELinuxLevel != "" {
			spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Level: s.SELinuxLevel}
		}
	}
	ours := &metav1.LabelSelector{MatchLabels: Labels(b, ComponentLoad)}
	spread := slices.Clone(p.TopologySpreadConstraints)
	for i := range spread {
		spread[i].LabelSelector = cmp.Or(spread[i].LabelSelector, ours)
	}
	if clients > 1 && !slices.ContainsFunc(spread, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == corev1.LabelHostname
	}) {
		spread = append(spread, corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       corev1.LabelHostname,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     ours,
		})
	}
	spec.TopologySpreadConstraints = spread
}
