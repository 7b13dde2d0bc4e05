package trident

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FieldError says which field of which object is not as it should be.
type FieldError struct {
	Kind, Namespace, Name string
	Field                 string // dotted path
	Problem               string // "is missing", "is not a string"
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s %s/%s: %s %s", e.Kind, e.Namespace, e.Name, e.Field, e.Problem)
}

// reader reads fields of one object and keeps the first problem.
type reader struct {
	obj *unstructured.Unstructured
	err error
}

func (r *reader) fail(problem string, path ...string) {
	if r.err == nil {
		r.err = &FieldError{
			Kind: r.obj.GetKind(), Namespace: r.obj.GetNamespace(), Name: r.obj.GetName(),
			Field: strings.Join(path, "."), Problem: problem,
		}
	}
}

// optional gives a string; one that is not there, or null, is empty.
func (r *reader) optional(path ...string) string {
	v, found, err := unstructured.NestedFieldNoCopy(r.obj.Object, path...)
	if err != nil {
		r.fail("cannot be reached: what holds it is not an object", path...)
		return ""
	}
	if !found || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail("is not a string", path...)
	}
	return s
}

func (r *reader) required(path ...string) string {
	s := r.optional(path...)
	if s == "" {
		r.fail("is missing", path...)
	}
	return s
}

// flag gives a boolean; nil where there is none.
func (r *reader) flag(path ...string) *bool {
	v, found, err := unstructured.NestedFieldNoCopy(r.obj.Object, path...)
	if err != nil || !found || v == nil {
		return nil
	}
	b, ok := v.(bool)
	if !ok {
		r.fail("is not true or false", path...)
		return nil
	}
	return &b
}

// object gives the members of an object; nil where there is none.
func (r *reader) object(path ...string) map[string]any {
	v, found, err := unstructured.NestedFieldNoCopy(r.obj.Object, path...)
	if err != nil || !found || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		r.fail("is not an object", path...)
	}
	return m
}
