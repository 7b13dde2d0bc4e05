package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// patch is a patch of a suite, as JSON, with its field.
type patch struct {
	at  string
	raw []byte
}

// patches lists each patch once, however many cells use it.
func patches(s *v1alpha1.NFSBenchmarkSuite) []patch {
	var all []patch
	for i, a := range s.Spec.Axes {
		for j, v := range a.Values {
			all = append(all, patch{fmt.Sprintf("spec.axes[%d].values[%d].patch (%s=%s)", i, j, a.Name, v.Name), rawOf(v.Patch)})
		}
	}
	for i, x := range s.Spec.Include {
		all = append(all, patch{fmt.Sprintf("spec.include[%d].patch (%s)", i, x.Name), rawOf(x.Patch)})
	}
	return slices.DeleteFunc(all, func(p patch) bool { return p.raw == nil })
}

// Limits of a patch. A spec nests a dozen levels deep, and its longest key is the key of a label. Errors repeat keys,
// and so does each level below a key.
const (
	maxDepth = 64
	maxKey   = 253 + 1 + 63
	maxPath  = 200 // characters of a path, or of a value, in an error
)

// checkShape rejects patches that are no objects, are deeper than a spec, or contain a variable of Argo Workflows.
func checkShape(s *v1alpha1.NFSBenchmarkSuite) error {
	var errs []error
	for _, p := range patches(s) {
		var tree map[string]any
		if err := json.Unmarshal(p.raw, &tree); err != nil {
			errs = append(errs, fmt.Errorf("%s: it is not an object of fields of an NFSBenchmark's spec: %w", p.at, err))
			continue
		}
		errs = append(errs, checkTree(p.at, tree, 0)...)
	}
	return errors.Join(errs[:min(len(errs), maxErrors)]...)
}

// checkFields checks each patch against the schema.
func checkFields(s *v1alpha1.NFSBenchmarkSuite, c Checker) error {
	var errs []error
	for _, p := range patches(s) {
		// Check the patch without its nulls, which remove members.
		part, err := jsonpatch.MergePatch([]byte("{}"), p.raw)
		if err == nil {
			err = c.CheckPart(part)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", p.at, oneLine(err)))
		}
	}
	return errors.Join(errs...)
}

// checkTree rejects text that Argo Workflows would take for a variable, and values that are larger than in any patch.
// It returns at most maxErrors errors.
func checkTree(at string, v any, depth int) []error {
	at = fmt.Sprintf("%.*s", maxPath, at)
	if depth > maxDepth {
		return []error{fmt.Errorf("%s: it is more than %d levels deep", at, maxDepth)}
	}
	var errs []error
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if len(k) > maxKey {
				errs = append(errs, fmt.Errorf("%s: the key %.32q has more than %d bytes", at, k, maxKey))
				continue
			}
			errs = append(errs, checkTree(at, k, depth)...)
			errs = append(errs, checkTree(at+"."+k, v[k], depth+1)...)
		}
	case []any:
		for i, x := range v {
			errs = append(errs, checkTree(fmt.Sprintf("%s[%d]", at, i), x, depth+1)...)
		}
	case string:
		if strings.Contains(v, "{{") {
			errs = append(errs, fmt.Errorf(`%s: %.*q has "{{", which Argo Workflows would replace: write it without`,
				at, maxPath, v))
		}
	}
	return errs[:min(len(errs), maxErrors)]
}

// rawOf returns the JSON of a patch; nil if the patch is empty.
func rawOf(patch *runtime.RawExtension) []byte {
	if patch == nil || len(patch.Raw) == 0 || string(patch.Raw) == "null" {
		return nil
	}
	return patch.Raw
}
