package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// images are the operator's image and that of the pods of benchmarks, without tags.
func images(t *testing.T, manifests []byte) []string {
	t.Helper()
	c := deployment(t, manifests).Spec.Template.Spec.Containers[0]
	out := []string{c.Image}
	for _, arg := range c.Args {
		name, ok := strings.CutPrefix(arg, "--image=")
		if !ok {
			continue
		}
		if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return "$("+e.Name+")" == name }); i >= 0 {
			name = c.Env[i].Value
		}
		out = append(out, name)
	}
	for i := range out {
		out[i], _, _ = strings.Cut(out[i], ":")
	}
	return out
}

// TestAllWaysTakeTheImagesOfOneRegistry: a name without a registry would be one of Docker Hub, which
// anybody can take.
func TestAllWaysTakeTheImagesOfOneRegistry(t *testing.T) {
	want := []string{"ghcr.io/nfsbench/manager", "ghcr.io/nfsbench/nfsbench"}
	mirror := []string{"registry.example/mirror/manager", "registry.example/mirror/nfsbench"}
	for name, c := range map[string]struct {
		manifests []byte
		want      []string
	}{
		"chart":              {Helm(t), want},
		"kustomize":          {Kustomize(t, "config/default"), want},
		"image.registry":     {Helm(t, "--set", "image.registry=registry.example/mirror"), mirror},
		"global, which wins": {Helm(t, "--set", "global.imageRegistry=registry.example/mirror,image.registry=other"), mirror},
	} {
		if got := images(t, c.manifests); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestEveryObjectHasTheCommonLabelsAndAnnotations(t *testing.T) {
	for _, o := range Objects(t, Helm(t, "-f", Values(t, "everything"))) {
		if strings.HasSuffix(o.GetName(), "-extra") || strings.HasSuffix(o.GetName(), "-text") {
			continue // whole manifests of the user
		}
		if o.GetLabels()["example.com/cost"] != "42" || o.GetAnnotations()["example.com/owner"] != "storage" {
			t.Errorf("%s %s has the labels %v and the annotations %v", o.GetKind(), o.GetName(), o.GetLabels(), o.GetAnnotations())
		}
	}
}
