package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// suiteSpec is a suite as a user writes it.
const suiteSpec = `{template: {spec: ` + exportSpec + `}, axes: [{name: depth, values: [{name: low}, {name: high, patch: {workload: {raw: {depth: 8}}}}]}], repetitions: 4, compare: {baseline: {depth: low}}}`

// The rules about changes of a suite.
const (
	suiteSettled  = "a suite without a schedule is one experiment and cannot be changed"
	suiteSchedule = "schedule can neither be added nor removed"
	suiteName     = "metadata.name of a suite has at most 40 characters"
)

// suiteRefusals has a case for every rule of the suite's own.
func suiteRefusals() map[string]refusal {
	repetitions := func(n int64, alpha, fewer string) refusal {
		return refusal{
			"spec.repetitions is too small for compare.alpha", suiteSpec,
			fields{"repetitions": n, "compare.alpha": fewer},
			fields{"repetitions": n, "compare.alpha": alpha},
		}
	}
	return map[string]refusal{
		"RepetitionsDefault": {
			"spec.repetitions is too small for compare.alpha", suiteSpec,
			fields{"repetitions": int64(3)},
			fields{"repetitions": int64(4)},
		},
		"Repetitions2": repetitions(2, "0.34", "0.33"),
		"Repetitions3": repetitions(3, "0.11", "0.1"),
		"Repetitions4": repetitions(4, "0.0286", "0.0285"),
		"Repetitions5": repetitions(5, "0.00794", "0.00793"),
		"Repetitions6": repetitions(6, "0.00217", "0.00216"),
		"NoSuchAxis": {
			"compare.baseline names an axis", suiteSpec,
			fields{"compare.baseline": map[string]any{"width": "low"}},
			fields{"compare.baseline": map[string]any{"depth": "high"}},
		},
		"NoAxes": {"compare.baseline names an axis", suiteSpec, fields{"axes": nil}, fields{"axes": nil, "compare": nil}},
		"NoSuchValue": {
			"compare.baseline names a value", suiteSpec,
			fields{"compare.baseline.depth": "deep"},
			fields{"compare.baseline.depth": "high"},
		},
		"RegressionUnscheduled": {
			"spec.regression compares scheduled runs", suiteSpec,
			fields{"regression": map[string]any{}},
			fields{"regression": map[string]any{}, "schedule.cron": "0 2 * * 0"},
		},
		"SixFields": {
			"schedule.cron needs five fields", suiteSpec,
			fields{"schedule.cron": "0 0 2 * * 0"},
			fields{"schedule.cron": "0 2  * * MON-FRI"},
		},
		"ZoneInFields": {
			"schedule.cron needs five fields", suiteSpec,
			fields{"schedule.cron": "TZ=0\t*\t*\t*\t*"},
			fields{"schedule.cron": "0 * * * *"},
		},
		"NoCron": {"schedule.cron needs five fields", suiteSpec, fields{"schedule.cron": "every day"}, fields{"schedule.cron": "*/5 * * * *"}},
	}
}

func suiteOf(t *testing.T, base string, change fields) *unstructured.Unstructured {
	t.Helper()
	u := benchmarkOf(t, base, change)
	u.SetKind("NFSBenchmarkSuite")
	return u
}

func TestTheCRDOfSuitesRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	try := func(t *testing.T, u *unstructured.Unstructured) error {
		t.Helper()
		u.SetNamespace(ns)
		return c.Create(t.Context(), u, client.DryRunAll)
	}
	for name, tc := range suiteRefusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := try(t, suiteOf(t, tc.base, tc.bad))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("bad spec: got %v, want the sentence %q", err, tc.says)
			}
			if err := try(t, suiteOf(t, tc.base, tc.good)); err != nil {
				t.Errorf("the nearest good spec is refused: %v", err)
			}
		})
	}
	long := suiteOf(t, suiteSpec, nil)
	long.SetName(strings.Repeat("x", 41))
	if err := try(t, long); err == nil || !strings.Contains(err.Error(), suiteName) {
		t.Errorf("a long name: %v", err)
	}
	long.SetName(strings.Repeat("x", 40))
	if err := try(t, long); err != nil {
		t.Errorf("a name of 40: %v", err)
	}
}

func TestWhatASuiteRunsIsSettledUnlessItHasASchedule(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	once, clocked := suiteOf(t, suiteSpec, nil), suiteOf(t, suiteSpec, fields{"schedule.cron": "0 2 * * 0"})
	clocked.SetName("clocked")
	for _, u := range []*unstructured.Unstructured{once, clocked} {
		u.SetNamespace(ns)
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	one := map[string]any{"values": map[string]any{"depth": "low"}}
	cases := map[string]struct {
		change fields
		says   string // of the one without a schedule; empty = it may
		clock  string // of the other
	}{
		"Template":    {fields{"template.spec.workload.raw.jobs": int64(3)}, suiteSettled, ""},
		"Labels":      {fields{"template.metadata.labels": map[string]any{"a": "b"}}, suiteSettled, ""},
		"Axes":        {fields{"axes": []any{map[string]any{"name": "depth", "values": []any{map[string]any{"name": "low"}}}}}, suiteSettled, ""},
		"NoAxes":      {fields{"axes": nil, "compare": nil}, suiteSettled, ""},
		"Exclude":     {fields{"exclude": []any{one}}, suiteSettled, ""},
		"Include":     {fields{"include": []any{map[string]any{"name": "more"}}}, suiteSettled, ""},
		"Repetitions": {fields{"repetitions": int64(5)}, suiteSettled, ""},
		"Order":       {fields{"order": "Random"}, suiteSettled, ""},
		"Blocks":      {fields{"blocks": "ABBA"}, suiteSettled, ""},
		"Suspend":     {fields{"suspend": true}, "", ""},
		"Shutdown":    {fields{"shutdown": "Stop"}, "", ""},
		"TTL":         {fields{"ttlSecondsAfterFinished": int64(60)}, "", ""},
		"Compare":     {fields{"compare.minimumEffectPercent": int64(5)}, "", ""},
		"Schedule":    {fields{"schedule.cron": "0 3 * * 0"}, suiteSchedule, ""},
		"Unschedule":  {fields{"schedule": nil}, "", suiteSchedule},
	}
	for name, tc := range cases {
		for u, says := range map[*unstructured.Unstructured]string{once: tc.says, clocked: tc.clock} {
			u := u.DeepCopy()
			for path, v := range tc.change {
				where := append([]string{"spec"}, strings.Split(path, ".")...)
				if v == nil {
					unstructured.RemoveNestedField(u.Object, where...)
				} else if err := unstructured.SetNestedField(u.Object, v, where...); err != nil {
					t.Fatal(err)
				}
			}
			err := c.Update(t.Context(), u, client.DryRunAll)
			if says == "" && err != nil {
				t.Errorf("%s of %s is refused: %v", name, u.GetName(), err)
			}
			if says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
				t.Errorf("%s of %s: got %v, want the sentence %q", name, u.GetName(), err, says)
			}
		}
	}
}

func TestDefaultsOfASuite(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	u := suiteOf(t, `{template: {spec: `+exportSpec+`}, schedule: {cron: "0 2 * * 0"}}`, nil)
	u.SetNamespace(newNamespace(t, c))
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), s); err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.Marshal(s.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"repetitions: 10", "order: Interleaved", "blocks: Randomized", "retries: 1", "concurrencyPolicy: Forbid", "historyLimit: 10", "timeZone: Etc/UTC",
	} {
		if !strings.Contains(string(raw), line) {
			t.Errorf("the default %q is missing:\n%s", line, raw)
		}
	}
}
