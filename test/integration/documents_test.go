package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// block is one YAML document of a fenced block.
type block struct {
	where string // FILE:LINE of the fence
	text  string
}

// elsewhere are the beginnings of documents for other products.
func elsewhere() []string {
	return []string{
		"successCondition:",                      // test/lab/gitops runs it as Argo does
		"components:",                            // a Kustomization
		"apiVersion: security.openshift.io/v1\n", // no module has OpenShift's kinds
	}
}

// TestTheAPIServerTakesEveryManifestOfTheDocuments sends whole benchmarks and suites to the API server. Parts
// of them are decoded strictly, and values are rendered with the chart.
func TestTheAPIServerTakesEveryManifestOfTheDocuments(t *testing.T) {
	c := apiClient(t)
	ns := newNamespace(t, c)
	whole, parts, values := 0, 0, 0
	for _, b := range blocks(t) {
		if slices.ContainsFunc(elsewhere(), func(first string) bool { return strings.HasPrefix(b.text, first) }) {
			continue
		}
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(b.text), &object); err != nil {
			t.Errorf("%s: %v", b.where, err)
			continue
		}
		switch {
		case object["kind"] != nil:
			whole++
			o := &unstructured.Unstructured{Object: object}
			o.SetNamespace(ns)
			// Strict: an unknown field is an error.
			if err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", b.where, err)
			}
		case isPart(b.text):
			parts++
		default:
			values++
			if out, err := render(t, b.text); err != nil {
				t.Errorf("%s is no part of a benchmark or suite, and no values of the chart: %v\n%s", b.where, err, out)
			}
		}
	}
	if whole < 5 || parts < 5 || values < 3 {
		t.Errorf("found %d manifests, %d parts and %d values: the documents have more", whole, parts, values)
	}
}

// isPart reports whether the text is a part of a benchmark or a suite, with no unknown field.
func isPart(text string) bool {
	return slices.ContainsFunc([]any{
		&v1alpha1.NFSBenchmarkSpec{}, &v1alpha1.NFSBenchmarkSuiteSpec{}, &v1alpha1.NFSBenchmark{}, &v1alpha1.NFSBenchmarkSuite{},
	}, func(into any) bool { return yaml.UnmarshalStrict([]byte(text), into) == nil })
}

func render(t *testing.T, values string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../hack/tool.sh", "helm", "template", "x", "../../charts/nfsbench", "--values", "-")
	cmd.Stdin = strings.NewReader(values)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// blocks are the YAML documents of all Markdown files.
func blocks(t *testing.T) []block {
	t.Helper()
	root := filepath.Join("..", "..")
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	var found []block
	for name := range strings.FieldsSeq(string(out)) {
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range fence.FindAllSubmatchIndex(raw, -1) {
			indent := string(raw[at[2]:at[3]])
			text := strings.ReplaceAll("\n"+string(raw[at[4]:at[5]]), "\n"+indent, "\n")
			// A flow mapping may end with what the reader can imagine.
			text = strings.ReplaceAll(text[1:], ", ...}", "}")
			line := strings.Count(string(raw[:at[0]]), "\n") + 1
			for document := range strings.SplitSeq(text, "\n---\n") {
				found = append(found, block{where: name + ":" + strconv.Itoa(line), text: document})
			}
		}
	}
	return found
}
