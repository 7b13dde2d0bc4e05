package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// mounting explains pods that wait for a volume. The kubelet reports it only in events, which remain after a later
// attempt succeeds.
func mounting(p *corev1.Pod, events []corev1.Event, age time.Duration, grace Grace) *Trouble {
	if Begun(p) {
		return nil
	}
	for _, e := range events {
		if e.InvolvedObject.UID != p.UID || (e.Reason != "FailedMount" && e.Reason != "FailedAttachVolume") {
			continue
		}
		if t := withoutSecret(p, e.Message, age, grace); t != nil {
			return t
		}
		if behind(e.Message) {
			continue
		}
		return &Trouble{Reason: v1alpha1.ReasonMountFailed, Fatal: age > grace.Mount, Message: mountMessage(p, e.Message)}
	}
	return nil
}

// behind reports whether a kubelet has not seen the ConfigMaps and Secrets of a pod yet, or whether the API server does
// not know yet that the pod is on its node. Both happen on a busy machine. The kubelet tries again, and the storage is
// not the cause.
func behind(message string) bool {
	return strings.Contains(message, "failed to sync configmap cache") ||
		strings.Contains(message, "failed to sync secret cache") ||
		strings.Contains(message, "no relationship found between node")
}

// mountMessage explains why a volume cannot be mounted, and what to check. The kubelet's message begins with a long
// command and ends with the cause; only the end is kept.
func mountMessage(p *corev1.Pod, message string) string {
	if _, output, ok := strings.Cut(message, "Output:"); ok {
		message = output
	}
	message = oneLine(message)
	// The errors of mount on a node that cannot use NFS: no /sbin/mount.nfs, or no kernel module.
	if slices.ContainsFunc(
		[]string{"helper program", "unknown filesystem type", "No such device", "program not found"},
		func(s string) bool { return strings.Contains(message, s) },
	) {
		return fmt.Sprintf("the volume of pod %s cannot be mounted: node %s has no NFS client: install nfs-common or "+
			"nfs-utils on the nodes and load the kernel module nfs, or use protocol.client: DirectNFS (%s)",
			p.Name, p.Spec.NodeName, message)
	}
	return fmt.Sprintf("the volume of pod %s cannot be mounted: check the server address, the export path, the export "+
		"policy and the protocol version (%s)", p.Name, message)
}

// The kubelet's messages about a missing Secret, or a missing key of one: for a volume in events, for an environment
// variable in the state of the container.
var (
	missingSecret    = regexp.MustCompile(`secret "([^"]+)" not found`)                                               //nolint:gochecknoglobals // a constant in all but name
	missingKey       = regexp.MustCompile(`couldn't find key (\S+) in Secret [^/\s]*/?([a-z0-9.-]+)`)                 //nolint:gochecknoglobals // a constant in all but name
	missingKeyVolume = regexp.MustCompile(`for volume "([^"]+)"\s*:\s*references non-existent secret key: ([^\s,]+)`) //nolint:gochecknoglobals // a constant in all but name
)

// withoutSecret explains a pod that waits for a Secret; nil if message is about something else. The operator cannot
// check the Secret itself, because it may not read Secrets.
func withoutSecret(p *corev1.Pod, message string, age time.Duration, grace Grace) *Trouble {
	name, key := secretIn(p, message)
	if name == "" {
		return nil
	}
	fatal := age > grace.Secret
	if key != "" {
		return trouble(v1alpha1.ReasonSecretNotFound, fatal, "Secret %q in namespace %q has no key %q, for which pod %s "+
			"waits: add it, or correct %s", name, p.Namespace, key, p.Name, secretField(p, name))
	}
	return trouble(v1alpha1.ReasonSecretNotFound, fatal, "there is no Secret %q in namespace %q, for which pod %s waits: "+
		"create it, or correct %s", name, p.Namespace, p.Name, secretField(p, name))
}

// secretIn returns the missing Secret, or the Secret and the key that it lacks.
func secretIn(p *corev1.Pod, message string) (name, key string) {
	if m := missingSecret.FindStringSubmatch(message); m != nil {
		return m[1], ""
	}
	if m := missingKey.FindStringSubmatch(message); m != nil {
		return m[2], m[1]
	}
	m := missingKeyVolume.FindStringSubmatch(message)
	if m == nil {
		return "", ""
	}
	for _, v := range p.Spec.Volumes {
		if v.Name == m[1] && v.Secret != nil {
			return v.Secret.SecretName, m[2]
		}
	}
	return m[1], m[2] // an unknown volume: only its name is known
}

// secretField returns the field of the benchmark that names a Secret, derived from the container that uses the Secret.
func secretField(p *corev1.Pod, name string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name != databaseContainer && c.Name != loadContainer || !uses(p, &c, name) {
			continue
		}
		if hasDatabase(p) {
			return "spec.database.container.passwordSecretRef"
		}
		return "spec.database.external.credentialsSecretRef"
	}
	return "credentialsSecretRef in spec.storage.array"
}

// uses reports whether a container has a Secret in its environment or mounts it.
func uses(p *corev1.Pod, c *corev1.Container, secret string) bool {
	if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == secret
	}) {
		return true
	}
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == secret &&
			slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
	})
}
