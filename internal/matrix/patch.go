package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/nearest"
)

// directives steer a strategic merge patch and are no fields.
var directives = map[string]bool{"$patch": true, "$retainKeys": true} //nolint:gochecknoglobals // a constant

// checkPatches holds each patch against the types, once however many cells use it.
func checkPatches(s *v1alpha1.NFSBenchmarkSuite) error {
	var errs []error
	for i, a := range s.Spec.Axes {
		for j, v := range a.Values {
			at := fmt.Sprintf("spec.axes[%d].values[%d].patch (%s=%s)", i, j, a.Name, v.Name)
			errs = append(errs, checkPatch(at, v.Patch))
		}
	}
	for i, x := range s.Spec.Include {
		errs = append(errs, checkPatch(fmt.Sprintf("spec.include[%d].patch (%s)", i, x.Name), x.Patch))
	}
	return errors.Join(errs...)
}

func checkPatch(at string, patch *runtime.RawExtension) error {
	raw := rawOf(patch)
	if raw == nil {
		return nil
	}
	var tree map[string]any
	strict, err := kjson.UnmarshalStrict(raw, &tree)
	if err != nil {
		return fmt.Errorf("%s: it is no object of fields of an NFSBenchmark's spec: %w", at, err)
	}
	errs := describe(at, strict)
	data, err := json.Marshal(withoutDirectives(tree))
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	var spec v1alpha1.NFSBenchmarkSpec
	strict, err = kjson.UnmarshalStrict(data, &spec, kjson.DisallowUnknownFields)
	if err != nil {
		errs = append(errs, fmt.Errorf("%s: %s", at, typeError(err)))
	}
	errs = append(errs, describe(at, strict)...)
	errs = append(errs, checkBraces(at, tree)...)
	return errors.Join(errs...)
}

var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// describe says where strict errors are, and what was probably meant.
func describe(at string, strict []error) []error {
	var errs []error
	for _, e := range strict {
		m := unknownField.FindStringSubmatch(e.Error())
		if m == nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, e))
			continue
		}
		errs = append(errs, fmt.Errorf("%s: there is no field %s in the spec of an NFSBenchmark%s", at, m[1],
			suggestion(m[1])))
	}
	return errs
}

// suggestion names the field that is nearest to the last member of a path, or
// those that there are.
func suggestion(path string) string {
	parent, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i+1], path[i+1:]
	}
	t := reflect.TypeFor[v1alpha1.NFSBenchmarkSpec]()
	for member := range strings.SplitSeq(strings.TrimSuffix(parent, "."), ".") {
		if member == "" {
			continue
		}
		if t = memberType(t, member); t == nil {
			return ""
		}
	}
	fields := fieldNames(t)
	if near := nearest.To(name, fields); near != "" {
		return fmt.Sprintf("; did you mean %s%s?", parent, near)
	}
	for _, f := range fields {
		if strings.EqualFold(f, name) {
			return fmt.Sprintf("; did you mean %s%s?", parent, f)
		}
	}
	if len(fields) == 0 || len(fields) > 16 {
		return ""
	}
	return "; there are " + strings.Join(fields, ", ")
}

// memberType is the type of a member such as paths or explicit[0]; nil when it is
// none of ours.
func memberType(t reflect.Type, member string) reflect.Type {
	name, _, isItem := strings.Cut(member, "[")
	for f := range structFields(t) {
		if jsonName(f) != name {
			continue
		}
		ft := element(f.Type)
		if isItem && ft.Kind() == reflect.Slice {
			ft = element(ft.Elem())
		}
		return ft
	}
	return nil
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for f := range structFields(t) {
		out = append(out, jsonName(f))
	}
	slices.Sort(out)
	return out
}

// structFields yields the fields of a struct, those of inlined ones among them.
func structFields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		if t.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(t) {
			if name := jsonName(f); name != "" && f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// typeError tells a wrong type without the names of Go.
func typeError(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Sprintf("%s must be of type %s, not %s", wrong.Field, typeName(wrong.Type), wrong.Value)
	}
	return err.Error()
}

func typeName(t reflect.Type) string {
	switch t = element(t); t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64:
		return "integer"
	default:
		return t.Kind().String()
	}
}

// withoutDirectives is a patch without what steers it.
func withoutDirectives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if !directives[k] {
				out[k] = withoutDirectives(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutDirectives(x)
		}
		return out
	default:
		return v
	}
}

// checkBraces refuses what Argo Workflows would take for a variable of its own.
func checkBraces(at string, v any) []error {
	var errs []error
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			errs = append(errs, checkBraces(at, k)...)
			errs = append(errs, checkBraces(at+"."+k, v[k])...)
		}
	case []any:
		for i, x := range v {
			errs = append(errs, checkBraces(fmt.Sprintf("%s[%d]", at, i), x)...)
		}
	case string:
		if strings.Contains(v, "{{") {
			errs = append(errs, fmt.Errorf(`%s: %q has "{{", which Argo Workflows would replace: write it without`, at, v))
		}
	}
	return errs
}

// apply patches a spec, both JSON.
func apply(spec []byte, patch *runtime.RawExtension) ([]byte, error) {
	raw := rawOf(patch)
	if raw == nil {
		return spec, nil
	}
	return strategicpatch.StrategicMergePatch(spec, raw, v1alpha1.NFSBenchmarkSpec{})
}

// rawOf is the JSON of a patch; nil when there is nothing in it.
func rawOf(patch *runtime.RawExtension) []byte {
	if patch == nil || len(patch.Raw) == 0 || string(patch.Raw) == "null" {
		return nil
	}
	return patch.Raw
}
