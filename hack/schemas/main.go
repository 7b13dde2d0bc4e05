// Command schemas writes the JSON Schemas that kubeconform reads, one file for
// each kind, from the OpenAPI document of Kubernetes and from CRDs, so that
// manifests can be checked without a network. Properties that a kind does not
// have are refused, as by the API server with strict field validation.
//
//	schemas -openapi swagger.json -o FOLDER [CRD.yaml...]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	openapi := flag.String("openapi", "", "`file` with the OpenAPI v2 document of Kubernetes")
	out := flag.String("o", "", "`folder` to write to")
	flag.Parse()
	if err := run(*openapi, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(openapi, out string, crds []string) error {
	if openapi == "" || out == "" {
		return fmt.Errorf("-openapi and -o are required")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	files, err := builtIn(openapi)
	if err != nil {
		return fmt.Errorf("read %q: %w", openapi, err)
	}
	for _, path := range crds {
		more, err := custom(path)
		if err != nil {
			return fmt.Errorf("read %q: %w", path, err)
		}
		files = append(files, more...)
	}
	for _, f := range files {
		if err := f.write(out); err != nil {
			return err
		}
	}
	return nil
}

// schema is any JSON Schema.
type schema = map[string]any

// file is the schema of one kind.
type file struct {
	group, version, kind string
	schema               schema
}

// write names the file as kubeconform looks for it:
// {{.ResourceKind}}{{.KindSuffix}}.json..
func (f file) write(folder string) error {
	name := f.kind
	if group, _, _ := strings.Cut(f.group, "."); group != "" {
		name += "-" + group
	}
	text, err := json.Marshal(f.schema)
	if err != nil {
		return fmt.Errorf("encode %s: %w", f.kind, err)
	}
	name = strings.ToLower(name + "-" + f.version + ".json")
	return os.WriteFile(filepath.Join(folder, name), text, 0o644)
}
