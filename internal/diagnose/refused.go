package diagnose

import (
	"fmt"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// podSecurity is how the API server refuses a pod by a Pod Security Standard.
var podSecurity = regexp.MustCompile(`violates PodSecurity "(restricted|baseline)`) //nolint:gochecknoglobals // a constant in all but name

// refusal says why the cluster takes no pods of a Job, and what to do where that
// is known.
func refusal(job *batchv1.Job, told string) string {
	said := fmt.Sprintf("the cluster refuses the pods of job %s: %s", job.Name, oneLine(told))
	m := podSecurity.FindStringSubmatch(told)
	if m == nil || !slices.ContainsFunc(job.Spec.Template.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == databaseContainer }) {
		return said
	}
	level := "baseline"
	if m[1] == level {
		level = "privileged" // what more was asked for, the user's own settings did
	}
	return fmt.Sprintf("namespace %s enforces the Pod Security Standard %s, under which no Oracle database runs: its image, and oradism of Direct NFS, are setuid programs, which need allowPrivilegeEscalation, and the volume is given to user oracle by root; kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=%s, or use another namespace (%s)",
		job.Namespace, m[1], job.Namespace, level, said)
}
