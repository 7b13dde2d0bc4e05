package runfile

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	reflector "github.com/invopop/jsonschema"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	crd "github.com/nfsbench/nfsbench/config/crd"
)

// The bounds of a plan are generated like the schemas: from the CRD, and from the tags of its own fields.
func TestSchemaBoundsAreThoseOfTheCRD(t *testing.T) {
	var def apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.NFSBenchmark, &def); err != nil {
		t.Fatal(err)
	}
	spec := def.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	all := map[string]*bound{
		"workload": boundOf(spec.Properties["workload"]),
		"expect":   boundOf(spec.Properties["expect"]),
		"schedule": boundOf(spec.Properties["run"]),
		"link":     boundOf(spec.Properties["protocol"].Properties["link"]),
	}
	r := &reflector.Reflector{DoNotReference: true, Anonymous: true}
	text, err := json.Marshal(r.Reflect(&Plan{}))
	if err != nil {
		t.Fatal(err)
	}
	var own apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &own); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"engine", "collect", "database"} {
		all[part] = boundOf(own.Properties[part])
	}
	got, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile("bounds.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(boundsText), string(got)); diff != "" {
		t.Errorf("run hack/generate.sh (-file +CRD):\n%s", diff)
	}
}

// onlyMatches finds the pattern in a rule of the CRD.
var onlyMatches = regexp.MustCompile(`^self\.matches\(r'(.*)'\)$`)

func boundOf(s apiextensionsv1.JSONSchemaProps) *bound {
	b := &bound{Required: s.Required, Pattern: s.Pattern, Max: 1 << 53}
	for _, r := range s.XValidations {
		if found := onlyMatches.FindStringSubmatch(r.Rule); found != nil {
			b.Pattern, b.Message = found[1], r.Message
		}
	}
	if s.Pattern != "" { // the patterns of a plan's own fields are those of paths
		b.Message = "write an absolute path such as /u02/oradata"
	}
	if s.Default != nil {
		_ = json.Unmarshal(s.Default.Raw, &b.Default) // the CRD is valid
	}
	for name, p := range s.Properties {
		if b.Fields == nil {
			b.Fields = map[string]*bound{}
		}
		b.Fields[name] = boundOf(p)
	}
	if s.Items != nil {
		b.Items = boundOf(*s.Items.Schema)
	}
	for _, e := range s.Enum {
		var word string
		if json.Unmarshal(e.Raw, &word) == nil {
			b.Enum = append(b.Enum, word)
		}
	}
	if s.Type == "integer" && s.Minimum == nil {
		b.Min = -b.Max
	}
	for _, least := range []*int64{s.MinItems, s.MinLength} {
		b.Min += ptr.Deref(least, 0)
	}
	for _, most := range []*int64{s.MaxItems, s.MaxLength} {
		if !s.XIntOrString { // of a quantity, it bounds the text
			b.Max = min(b.Max, ptr.Deref(most, math.MaxInt64))
		}
	}
	if s.Minimum != nil {
		b.Min = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		b.Max = int64(*s.Maximum)
	}
	return b
}
