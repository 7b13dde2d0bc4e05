package trident

import (
	"regexp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
)

// LosesRules returns the release of a controller that may lose export rules when one of its backends changes: a release
// before 26.06.2 with enableConcurrency. It returns "" for others, and if the release is not known.
func LosesRules(controller *appsv1.Deployment) string {
	for _, c := range controller.Spec.Template.Spec.Containers {
		m := release.FindStringSubmatch(c.Image)
		if c.Name != ControllerContainer || m == nil || !slices.Contains(c.Args, "--enable_concurrency=true") {
			continue
		}
		var version []int
		for _, part := range m[2:] {
			n, _ := strconv.Atoi(part)
			version = append(version, n)
		}
		if slices.Compare(version, []int{26, 6, 2}) < 0 {
			return m[1]
		}
	}
	return ""
}

// release matches the tag of a Trident image.
var release = regexp.MustCompile(`:((\d{2})\.(\d{2})\.(\d+))(?:[-@]|$)`) //nolint:gochecknoglobals // a constant in all but name
