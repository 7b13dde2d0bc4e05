package gitops

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const argo = root + "/config/argo"

// Argo's own command line knows what its kinds allow. hack/argo/build.sh builds it.
func TestArgoFindsNothingToSayAgainstTheWorkflows(t *testing.T) {
	cli := os.Getenv("NFSBENCH_ARGO_CLI")
	if cli == "" {
		t.Skip("set NFSBENCH_ARGO_CLI to the argo that hack/argo/build.sh builds")
	}
	files := []string{"lint", "--offline", "--no-color", "--kinds=workflows,workflowtemplates,cronworkflows"}
	for _, name := range []string{"workflowtemplate", "workflow", "cronworkflow"} {
		files = append(files, filepath.Join(argo, name+".yaml"))
	}
	if out, err := exec.CommandContext(t.Context(), cli, files...).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// template is a template of the WorkflowTemplate.
func template(t *testing.T, name string) map[string]any {
	t.Helper()
	all, _, err := unstructured.NestedSlice(documents(t, argo+"/workflowtemplate.yaml")[0].Object, "spec", "templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if m := one.(map[string]any); m["name"] == name {
			return m
		}
	}
	t.Fatalf("no template %q", name)
	return nil
}

// scalars lets requirements look a status up, as Argo's executor does.
type scalars struct{ object map[string]any }

func (s scalars) Has(field string) bool { return s.Get(field) != "" }

func (s scalars) Get(field string) string {
	v, _, _ := unstructured.NestedString(s.object, "status", field[len("status."):])
	return v
}

func (s scalars) Lookup(field string) (string, bool) { return s.Get(field), s.Has(field) }

var _ labels.Labels = scalars{}

// outcome is what Argo makes of a resource: any requirement of failure that holds
// ends the step, then all of success must.
func outcome(t *testing.T, step map[string]any, o *unstructured.Unstructured) string {
	t.Helper()
	of := func(name string) labels.Requirements {
		text, _, _ := unstructured.NestedString(step, "resource", name)
		out, err := labels.ParseToRequirements(text)
		if err != nil || len(out) == 0 {
			t.Fatalf("%s %q: %v", name, text, err)
		}
		return out
	}
	for _, r := range of("failureCondition") {
		if r.Matches(scalars{o.Object}) {
			return "failed: " + r.Key()
		}
	}
	for _, r := range of("successCondition") {
		if !r.Matches(scalars{o.Object}) {
			return "waits"
		}
	}
	return "succeeded"
}

// readmeStep is the step of which api/v1alpha1/README.md shows the conditions.
func readmeStep(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(root + "/api/v1alpha1/README.md")
	if err != nil {
		t.Fatal(err)
	}
	const first = "successCondition:"
	_, rest, _ := strings.Cut(string(text), "```yaml\n"+first)
	block, _, _ := strings.Cut(first+rest, "```")
	resource := map[string]any{}
	if err := yaml.Unmarshal([]byte(block), &resource); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"resource": resource}
}

func TestStepsEndWithTheirBenchmarks(t *testing.T) {
	infrastructure := benchmark(v1alpha1.PhaseFailed, "", v1alpha1.ReasonPodLost, "")
	infrastructure.Status.Failure = v1alpha1.FailureInfrastructure
	unbelievable := benchmark(v1alpha1.PhaseSucceeded, "", "", "", judged(bench.VerdictNotEvaluated, bench.ValidityInvalid))
	for name, c := range map[string]struct {
		object       runtime.Object
		waits, judge string
		readme       string // "" = as waits
	}{
		"new":              {benchmark("", "", "", ""), "waits", "waits", ""},
		"running":          {benchmark(v1alpha1.PhaseRunning, "", "", ""), "waits", "waits", ""},
		"passed":           {benchmark(v1alpha1.PhaseSucceeded, "", "", "", judged(bench.VerdictPass, bench.ValidityValid)), "succeeded", "succeeded", ""},
		"no thresholds":    {benchmark(v1alpha1.PhaseSucceeded, "", "", "", judged(bench.VerdictNotEvaluated, bench.ValiditySuspect)), "succeeded", "succeeded", ""},
		"missed":           {benchmark(v1alpha1.PhaseSucceeded, "", "", "", judged(bench.VerdictFail, "")), "succeeded", "failed: status.verdict", "failed: status.verdict"},
		"no verdict":       {benchmark(v1alpha1.PhaseSucceeded, "", "", "", judged(bench.VerdictInconclusive, "")), "succeeded", "failed: status.verdict", ""},
		"not to believe":   {unbelievable, "succeeded", "failed: status.validity", ""},
		"failed by itself": {benchmark(v1alpha1.PhaseFailed, "", "", ""), "failed: status.phase", "waits", ""},
		"stopped":          {benchmark(v1alpha1.PhaseCancelled, "", "", ""), "failed: status.phase", "waits", ""},
		"infrastructure":   {infrastructure, "failed: status.failure", "waits", "failed: status.phase"},
	} {
		o := toUnstructured(t, c.object)
		if got := outcome(t, template(t, "benchmark"), o); got != c.waits {
			t.Errorf("%s: the step %q, want %q", name, got, c.waits)
		}
		if got := outcome(t, template(t, "judge"), o); got != c.judge {
			t.Errorf("%s: its judgement %q, want %q", name, got, c.judge)
		}
		if got, want := outcome(t, readmeStep(t), o), cmp.Or(c.readme, c.waits); got != want {
			t.Errorf("%s: the step of the API's README %q, want %q", name, got, want)
		}
	}
}

// Each output is a member that a benchmark has: kubectl prints nothing for others.
func TestOutputsAreMembersOfABenchmark(t *testing.T) {
	n, p := int64(7), int32(7)
	b := benchmark(v1alpha1.PhaseSucceeded, "", "", "words", judged(bench.VerdictPass, bench.ValidityValid))
	b.Status.ResultRef = &v1alpha1.ResultReference{Name: "oltp-result"}
	b.Status.Summary = &v1alpha1.Summary{
		ThroughputBytesPerSecond: &n, IOPS: &n, MeanLatencyMicroseconds: &n, P99LatencyMicroseconds: &n, WirePercent: &p,
	}
	o := toUnstructured(t, b)
	for _, name := range []string{"benchmark", "result"} {
		outputs, _, err := unstructured.NestedSlice(template(t, name), "outputs", "parameters")
		if err != nil || len(outputs) == 0 {
			t.Fatal("no outputs", err)
		}
		for _, one := range outputs {
			path, _, _ := unstructured.NestedString(one.(map[string]any), "valueFrom", "jsonPath")
			query := jsonpath.New(name)
			if err := query.Parse(path); err != nil {
				t.Fatal(err)
			}
			if found, err := query.FindResults(o.Object); err != nil || len(found) != 1 || len(found[0]) != 1 {
				t.Errorf("%s: %s finds nothing: %v", name, path, err)
			}
		}
	}
}
