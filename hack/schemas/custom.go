package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// custom makes the schemas of the versions of a CRD.
func custom(path string) ([]file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	if len(crd.Spec.Versions) == 0 {
		return nil, fmt.Errorf("no CustomResourceDefinition with a version")
	}
	var out []file
	for _, v := range crd.Spec.Versions {
		strict(v.Schema.OpenAPIV3Schema)
		out = append(out, file{
			group: crd.Spec.Group, version: v.Name, kind: crd.Spec.Names.Kind,
			schema: v.Schema.OpenAPIV3Schema,
		})
	}
	return out, nil
}

// strict refuses unknown properties wherever the known ones are listed.
func strict(s schema) {
	properties, listed := s["properties"].(map[string]any)
	_, open := s["additionalProperties"]
	_, keeps := s["x-kubernetes-preserve-unknown-fields"]
	if listed && !open && !keeps {
		s["additionalProperties"] = false
	}
	for _, p := range properties {
		strictChild(p)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		strictChild(s[key])
	}
}

func strictChild(node any) {
	if child, ok := node.(map[string]any); ok {
		strict(child)
	}
}
