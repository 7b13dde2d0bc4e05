package chart

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    []string
		want   string
	}{
		"a misspelt value":               {"a typo must not be silently ignored", []string{"metrics.enable=true"}, "enable"},
		"a misspelt section":             {"", []string{"ressources.limits.cpu=1"}, "ressources"},
		"a misspelt image key":           {"", []string{"image.manager.tagg=v1"}, "tagg"},
		"an unknown scope":               {"", []string{"rbac.scope=Cluster"}, "rbac"},
		"a namespace that is none":       {"", []string{"rbac.namespaces={Team_A}"}, "rbac"},
		"a Trident nowhere":              {"", []string{"trident.enabled=true", "trident.namespace="}, "trident"},
		"a digest without its algorithm": {"", []string{"image.manager.digest=0123"}, "digest"},
		"an argument that is none":       {"", []string{"extraArgs={leader-elect}"}, "extraArgs"},
		"an unknown encoder":             {"", []string{"logging.encoder=text"}, "encoder"},
		"two managers without a leader":  {"both would reconcile", []string{"replicaCount=2", "leaderElection.enabled=false"}, "leaderElection"},
		"no identity":                    {"", []string{"serviceAccount.create=false"}, "set serviceAccount.name"},
		"scraping metrics that are off":  {"", []string{"metrics.serviceMonitor.enabled=true", "rbac.scope=namespaces"}, "metrics.insecure"},
		"alerts on metrics that are off": {"", []string{"metrics.rules.enabled=true", "rbac.scope=namespaces"}, "metrics.insecure"},
		"scraping pods without a port":   {"the PodMonitor would find nothing", []string{"metrics.podMonitor.enabled=true"}, "metrics.live.enabled"},
		"leaving out an unknown alert":   {"a typo would leave it in", []string{"metrics.rules.disabled={NFSBenchDown}"}, "disabled"},
		"a privileged port":              {"the pods run as nobody", []string{"metrics.live.port=80"}, "port"},
		"no results at all":              {"", []string{"metrics.results.limit=0"}, "limit"},
		"an age that is no duration":     {"the operator would not start", []string{"metrics.results.maxAge=14d"}, "maxAge"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var args []string
			for _, s := range c.set {
				args = append(args, "--set", s)
			}
			_, err := TryHelm(t, args...)
			if err == nil {
				t.Fatalf("--set %v is accepted; %s", c.set, c.reason)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the refusal does not name %q:\n%v", c.want, err)
			}
		})
	}
}

func TestEveryValueIsDocumented(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(Read(t, "charts/nfsbench/README.md")))
	rows, inTable := 0, false
	for lines.Scan() {
		cells := strings.Split(lines.Text(), " | ")
		inTable = inTable || strings.HasPrefix(lines.Text(), "| Key | Type |")
		if !inTable || len(cells) < 4 {
			continue
		}
		rows++
		if strings.Trim(cells[len(cells)-1], " |") == "" {
			t.Errorf("values.yaml does not say what %s is", cells[0])
		}
	}
	if rows < 40 {
		t.Errorf("the table of values has %d rows: has helm-docs changed its form?", rows)
	}
}

// TestTheTableOfThePolicyHasItsDefaults: docs/security.md tells administrators what is open.
func TestTheTableOfThePolicyHasItsDefaults(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal(Read(t, "charts/nfsbench/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	var visit func(path string, v any)
	visit = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, field := range v {
				visit(path+"."+name, field)
			}
		case []any:
			words := []string{}
			for _, e := range v {
				words = append(words, fmt.Sprintf("`%q`", e))
			}
			want[path] = cmp.Or(strings.Join(words, ", "), "none")
		default:
			want[path] = fmt.Sprint(v)
		}
	}
	visit("policy", values["policy"])
	row := regexp.MustCompile("(?m)^\\| `(policy\\.[a-zA-Z.]+)` \\| ([^|]+) \\|")
	for _, m := range row.FindAllStringSubmatch(string(Read(t, "docs/security.md")), -1) {
		got[m[1]] = m[2]
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("docs/security.md (+) does not have the values of the chart (-):\n%s", diff)
	}
}
