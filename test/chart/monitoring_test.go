package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const rulesFile = "charts/nfsbench/files/rules/nfsbench.yaml"

// ruleGroups is a file of rules, as far as we use it.
type ruleGroups struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func shippedRules(t *testing.T) []rule {
	t.Helper()
	file := ruleGroups{}
	if err := yaml.UnmarshalStrict(Read(t, rulesFile), &file); err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

func names(rules []rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, r.Alert)
	}
	return out
}

// promtool runs the tool of Prometheus in a folder.
func promtool(t *testing.T, folder string, args ...string) (string, error) {
	t.Helper()
	monitors := os.Getenv("NFSBENCH_MONITORS")
	if monitors == "" {
		t.Skip("NFSBENCH_MONITORS is not set; try: export NFSBENCH_MONITORS=$(hack/lab/monitors.sh)")
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(monitors, "promtool"), args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// rulesFolder holds the rules beside their unit tests, where promtool looks for them.
func rulesFolder(t *testing.T, rules string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"nfsbench.yaml": rules, "test.yaml": string(Read(t, "test/chart/testdata/rules.test.yaml"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPromtoolAcceptsTheAlertsAndTheirUnitTestsPass(t *testing.T) {
	rules := string(Read(t, rulesFile))
	dir := rulesFolder(t, rules)
	if out, err := promtool(t, dir, "check", "rules", "--lint-fatal", "nfsbench.yaml"); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	if out, err := promtool(t, dir, "test", "rules", "test.yaml"); err != nil {
		t.Errorf("test: %v\n%s", err, out)
	}
	broken := rulesFolder(t, strings.Replace(rules, "< 3600", "< 36000", 1))
	if out, err := promtool(t, broken, "test", "rules", "test.yaml"); err == nil || !strings.Contains(out, "NFSBenchBenchmarkFailed") {
		t.Errorf("the unit tests do not see that an alert lasts ten hours: %v\n%s", err, out)
	}
}

func TestEveryAlertIsTestedBothWaysAndSaysWhatToDo(t *testing.T) {
	tests := struct {
		Tests []struct {
			Cases []struct {
				Alert  string           `json:"alertname"`
				Expect []map[string]any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}{}
	if err := yaml.Unmarshal(Read(t, "test/chart/testdata/rules.test.yaml"), &tests); err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			fires[c.Alert] = fires[c.Alert] || len(c.Expect) > 0
			quiet[c.Alert] = quiet[c.Alert] || len(c.Expect) == 0
		}
	}
	docs := string(Read(t, "docs/observability.md"))
	for _, r := range shippedRules(t) {
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("%s: tested that it fires: %t, and that it does not: %t", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
		if s := r.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s has severity %q", r.Alert, s)
		}
		if r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 150 {
			t.Errorf("%s does not say what to do: %v", r.Alert, r.Annotations)
		}
		if !strings.Contains(docs, "| `"+r.Alert+"` |") {
			t.Errorf("docs/observability.md does not list %s", r.Alert)
		}
	}
}

// rendered gives the rules that the chart makes.
func rendered(t *testing.T, args ...string) []rule {
	t.Helper()
	for _, o := range Objects(t, Helm(t, append([]string{"--set", "metrics.rules.enabled=true"}, args...)...)) {
		if o.GetKind() != "PrometheusRule" {
			continue
		}
		raw, err := json.Marshal(o.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		file := ruleGroups{}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		var out []rule
		for _, g := range file.Groups {
			out = append(out, g.Rules...)
		}
		return out
	}
	t.Fatal("no PrometheusRule is rendered")
	return nil
}

func TestTheChartInstallsTheAlertsAsTheyAreTested(t *testing.T) {
	want := shippedRules(t)
	if diff := cmp.Diff(want, rendered(t)); diff != "" {
		t.Errorf("%s (-) and the PrometheusRule (+):\n%s", rulesFile, diff)
	}
	got := rendered(t, "--set", "metrics.rules.disabled={NFSBenchQueueStuck}", "--set", "metrics.rules.alertLabels.team=storage")
	if len(got) != len(want)-1 || slices.Contains(names(got), "NFSBenchQueueStuck") {
		t.Errorf("without one there are %v", names(got))
	}
	for _, r := range got {
		if r.Labels["team"] != "storage" || r.Labels["severity"] == "" {
			t.Errorf("%s has the labels %v", r.Alert, r.Labels)
		}
	}
	for _, name := range names(rendered(t, "--set", "suites.enabled=false")) {
		if strings.Contains(name, "Suite") {
			t.Errorf("without suites there is %s", name)
		}
	}
}

func TestTheSchemaKnowsEveryAlert(t *testing.T) {
	schema := map[string]any{}
	if err := json.Unmarshal(Read(t, "charts/nfsbench/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	got, found, err := unstructured.NestedStringSlice(schema, "properties", "metrics", "properties", "rules", "properties", "disabled", "items", "enum")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if diff := cmp.Diff(names(shippedRules(t)), got); diff != "" {
		t.Errorf("alerts (-) and what metrics.rules.disabled takes (+):\n%s", diff)
	}
}

func TestNothingIsMonitoredUnasked(t *testing.T) {
	for _, o := range Objects(t, Helm(t)) {
		if strings.Contains(o.GetAPIVersion(), "monitoring.coreos.com") || strings.Contains(o.GetName(), "dashboard") {
			t.Errorf("%s %s is rendered by default", o.GetKind(), o.GetName())
		}
	}
	args := deployment(t, Helm(t)).Spec.Template.Spec.Containers[0].Args
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--live-metrics-port") }) {
		t.Errorf("pods of benchmarks listen by default: %v", args)
	}
}

func TestThePodMonitorFindsTheCollectors(t *testing.T) {
	for scope, want := range map[string]map[string]any{
		"default":    {"any": true},
		"namespaces": {"matchNames": []any{"team-a", "team-b"}},
	} {
		for _, o := range Objects(t, Helm(t, "-f", Values(t, scope), "--set", "metrics.podMonitor.enabled=true,metrics.live.enabled=true")) {
			if o.GetKind() != "PodMonitor" {
				continue
			}
			got, _, _ := unstructured.NestedMap(o.Object, "spec", "namespaceSelector")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: namespaces (-want +got):\n%s", scope, diff)
			}
			endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "podMetricsEndpoints")
			limit, bounded, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "sampleLimit")
			honored, set, _ := unstructured.NestedBool(endpoints[0].(map[string]any), "honorLabels")
			if !bounded || honored || !set {
				t.Errorf("%s: pods of strangers choose their namespace (honorLabels %v), or send any number of samples (%v)",
					scope, honored, limit)
			}
			delete(want, "any")
			delete(want, "matchNames")
		}
		if len(want) > 0 {
			t.Errorf("%s: no PodMonitor", scope)
		}
	}
}

func TestTheNotesNameWhatRunsSuites(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
		not  string
	}{
		"Argo is there":     {[]string{"--api-versions", "argoproj.io/v1alpha1/Workflow"}, "is in this cluster and will run them", "not in this cluster"},
		"Argo is not there": {nil, "is not in this cluster yet", "will run them"},
		"without suites":    {[]string{"--set", "suites.enabled=false"}, "kubectl explain nfsbenchmark.spec", "Argo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := notes(t, c.args...)
			if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("want %q and not %q:\n%s", c.want, c.not, got)
			}
		})
	}
}

// TestTheNotesNameWhatToDeleteBeforeTheOperator: helm uninstall says nothing about it.
func TestTheNotesNameWhatToDeleteBeforeTheOperator(t *testing.T) {
	got := notes(t)
	for _, want := range []string{"kubectl get nfsb -A -o custom-columns", ".metadata.finalizers", "kubectl delete nfsb -n NAMESPACE NAME"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q:\n%s", want, got)
		}
	}
}

// notes renders NOTES.txt, which helm shows at an installation only.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "nfsbench")
	if err := os.CopyFS(dir, os.DirFS(Path(t, "charts/nfsbench"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "templates", "NOTES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	wrapped := "{{- define \"notes\" }}" + string(text) + "{{ end }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata:\n  notes: {{ include \"notes\" . | toJson }}\n"
	if err := os.WriteFile(filepath.Join(dir, "templates", "notes.yaml"), []byte(wrapped), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := tool(t, append([]string{"helm", "template", "nfsbench", dir, "--kube-version", kubeVersion, "--show-only", "templates/notes.yaml"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	found, _, _ := unstructured.NestedString(Objects(t, out)[0].Object, "data", "notes")
	return found
}
