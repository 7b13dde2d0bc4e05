package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// podSecurity is how the API server refuses a pod by a Pod Security Standard.
var podSecurity = regexp.MustCompile(`violates PodSecurity "(restricted|baseline)`) //nolint:gochecknoglobals // a constant in all but name

// refusal says why the cluster takes no pods of a Job, and what to do where that
// is known.
func refusal(job *batchv1.Job, message string) string {
	said := fmt.Sprintf("the cluster refuses the pods of job %s: %s", job.Name, oneLine(message))
	m := podSecurity.FindStringSubmatch(message)
	if m == nil || !slices.ContainsFunc(job.Spec.Template.Spec.InitContainers,
		func(c corev1.Container) bool { return c.Name == databaseContainer }) {
		return said
	}
	level := "baseline"
	if m[1] == level {
		level = "privileged" // what more is asked for, the user's own settings do
	}
	return fmt.Sprintf("namespace %s enforces the Pod Security Standard %s, which this database cannot keep: %s; label "+
		"it (kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=%s), or use another namespace (%s)",
		job.Namespace, m[1], strings.Join(needs(message), "; "), job.Namespace, level, said)
}

// needs are the privileges that a pod with a database asks for, and why.
func needs(message string) []string {
	var out []string
	if strings.Contains(message, `"`+databaseContainer+`"`) {
		out = append(out, "oradism of Direct NFS is setuid root, and the image of Oracle Free restarts its database by "+
			"su, which need allowPrivilegeEscalation: without it Direct NFS falls back to the kernel unnoticed")
	}
	if strings.Contains(message, `"permissions"`) {
		out = append(out, "init container permissions gives the volume to user oracle as root, which "+
			"spec.database.container.setPermissions Disabled leaves out where it is his already")
	}
	if len(out) == 0 {
		out = append(out, "see what the cluster says")
	}
	return out
}
