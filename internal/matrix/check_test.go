package matrix_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/matrix"
)

func TestCheckFillsInTheDefaultsOfWhatAPatchAdded(t *testing.T) {
	s := suite(t, templateOf+"\n  axes: [{name: a, values: [{name: x, patch: {workload: {slob: null, raw: {pattern: Read}}, run: null}}]}]")
	m := expanded(t, s)
	if strings.Contains(string(m.Cells[0].Written), "fileSize") {
		t.Errorf("what no patch says is written: %s", m.Cells[0].Written)
	}
	if err := check(t, m, s); err != nil {
		t.Fatal(err)
	}
	spec := m.Cells[0].Spec
	if spec.Workload.Raw.FileSize.String() != "1Gi" || spec.Run.DurationSeconds != 60 || !strings.Contains(string(m.Cells[0].Written), `"fileSize":"1Gi"`) {
		t.Errorf("got %s", m.Cells[0].Written)
	}
}

func TestAZeroThatSomebodyWroteIsNotTakenForADefault(t *testing.T) {
	s := suite(t, templateOf+"\n  axes: [{name: a, values: [{name: x, patch: {run: {durationSeconds: 0}}}]}]")
	m := expanded(t, s)
	if err := check(t, m, s); err == nil || !strings.Contains(err.Error(), "values[0].patch (a=x): run.durationSeconds") {
		t.Errorf("got %v", err)
	}
}

func TestAWrongCellIsNamedWithItsValues(t *testing.T) {
	s := suite(t, templateOf+`
  axes:
  - {name: client, values: [{name: nfs}, {name: dnfs, patch: {protocol: {client: DirectNFS}}}]}
  - {name: v, values: [{name: three}, {name: four, patch: {protocol: {security: krb5}}}, {name: both, patch: {workload: {raw: {pattern: Read}}}}]}`)
	m := expanded(t, s)
	err := check(t, m, s)
	for _, says := range []string{
		"cell dnfs-four (client=dnfs, v=four): spec: Invalid value",
		"the native Direct NFS engine knows security sys only",
		"cell nfs-both (client=nfs, v=both): spec.workload: Invalid value",
		"give exactly one of workload.raw",
		"cell dnfs-both",
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is missing in: %v", says, err)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "nfs-three") || strings.Count(err.Error(), "\n") != 2) {
		t.Errorf("one line for each wrong cell, and none for the others: %v", err)
	}
}

func TestACellThatCannotBePlannedIsNamed(t *testing.T) {
	s := suite(t, strings.Replace(templateOf, "run: {", "database: {container: {image: x, edition: Enterprise, passwordSecretRef: {name: oracle}}}\n      run: {", 1)+`
  axes: [{name: sga, values: [{name: large}, {name: small, patch: {database: {container: {parameters: {sga_target: 256M, shared_pool_size: 250M}}}}}]}]`)
	m := expanded(t, s)
	err := check(t, m, s)
	if err == nil || !strings.Contains(err.Error(), "cell small (sga=small): ") || !strings.Contains(err.Error(), "ORA-00821") ||
		strings.Contains(err.Error(), "cell large") {
		t.Errorf("got %v", err)
	}
}

// refuse refuses everything.
type refuse struct{}

func (refuse) CheckPart([]byte) error          { return nil }
func (refuse) Complete([]byte) ([]byte, error) { return nil, errors.New("no") }

func TestManyWrongCellsAreCounted(t *testing.T) {
	s := suite(t, templateOf+"\n  include: ["+strings.Join(includes(24), ", ")+"]")
	m := expanded(t, s)
	err := matrix.Check(m, s, refuse{})
	if err == nil || strings.Count(err.Error(), ": no") != 10 || !strings.HasSuffix(err.Error(), "and 15 more cells") {
		t.Errorf("got %v", err)
	}
}

func TestTooFewRepetitionsForTheClaimAreRefused(t *testing.T) {
	cases := map[string]struct {
		spec string
		says string
	}{
		"Enough":        {"\n  repetitions: 10\n  compare: {baseline: {client: nfs}}", ""},
		"TooFew":        {"\n  repetitions: 4\n  compare: {baseline: {client: nfs}}", "spec.repetitions: 4 repetitions cannot show a difference"},
		"NoCorrection":  {"\n  repetitions: 4\n  compare: {baseline: {client: nfs}, correction: None}", ""},
		"LargerAlpha":   {"\n  repetitions: 4\n  compare: {baseline: {client: nfs}, alpha: '0.2'}", ""},
		"NoClaim":       {"\n  repetitions: 1", ""},
		"Regression":    {"\n  repetitions: 5\n  schedule: {cron: '0 2 * * 0'}\n  regression: {}", "spec.regression: 5 repetitions"},
		"FewerMetrics":  {"\n  repetitions: 5\n  schedule: {cron: '0 2 * * 0'}\n  regression: {metrics: [IOPS]}", ""},
		"OneSearch":     {"\n  repetitions: 1\n  compare: {baseline: {client: nfs}, metrics: [Capacity]}", ""},
		"OneEachNight":  {"\n  repetitions: 1\n  schedule: {cron: '0 2 * * 0'}\n  regression: {metrics: [Capacity]}", ""},
		"OneForAll":     {"\n  repetitions: 1\n  schedule: {cron: '0 2 * * 0'}\n  regression: {metrics: [Capacity, IOPS]}", "spec.regression: 1 repetition cannot"},
		"TwoSearches":   {"\n  repetitions: 2\n  schedule: {cron: '0 2 * * 0'}\n  regression: {metrics: [Capacity]}", "spec.regression: 2 repetitions cannot"},
		"NoRegressions": {"\n  repetitions: 5\n  schedule: {cron: '0 2 * * 0'}", ""},
	}
	for name, tc := range cases {
		s := suite(t, templateOf+axesOf+tc.spec)
		m := expanded(t, s)
		err := check(t, m, s)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.says)
		}
	}
}

