package diagnose

import (
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// missingSecret is how the kubelet says, of a volume, that a Secret is not
// there.
var missingSecret = regexp.MustCompile(`secret "([^"]+)" not found`) //nolint:gochecknoglobals // a constant in all but name

// withoutSecret explains a pod that waits for a Secret; nil where told speaks of
// something else. The operator cannot look for it itself: it may read none.
func withoutSecret(p *corev1.Pod, told string, age time.Duration, grace Grace) *Trouble {
	m := missingSecret.FindStringSubmatch(told)
	if m == nil {
		return nil
	}
	return &Trouble{
		Reason: v1alpha1.ReasonSecretNotFound, Fatal: age > grace.Secret,
		Message: fmt.Sprintf("there is no Secret %q in namespace %q, for which pod %s waits: create it, or correct credentialsSecretRef in spec.storage.array", m[1], p.Namespace, p.Name),
	}
}
