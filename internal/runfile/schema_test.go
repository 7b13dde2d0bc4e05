package runfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	reflector "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
)

var update = flag.Bool("update", false, "rewrite the schemas and examples in docs/schema")

const schemaDir = "../../docs/schema"

// schemaOf reflects a schema from the Go types. Field comments become
// descriptions, so that the schema explains itself in an editor.
func schemaOf(t *testing.T, v any, name string) []byte {
	t.Helper()
	r := &reflector.Reflector{Anonymous: true, Mapper: func(of reflect.Type) *reflector.Schema {
		if of == reflect.TypeFor[resource.Quantity]() {
			return &reflector.Schema{Type: "string"}
		}
		return nil
	}}
	for _, folder := range []string{".", "../../api/bench"} {
		if err := r.AddGoComments("github.com/nfsbench/nfsbench/internal/runfile", folder, reflector.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	for k, c := range r.CommentMap {
		words, _, _ := strings.Cut("\n"+c, "\n+") // without the markers for the CRD
		r.CommentMap[k] = strings.Join(strings.Fields(words), " ")
	}
	s := r.Reflect(v)
	s.ID = reflector.ID("https://nfsbench.io/schema/" + name)
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// golden compares with a file in docs/schema, or rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join(schemaDir, name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the Go types say; run go test ./internal/runfile -update (-file +types):\n%s", file, diff)
	}
}

func TestSchemasInTheDocsAreThoseOfTheTypes(t *testing.T) {
	golden(t, "plan.schema.json", schemaOf(t, &Plan{}, "plan.schema.json"))
	golden(t, "result.schema.json", schemaOf(t, &Result{}, "result.schema.json"))
	golden(t, "suite-run.schema.json", schemaOf(t, &SuiteRun{}, "suite-run.schema.json"))
}

func TestExamplesInTheDocsAreReadAndFitTheSchemas(t *testing.T) {
	plans := map[string]Plan{
		"example.plan.json":                     directPlan(),
		"example-kernel.plan.json":              kernelPlan(),
		"example-calibrate.plan.json":           oraclePlan(bench.Workload{Calibrate: calibrate()}, native),
		"example-calibrate-container.plan.json": oraclePlan(bench.Workload{Calibrate: calibrate()}, inContainer),
		"example-slob.plan.json":                oraclePlan(bench.Workload{SLOB: slob()}, native, kernel),
		"example-slob-external.plan.json":       oraclePlan(bench.Workload{SLOB: slob()}, inExternal),
	}
	for name, p := range plans {
		var doc bytes.Buffer
		if err := WritePlan(&doc, p); err != nil {
			t.Fatal(err)
		}
		golden(t, name, doc.Bytes())
		if err := fits(t, "plan.schema.json", doc.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if read, err := ReadPlan(&doc); err != nil || read.Validate() != nil {
			t.Errorf("%s is not read back: %v, %v", name, err, read.Validate())
		}
	}
}

func TestSchemasRefuseWhatTheReaderRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]func(string) string{
		"an unknown field":  func(s string) string { return strings.Replace(s, `"seed"`, `"seeds"`, 1) },
		"another version":   func(s string) string { return strings.Replace(s, "plan/v1", "plan/v0", 1) },
		"an unknown client": func(s string) string { return strings.Replace(s, `"DirectNFS"`, `"dNFS"`, 1) },
	}
	for name, mutate := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := WritePlan(&b, directPlan()); err != nil {
				t.Fatal(err)
			}
			doc := mutate(b.String())
			if fits(t, "plan.schema.json", []byte(doc)) == nil {
				t.Error("the schema accepts it")
			}
			p, err := ReadPlan(strings.NewReader(doc))
			if err == nil && p.Validate() == nil {
				t.Error("the reader accepts it")
			}
		})
	}
}

func TestTheFullExamplesSetEveryField(t *testing.T) {
	t.Parallel()
	// A field that the example forgets is a field that no test reads back.
	fields := append(unset(reflect.ValueOf(fullResult()), "result"), unset(reflect.ValueOf(fullSuiteRun()), "run")...)
	for _, path := range fields {
		if !strings.HasSuffix(path, ".LocalInterface") { // it excludes Local, and databases
			t.Errorf("%s is not set", path)
		}
	}
}

func unset(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	var out []string
	switch v.Kind() { //nolint:exhaustive // leaves need nothing more
	case reflect.Pointer:
		out = unset(v.Elem(), path)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[resource.Quantity]() {
			return nil
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" {
				out = append(out, unset(v.Field(i), path+"."+f.Name)...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, unset(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return out
}

func fits(t *testing.T, schema string, doc []byte) error {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(schemaDir, schema))
	if err != nil {
		t.Fatal(err)
	}
	inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(inst)
}
