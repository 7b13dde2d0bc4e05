// Package crdcheck checks benchmarks against their CRD with the code of the API server: defaults, structural schema
// and CEL rules.
//
// A spec goes through the steps of a creation, in their order: set defaults, find unknown fields, drop nulls without
// a default, then check types, bounds and enums, lists that are sets or maps, and the CEL rules with the cost limits
// of the API server. Rules about changes (with oldSelf) do not apply, as for a creation.
package crdcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/internal/human"
)

// Checker checks specs against their schema in a CRD. It is safe for concurrent use.
type Checker struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// New returns the checker of benchmarks. It compiles the schema and its rules once for the process.
func New() (*Checker, error) { return ofBenchmarks() }

var ofBenchmarks = sync.OnceValues(func() (*Checker, error) { return Compile(crd.NFSBenchmark) }) //nolint:gochecknoglobals // a constant in all but name

// Compile compiles the schema of spec in a CRD, and its rules.
func Compile(manifest []byte) (*Checker, error) {
	props, err := specSchema(manifest)
	if err != nil {
		return nil, fmt.Errorf("compile a CRD: %w", err)
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	schema, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	return &Checker{
		structural: structural,
		schema:     schema,
		rules:      cel.NewValidator(structural, false, celconfig.PerCallLimit),
	}, nil
}

// specSchema returns the schema of spec in the version of our types.
func specSchema(manifest []byte) (*apiextensions.JSONSchemaProps, error) {
	var def apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(manifest, &def); err != nil {
		return nil, err
	}
	for _, v := range def.Spec.Versions {
		if v.Name != v1alpha1.GroupVersion.Version {
			continue
		}
		spec, ok := v.Schema.OpenAPIV3Schema.Properties["spec"]
		if !ok {
			break
		}
		var out apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&spec, &out, nil); err != nil {
			return nil, err
		}
		return &out, nil
	}
	return nil, fmt.Errorf("it has no spec in version %s", v1alpha1.GroupVersion.Version)
}

// Complete checks a spec in JSON, as a user has written it, and returns it with the defaults, as the API server would
// store it.
func (s *Checker) Complete(spec []byte) ([]byte, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(spec, &object); err != nil {
		return nil, fmt.Errorf("read the spec: %w", err)
	}
	if object == nil {
		object = map[string]any{}
	}
	defaulting.Default(object, s.structural)
	if err := s.check(object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// CheckPart checks a part of a spec that is JSON, such as a patch: unknown fields, types,
// bounds and enums. Fields that are missing are no errors. Paths in errors begin below spec.
func (s *Checker) CheckPart(part []byte) error {
	var object map[string]any
	if err := utiljson.Unmarshal(part, &object); err != nil {
		return fmt.Errorf("read a part of the spec: %w", err)
	}
	errs := s.unknown(object)
	for _, e := range validation.ValidateCustomResource(nil, object, s.schema) {
		if e.Type != field.ErrorTypeRequired {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// unknown removes the fields that the schema does not have, and returns an error with a suggestion for each.
func (s *Checker) unknown(object map[string]any, parent ...string) []error {
	var errs []error
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true, ParentPath: parent}
	for _, path := range pruning.PruneWithOptions(object, s.structural, false, options) {
		members := strings.Split(path, ".")[len(parent):]
		above := s.structural
		for _, name := range members[:len(members)-1] {
			name, _, isItem := strings.Cut(name, "[")
			if p, ok := above.Properties[name]; ok {
				above = &p
			}
			if isItem && above.Items != nil {
				above = above.Items
			}
		}
		name, fields := members[len(members)-1], slices.Sorted(maps.Keys(above.Properties))
		near := human.Nearest(name, fields)
		if i := slices.IndexFunc(fields, func(f string) bool { return strings.EqualFold(f, name) }); i >= 0 {
			near = fields[i]
		}
		hint := "; there are " + strings.Join(fields, ", ")
		if near != "" {
			hint = fmt.Sprintf("; did you mean %s%s?", strings.TrimSuffix(path, name), near)
		}
		errs = append(errs, fmt.Errorf("%s: unknown field%s", path, hint))
	}
	return errs
}

func (s *Checker) check(object map[string]any) error {
	at := field.NewPath("spec")
	errs := s.unknown(object, "spec")
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	list := validation.ValidateCustomResource(at, object, s.schema)
	list = append(list, listtype.ValidateListSetsAndMaps(at, s.structural, object)...)
	// The API server evaluates the rules also for an object with other errors, except for errors that make the rules
	// pointless: a wrong type, or too long a list.
	if s.rules != nil && !blocksRules(list) {
		found, _ := s.rules.Validate(context.Background(), at, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
		list = append(list, found...)
	}
	for _, e := range list {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// blocksRules reports whether one of the errors keeps the API server from evaluating the rules (hasBlockingErr of its
// strategy for custom resources).
func blocksRules(list field.ErrorList) bool {
	blocking := []field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}
	return slices.ContainsFunc(list, func(e *field.Error) bool { return slices.Contains(blocking, e.Type) })
}