// TestEachStepOfARampIsALine: 2 lines of 4 cells' two clients would do with 5
// repetitions, and with 16 steps they are 32.
func TestEachStepOfARampIsALine(t *testing.T) {
	ramp := func(users string) error {
		s := suite(t, templateOf+"\n  repetitions: 5\n  compare: {baseline: {client: nfs}}\n  axes: [{name: client, values: [{name: nfs}, {name: dnfs, patch: {workload: {slob: {users: "+users+"}}}}]}]")
		m := expanded(t, s)
		return check(t, m, s)
	}
	if err := ramp("[1]"); err != nil {
		t.Errorf("one step: %v", err)
	}
	if err := ramp("[1, 2, 3, 4]"); err == nil || !strings.Contains(err.Error(), "8 comparisons") {
		t.Errorf("four steps: %v", err)
	}
}

func TestARunIsEstimatedByWhatItsBenchmarksDeclare(t *testing.T) {
	run := "{baselineSeconds: 5, warmupSeconds: 5, durationSeconds: 30, cooldownSeconds: 10}"
	cases := map[string]struct {
		patch string
		want  int64 // seconds of one benchmark
	}{
		"OneWindow":  {"{run: " + run + "}", 40},
		"ThreeTimes": {"{run: " + strings.Replace(run, "}", ", repetitions: 3}", 1) + "}", 3*40 + 2*10},
		"Ramp":       {"{workload: {slob: {users: [1, 2, 4]}}, run: " + run + "}", 5 + 3*35 + 2*2},
		"Raw":        {"{workload: {slob: null, raw: {pattern: Read}}, run: " + run + "}", 40},
		"Kernel41":   {"{protocol: {client: Kernel, version: NFSv4.1}, run: " + run + "}", 40},
	}
	for name, tc := range cases {
		s := suite(t, templateOf+"\n  repetitions: 4\n  axes: [{name: a, values: [{name: x, patch: "+tc.patch+"}]}]")
		m := expanded(t, s)
		if err := check(t, m, s); err != nil {
			t.Fatal(name, err)
		}
		scheduled, timeout := m.Cells[0].Durations()
		if scheduled != tc.want || matrix.EstimatedSeconds(m) != 4*tc.want || timeout < tc.want {
			t.Errorf("%s: one takes %d (want %d), all %d, and the timeout is %d", name, scheduled, tc.want, matrix.EstimatedSeconds(m), timeout)
		}
	}
}

func TestTheUsersTimeoutHolds(t *testing.T) {
	s := suite(t, templateOf+"\n  axes: [{name: a, values: [{name: x, patch: {run: {timeoutSeconds: 777}}}]}]")
	m := expanded(t, s)
	if err := check(t, m, s); err != nil {
		t.Fatal(err)
	}
	if _, timeout := m.Cells[0].Durations(); timeout != 777 {
		t.Errorf("got %d", timeout)
	}
}

// twoHundred is a suite of 200 cells of all kinds.
func twoHundred() string {
	values := func(n int, patch string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("{name: '%d', patch: %s}", i+1, strings.ReplaceAll(patch, "N", fmt.Sprint(i+1))))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	return templateOf + `
  axes:
  - {name: client, values: [{name: nfs}, {name: dnfs, patch: {protocol: {client: DirectNFS}}}]}
  - {name: users, values: ` + values(25, "{workload: {slob: {users: [N]}}}") + `}
  - {name: units, values: ` + values(4, "{workload: {slob: {workUnit: 6N}}}") + `}
  repetitions: 5
  compare: {baseline: {client: nfs}, correction: None}`
}

func TestTwoHundredCellsAreExpandedAndChecked(t *testing.T) {
	s := suite(t, twoHundred())
	m := expanded(t, s)
	if err := check(t, m, s); err != nil || len(m.Cells) != 200 {
		t.Errorf("%d cells: %v", len(m.Cells), err)
	}
}

// BenchmarkTwoHundredCells measures what a new suite costs the operator.
func BenchmarkTwoHundredCells(b *testing.B) {
	s := suite(b, twoHundred())
	if _, err := benchmarks(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m := expanded(b, s)
		if err := check(b, m, s); err != nil {
			b.Fatal(err)
		}
	}
}
