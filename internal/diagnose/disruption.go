package diagnose

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Disruption says who took a pod from a run that was under way, or nil where
// nobody did. Kubernetes marks such pods before it ends them.
func Disruption(pods []corev1.Pod) *Trouble {
	for i := range pods {
		if t := disrupted(&pods[i]); t != nil {
			return t
		}
	}
	return nil
}

func disrupted(p *corev1.Pod) *Trouble {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue {
			continue
		}
		return &Trouble{
			Reason: v1alpha1.ReasonPodLost, Fatal: true,
			Message: fmt.Sprintf("pod %s was taken from node %s while it ran: %s (%s)", p.Name, p.Spec.NodeName,
				advice(c.Reason), oneLine(c.Reason+": "+c.Message)),
		}
	}
	return nil
}

// advice says in words what a reason of DisruptionTarget means, and what to do.
func advice(reason string) string {
	const again = "run the benchmark again, under another name, "
	switch reason {
	case "EvictionByEvictionAPI":
		return "it was evicted, as kubectl drain and autoscalers do; " + again +
			"when the node is back or with spec.pods.nodeSelector on one that stays"
	case corev1.PodReasonPreemptionByScheduler:
		return "a pod of higher priority took its place; " + again + "on a node with room"
	case "DeletionByTaintManager":
		return "its node was tainted, because it is down or was put out of service; " + again +
			"when the node is back or on another"
	case "DeletionByPodGC":
		return "its node is gone; " + again + "on another"
	case corev1.PodReasonTerminationByKubelet:
		return "its node shut down or was short of memory or disk; " + again + "when that is fixed"
	default:
		return again + "when the cause is gone"
	}
}
