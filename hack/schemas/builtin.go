package main

import (
	"encoding/json"
	"os"
	"strings"
)

const (
	refPrefix  = "#/definitions/"
	machinery  = "io.k8s.apimachinery.pkg."
	quantity   = machinery + "api.resource.Quantity"
	intOrText  = machinery + "util.intstr.IntOrString"
	kindsOfDef = "x-kubernetes-group-version-kind"
)

// builtIn makes the schemas of the kinds in an OpenAPI v2 document.
func builtIn(path string) ([]file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document struct {
		Definitions map[string]schema `json:"definitions"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	definitions := document.Definitions
	for _, d := range definitions {
		strict(d)
	}
	// The document calls these strings, but numbers are allowed.
	definitions[quantity] = schema{"type": []string{"string", "number"}}
	definitions[intOrText] = schema{"type": []string{"string", "integer"}}

	var files []file
	for name, d := range definitions {
		for _, f := range kindsOf(d) {
			if strings.HasSuffix(f.kind, "List") || strings.HasPrefix(name, machinery) {
				continue
			}
			needed := map[string]schema{}
			collect(definitions, name, needed)
			f.schema = schema{"$ref": refPrefix + name, "definitions": needed}
			files = append(files, f)
		}
	}
	return files, nil
}

func kindsOf(d schema) []file {
	list, _ := d[kindsOfDef].([]any)
	var out []file
	for _, item := range list {
		gvk, _ := item.(map[string]any)
		group, _ := gvk["group"].(string)
		version, _ := gvk["version"].(string)
		kind, _ := gvk["kind"].(string)
		out = append(out, file{group: group, version: version, kind: kind})
	}
	return out
}

// collect adds a definition and all that it refers to.
func collect(all map[string]schema, name string, into map[string]schema) {
	if _, done := into[name]; done {
		return
	}
	into[name] = all[name]
	eachRef(all[name], func(ref string) { collect(all, strings.TrimPrefix(ref, refPrefix), into) })
}

func eachRef(node any, visit func(string)) {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			if ref, ok := child.(string); ok && key == "$ref" {
				visit(ref)
				continue
			}
			eachRef(child, visit)
		}
	case []any:
		for _, child := range n {
			eachRef(child, visit)
		}
	}
}
