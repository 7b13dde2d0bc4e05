// Package crdcheck holds benchmarks against their CRD as the API server does, with
// its own code: defaults, structural schema and CEL rules.
//
// A spec goes through the steps of a creation, in their order: defaults are
// set, unknown fields are looked for, nulls without a default are dropped, then
// types, bounds and enums, lists that are sets or maps, and the CEL rules with the
// cost limits of the API server. Rules about changes (with oldSelf) do not apply,
// as they do not when an object is created.
package crdcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
)

// Checker checks specs. It is safe for concurrent use.
type Checker struct {
	structural *structuralschema.Structural // of spec
	schema     validation.SchemaValidator   // of spec
	rules      *cel.Validator               // of spec
}

// New compiles the schema and its rules, once.
func New() (*Checker, error) {
	props, err := specSchema(crd.NFSBenchmark)
	if err != nil {
		return nil, fmt.Errorf("read the CRD of NFSBenchmark: %w", err)
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("read the schema of NFSBenchmark: %w", err)
	}
	schema, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("compile the schema of NFSBenchmark: %w", err)
	}
	rules := cel.NewValidator(structural, false, celconfig.PerCallLimit)
	return &Checker{structural: structural, schema: schema, rules: rules}, nil
}

// specSchema is what a CRD says of spec in the version of our types.
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

// Check returns what the API server would say of a benchmark with this spec; nil
// when it would take it. A quantity that is zero is checked as "0", for the type
// cannot tell it from one that was left out: see Complete.
func (c *Checker) Check(spec v1alpha1.NFSBenchmarkSpec) error {
	data, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("write the spec: %w", err)
	}
	_, err = c.Complete(data)
	return err
}

// Complete checks a spec that is JSON, as a user has written it, and returns what
// the API server would store: with its defaults. The error is as of Check.
func (c *Checker) Complete(spec []byte) ([]byte, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(spec, &object); err != nil {
		return nil, fmt.Errorf("read the spec: %w", err)
	}
	if object == nil {
		object = map[string]any{}
	}
	defaulting.Default(object, c.structural)
	if err := c.check(object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

func (c *Checker) check(object map[string]any) error {
	at := field.NewPath("spec")
	var errs []error
	unknown := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true, ParentPath: []string{"spec"}}
	for _, path := range pruning.PruneWithOptions(object, c.structural, false, unknown) {
		errs = append(errs, fmt.Errorf("%s: unknown field", path))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, c.structural)
	list := validation.ValidateCustomResource(at, object, c.schema)
	list = append(list, listtype.ValidateListSetsAndMaps(at, c.structural, object)...)
	// The API server asks the rules even of an object with other errors, unless
	// those make the rules pointless: a wrong type, or too long a list.
	if c.rules != nil && !blocksRules(list) {
		found, _ := c.rules.Validate(context.Background(), at, c.structural, object, nil, celconfig.RuntimeCELCostBudget)
		list = append(list, found...)
	}
	for _, e := range list {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

func blocksRules(list field.ErrorList) bool {
	for _, e := range list {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
