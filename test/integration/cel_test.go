package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// fields are changes of a spec: dotted path to value. A nil value removes.
type fields map[string]any

// UnmarshalJSON keeps integers, as an unstructured object does.
func (f *fields) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*map[string]any)(f))
}

// refusal is a spec that a rule refuses, and the nearest one that it takes.
type refusal struct {
	Case, Base string
	Says       string // the beginning of the rule's message
	Bad, Good  fields
}

// ruleCases are those of testdata/rules.yaml, which says what they mean.
type ruleCases struct {
	Bases     map[string]fields // the specs that the cases start from
	Refusals  []refusal
	Bounds    []refusal // without a case and a sentence: the message names the field
	Changes   []change
	Defaults  map[string]fields // by base
	parseFail error
}

// change is one of an object that exists.
type change struct {
	Base   string
	Change fields
	Says   string // empty = it is taken
}

var readRuleCases = sync.OnceValue(func() ruleCases {
	var out ruleCases
	text, err := os.ReadFile(filepath.Join("testdata", "rules.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &out)
	}
	out.parseFail = err
	return out
})

// celWorld is a namespace in which specs are tried.
type celWorld struct {
	*testing.T
	ruleCases

	c  client.Client
	ns string
}

func newCELWorld(t *testing.T) celWorld {
	t.Helper()
	c := apiClient(t)
	w := celWorld{T: t, ruleCases: readRuleCases(), c: c, ns: newNamespace(t, c)}
	if w.parseFail != nil {
		t.Fatal(w.parseFail)
	}
	return w
}

// object has the spec of a base with changes.
func (w celWorld) object(base string, changes fields) *unstructured.Unstructured {
	w.Helper()
	spec, is := w.Bases[base]
	if !is {
		w.Fatalf("no base %q", base)
	}
	u := (&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any(spec)}}).DeepCopy()
	kind := "NFSBenchmark"
	if spec["template"] != nil {
		kind = "NFSBenchmarkSuite"
	}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(w.ns)
	u.SetName(strings.ToLower(base))
	w.set(u, changes)
	return u
}

// set changes fields of a spec.
func (w celWorld) set(u *unstructured.Unstructured, changes fields) {
	w.Helper()
	for path, v := range changes {
		where := append([]string{"spec"}, strings.Split(path, ".")...)
		if v == nil {
			unstructured.RemoveNestedField(u.Object, where...)
		} else if err := unstructured.SetNestedField(u.Object, v, where...); err != nil {
			w.Fatal(err)
		}
	}
}

// try lets the API server decide, and stores nothing.
func (w celWorld) try(u *unstructured.Unstructured) error {
	return w.c.Create(w.Context(), u, client.DryRunAll)
}

// wantRefusal fails the test unless the error has the sentence; no sentence is no error.
func wantRefusal(t *testing.T, what string, err error, says string) {
	t.Helper()
	if says == "" && err != nil {
		t.Errorf("%s is refused: %v", what, err)
	}
	if says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
		t.Errorf("%s: got %v, want the sentence %q", what, err, says)
	}
}

func TestTheCRDsRefuseWhatCannotBe(t *testing.T) {
	t.Parallel()
	w := newCELWorld(t)
	for _, tc := range w.Refusals {
		t.Run(tc.Case, func(t *testing.T) {
			t.Parallel()
			w := w
			w.T = t
			err := w.try(w.object(tc.Base, tc.Bad))
			wantRefusal(t, "the bad spec", err, tc.Says)
			if err != nil && (strings.Contains(err.Error(), "should match") || strings.Contains(err.Error(), "evaluating rule")) {
				t.Errorf("the refusal has more than sentences: %v", err)
			}
			wantRefusal(t, "the nearest good spec", w.try(w.object(tc.Base, tc.Good)), "")
		})
	}
}

// suiteName is said by a rule about metadata, which is in no spec.
const suiteName = "metadata.name of a suite has at most 40 characters"

func TestTheNameOfASuiteLeavesRoomForThoseOfItsBenchmarks(t *testing.T) {
	t.Parallel()
	w := newCELWorld(t)
	for length, says := range map[int]string{40: "", 41: suiteName} {
		u := w.object("suite", nil)
		u.SetName(strings.Repeat("x", length))
		wantRefusal(t, "the name "+u.GetName(), w.try(u), says)
	}
}

func TestNumbersAndNamesHaveBounds(t *testing.T) {
	t.Parallel()
	w := newCELWorld(t)
	for _, tc := range w.Bounds {
		for path := range tc.Bad {
			wantRefusal(t, path, w.try(w.object(tc.Base, tc.Bad)), "spec."+path)
		}
	}
}

func TestEveryRuleOfTheCRDHasACase(t *testing.T) {
	t.Parallel()
	cases := readRuleCases()
	if cases.parseFail != nil {
		t.Fatal(cases.parseFail)
	}
	says := []string{suiteName}
	for _, tc := range cases.Refusals {
		says = append(says, tc.Says)
	}
	for _, tc := range cases.Changes {
		if tc.Says != "" {
			says = append(says, tc.Says)
		}
	}
	messages := map[string]bool{} // a suite has the rules of its template
	for file, least := range map[string]int{"nfsbench.io_nfsbenchmarks.yaml": 30, "nfsbench.io_nfsbenchmarksuites.yaml": 38} {
		raw, err := os.ReadFile(filepath.Join(crdFolder(), file))
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatal(err)
		}
		all := rules(crd)
		if len(all) < least {
			t.Errorf("found %d rules only in %s: does this test still read the CRD?", len(all), file)
		}
		for _, m := range all {
			messages[m] = true
		}
	}
	for m := range messages {
		covered := false
		for _, s := range says {
			covered = covered || strings.HasPrefix(m, s)
		}
		if !covered {
			t.Errorf("no case for the rule that says %q", m)
		}
	}
}

// rules are the messages of all validations in a CRD.
func rules(node any) []string {
	var out []string
	switch v := node.(type) {
	case []any:
		for _, e := range v {
			out = append(out, rules(e)...)
		}
	case map[string]any:
		if list, ok := v["x-kubernetes-validations"].([]any); ok {
			for _, r := range list {
				m, _ := r.(map[string]any)["message"].(string)
				out = append(out, m)
			}
		}
		for _, e := range v {
			out = append(out, rules(e)...)
		}
	}
	return out
}

// TestASpecIsSettledOnceItExists: what runs is settled, unless a suite has a schedule.
func TestASpecIsSettledOnceItExists(t *testing.T) {
	t.Parallel()
	w := newCELWorld(t)
	existing := map[string]*unstructured.Unstructured{}
	for _, tc := range w.Changes {
		if existing[tc.Base] == nil {
			existing[tc.Base] = w.object(tc.Base, nil)
			if err := w.c.Create(t.Context(), existing[tc.Base]); err != nil {
				t.Fatal(err)
			}
		}
		u := existing[tc.Base].DeepCopy()
		w.set(u, tc.Change)
		wantRefusal(t, fmt.Sprintf("%s with %v", u.GetName(), tc.Change), w.c.Update(t.Context(), u, client.DryRunAll), tc.Says)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	w := newCELWorld(t)
	for base, want := range w.Defaults {
		u := w.object(base, nil)
		if err := w.try(u); err != nil {
			t.Fatal(err)
		}
		for path, v := range want {
			got, _, _ := unstructured.NestedFieldNoCopy(u.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
			if got != v {
				t.Errorf("default of spec.%s is %v, want %v", path, got, v)
			}
		}
	}
}
