package chart

import (
	"strings"
	"testing"
)

// The conventions of kube-api-linter that can be seen in the CRDs, for as long
// as that linter cannot be had as a Go module. Each exception has its reason.
func TestTheCRDsFollowTheConventionsOfKubernetesAPIs(t *testing.T) {
	cases := map[string]struct {
		least      int // fields that there are
		exceptions map[string]string
		foreign    []string // types of Kubernetes, which we cannot change, or that are checked elsewhere
	}{
		"nfsbenchmarks": {
			least: 100,
			exceptions: map[string]string{
				".spec.suspend: a boolean":              "the name and type that Job and its kin have",
				".status.steps[].knee: a boolean":       "a computed mark that is there or not, and no choice of a user",
				".status.capacity[].reached: a boolean": "a computed mark that is there or not, and no choice of a user",
				".status.curve[].knee: a boolean":       "a computed mark that is there or not, and no choice of a user",
			},
			foreign: []string{".metadata", ".apiVersion", ".kind", ".spec.pods.tolerations[]", ".spec.pods.affinity.", ".spec.pods.topologySpreadConstraints[]", ".spec.pods.resources", ".spec.database.container.resources", ".spec.pods.imagePullSecrets[]", ".status.conditions[]"},
		},
		"nfsbenchmarksuites": {
			least: 100,
			exceptions: map[string]string{
				".spec.suspend: a boolean":              "the name and type that Job and its kin have",
				".spec.schedule.suspend: a boolean":     "the name and type that CronJob has",
				".spec.failFast: a boolean":             "the name and type that a DAG of Argo has",
				".status.history[].accepted: a boolean": "a computed mark that is there or not, and no choice of a user",
			},
			foreign: []string{".metadata", ".apiVersion", ".kind", ".spec.template.spec.", ".status.conditions[]"},
		},
	}
	for kind, c := range cases {
		t.Run(kind, func(t *testing.T) {
			v := visitor{}
			for _, root := range []string{"spec", "status"} {
				v.visit(property(t, kind, root), "."+root)
			}
			if v.seen < c.least {
				t.Fatalf("only %d fields found", v.seen)
			}
			for _, p := range v.problems {
				if hasAnyPrefix(p, c.foreign) {
					continue
				}
				if _, known := c.exceptions[p]; known {
					delete(c.exceptions, p)
					continue
				}
				t.Error(p)
			}
			for p := range c.exceptions {
				t.Errorf("no longer true, remove the exception: %s", p)
			}
		})
	}
}

func property(t *testing.T, kind, name string) map[string]any {
	t.Helper()
	crd := Objects(t, Read(t, "config/crd/bases/nfsbench.io_"+kind+".yaml"))[0]
	spec := crd.Object["spec"].(map[string]any)                     //nolint:forcetypeassert // a test
	version := spec["versions"].([]any)[0].(map[string]any)         //nolint:forcetypeassert // a test
	schema := version["schema"].(map[string]any)["openAPIV3Schema"] //nolint:forcetypeassert // a test
	properties := schema.(map[string]any)["properties"]             //nolint:forcetypeassert // a test
	return properties.(map[string]any)[name].(map[string]any)       //nolint:forcetypeassert // a test
}

type visitor struct {
	seen     int
	problems []string
}

func (v *visitor) visit(node map[string]any, path string) {
	v.seen++
	v.checkType(node, path)
	if items, ok := node["items"].(map[string]any); ok {
		v.visit(items, path+"[]")
	}
	if values, ok := node["additionalProperties"].(map[string]any); ok {
		v.unless(has(node, "maxProperties"), path, "a map without maxProperties")
		v.visit(values, path+"{}")
	}
	properties, _ := node["properties"].(map[string]any)
	for name, p := range properties {
		child, _ := p.(map[string]any)
		comment, _ := child["description"].(string)
		v.unless(strings.HasPrefix(comment, name), path+"."+name, "its comment does not begin with it")
		v.visit(child, path+"."+name)
	}
}

func (v *visitor) checkType(node map[string]any, path string) {
	switch node["type"] {
	case "string":
		v.unless(has(node, "maxLength") || has(node, "enum") || has(node, "format"), path, "a string without bound")
	case "array":
		v.unless(has(node, "maxItems"), path, "a list without maxItems")
		v.unless(has(node, "x-kubernetes-list-type"), path, "a list without listType")
	case "integer":
		v.unless(has(node, "format"), path, "an integer that is neither int32 nor int64")
	case "boolean":
		v.unless(false, path, "a boolean")
	case "number":
		v.unless(false, path, "a floating-point number")
	}
}

func (v *visitor) unless(good bool, path, problem string) {
	if !good {
		v.problems = append(v.problems, path+": "+problem)
	}
}

func has(node map[string]any, key string) bool {
	_, ok := node[key]
	return ok
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
