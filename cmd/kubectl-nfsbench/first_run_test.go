package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/repository"
)

func readFirstRun(t *testing.T) string {
	t.Helper()
	path, err := repository.Path("docs/oracle-first-run.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are those of a page in a language.
func blocks(page, language string) (out []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// complete is a benchmark of a page, with the defaults of the API.
func complete(t *testing.T, check *crdcheck.Checker, text string) *v1alpha1.NFSBenchmark {
	t.Helper()
	var u struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     json.RawMessage   `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	spec, err := check.Complete(u.Spec)
	if err != nil {
		t.Fatalf("%s: %v", u.Metadata.Name, err)
	}
	b := &v1alpha1.NFSBenchmark{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: benchmarkKind}, ObjectMeta: u.Metadata}
	if err := json.Unmarshal(spec, &b.Spec); err != nil {
		t.Fatal(err)
	}
	return b
}

// patched are a benchmark of the page after each `kubectl patch` of the page.
func patched(t *testing.T, page, text string) (out []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^\$ kubectl patch -f bench.yaml --local --type merge -o yaml -p '(.*)' > `).FindAllStringSubmatch(page, -1) {
		original, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		changed, err := jsonpatch.MergePatch(original, []byte(m[1]))
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		out = append(out, string(changed))
	}
	return out
}

// TestTheBenchmarksOfTheFirstRunPassTheDoctor: with the policy and the Secrets that the page makes.
func TestTheBenchmarksOfTheFirstRunPassTheDoctor(t *testing.T) {
	t.Parallel()
	page := readFirstRun(t)
	check, err := crdcheck.New()
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Policy json.RawMessage `json:"policy"`
	}
	m := regexp.MustCompile(`(?s)<<'END'\n(.*?)END\n`).FindStringSubmatch(page)
	if m == nil || yaml.Unmarshal([]byte(m[1]), &values) != nil {
		t.Fatal("the page has no values with a policy")
	}
	secret := func(name string, data ...string) *corev1.Secret {
		s := oracleSecret(true, nil)
		s.Name = name
		for i := 0; i < len(data); i += 2 {
			s.Data[data[i]] = []byte(data[i+1])
		}
		return s
	}
	texts, names := blocks(page, "yaml"), []string{}
	for _, text := range slices.Clone(texts) {
		if strings.Contains(text, "container:") {
			texts = append(texts, patched(t, page, text)...)
		}
	}
	for _, text := range texts {
		b := complete(t, check, text)
		names = append(names, b.Name)
		if _, err := plan.Build(b, plan.Target{Export: "/x", Addresses: []string{"10.0.1.61"}, Paths: runfile.ChannelsTo("10.0.1.61")}); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		c := newClinic(t, operator(), policyOf(string(values.Policy)), secret("oracle-registry"),
			secret("nfsbench-oracle", "password", "Choose_Me_1"), secret("rac-sys", "username", "sys", "password", "The_Password"))
		if b.Spec.Database == nil {
			continue
		}
		o := c.doctor(b).mustEnd(t, 0)
		if strings.Contains(o.out, runfile.CheckWarn) || b.Name == "free-dnfs" && !printsAsDocumented(t, page, o.out, o.err) {
			t.Errorf("%s:\n%s", b.Name, o.out)
		}
	}
	if !slices.Equal(names, []string{"free-dnfs", "ee19-dnfs", "rac-dnfs", "kernel", "native", "kernel", "native"}) {
		t.Errorf("benchmarks %v", names)
	}
}

// printsAsDocumented holds the lines of checks without a pod against the page; what is pulled differs.
// Those of the pod are held against it in internal/oracle/supervise.
func printsAsDocumented(t *testing.T, page, out, errOut string) bool {
	t.Helper()
	job := regexp.MustCompile("nfsbench-doctor-[a-z0-9]*")
	same := strings.Contains(job.ReplaceAllString(page, "JOB"), job.ReplaceAllString(errOut, "JOB"))
	for line := range strings.Lines(out) {
		if strings.Contains(line, " images ") || strings.Contains(line, "Direct NFS  ") {
			break
		}
		if !strings.Contains(page, line) {
			t.Errorf("the page lacks %q", line)
			same = false
		}
	}
	return same
}

// TestTheCommandsOfTheFirstRunExist, with their flags.
func TestTheCommandsOfTheFirstRunExist(t *testing.T) {
	t.Parallel()
	found := 0
	for _, block := range blocks(readFirstRun(t), "console") {
		for line := range strings.Lines(block) {
			args, is := strings.CutPrefix(strings.TrimSpace(line), "$ kubectl nfsbench ")
			if !is {
				continue
			}
			found++
			cmd, rest, err := newRootCommand(newApp()).Find(strings.Fields(args))
			if err != nil || !cmd.Runnable() || cmd.HasSubCommands() {
				t.Errorf("%s: %v", args, err)
				continue
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: %v", args, err)
			}
		}
	}
	if found < 8 {
		t.Errorf("%d commands were found", found)
	}
}
