package matrix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

func TestTheCellsAreTheCombinationsLessTheExcludedPlusTheIncluded(t *testing.T) {
	cases := map[string]struct{ spec, want string }{
		"NoAxes":   {templateOf, "template"},
		"TwoAxes":  {templateOf + axesOf, "nfs-1 nfs-16 dnfs-1 dnfs-16"},
		"Excluded": {templateOf + axesOf + "\n  exclude: [{values: {client: nfs, users: '16'}}]", "nfs-1 dnfs-1 dnfs-16"},
		"ExcludedBySome": {
			templateOf + axesOf + "\n  exclude: [{values: {users: '16'}}, {values: {client: nfs, users: '16'}}]",
			"nfs-1 dnfs-1",
		},
		"Included": {
			templateOf + axesOf + "\n  include: [{name: tuned, values: {client: dnfs}, patch: {clients: 2}}]",
			"nfs-1 nfs-16 dnfs-1 dnfs-16 tuned",
		},
		"IncludedBesideTheTemplate": {templateOf + "\n  include: [{name: two, patch: {clients: 2}}]", "template two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := names(expand(t, tc.spec)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPatchesApplyInTheOrderOfTheAxesAndThenOfTheInclude(t *testing.T) {
	m := expand(t, templateOf+`
  axes:
  - name: a
    values: [{name: x, patch: {clients: 2, run: {warmupSeconds: 7, durationSeconds: 70}}}]
  - name: b
    values: [{name: w, patch: {clients: 3, run: {durationSeconds: 80}}}]
  include: [{name: z, values: {b: w, a: x}, patch: {clients: 4}}]`)
	first, last := specOf(t, m.Cells[0]), specOf(t, m.Cells[1])
	if first.Clients != 3 || *first.Run.WarmupSeconds != 7 || first.Run.DurationSeconds != 80 {
		t.Errorf("x-w has clients %d and run %+v", first.Clients, first.Run)
	}
	if last.Clients != 4 || last.Run.DurationSeconds != 80 {
		t.Errorf("z has clients %d and run %+v", last.Clients, last.Run)
	}
	if got := fmt.Sprint(m.Cells[1].Values); got != "[{a x} {b w}]" {
		t.Errorf("the values of an include are not in the order of the axes: %s", got)
	}
}

func TestAPatchReplacesMembersAndListsAndRemovesWithNull(t *testing.T) {
	spec := func(patch string) v1alpha1.NFSBenchmarkSpec {
		return specOf(t, expand(t, templateOf+"\n  axes: [{name: a, values: [{name: x, patch: "+patch+"}]}]").Cells[0])
	}
	if got := spec("{protocol: {client: DirectNFS}}"); got.Protocol.Client != bench.ClientDirectNFS || got.Protocol.Version != bench.NFSv3 || *got.Protocol.UserID != 54321 {
		t.Errorf("the rest of protocol is lost: %+v", got.Protocol)
	}
	if got := spec("{storage: {export: {servers: [10.0.9.1, 10.0.8.1]}}}"); fmt.Sprint(got.Storage.Export.Servers) != "[10.0.9.1 10.0.8.1]" || got.Storage.Export.Path != "/vol" {
		t.Errorf("a list is replaced, and what is beside it kept: %+v", got.Storage.Export)
	}
	if got := spec("{workload: {slob: null, raw: {pattern: Read}}}"); got.Workload.SLOB != nil || got.Workload.Raw == nil {
		t.Errorf("null removes: %+v", got.Workload)
	}
	if got := spec("{workload: {raw: {pattern: Read}}}"); got.Workload.SLOB == nil || got.Workload.Raw == nil {
		t.Errorf("a second kind of workload is left for the rules to refuse: %+v", got.Workload)
	}
}

func TestOneCellDoesNotChangeAnother(t *testing.T) {
	m := expand(t, templateOf+axesOf)
	first, last := specOf(t, m.Cells[0]), specOf(t, m.Cells[3])
	if got := fmt.Sprintln(first.Workload.SLOB.Users, last.Workload.SLOB.Users, first.Protocol.Client, last.Protocol.Client); got != "[1] [16] Kernel DirectNFS\n" {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsWrongInASuiteIsNamedWithWhatToDo(t *testing.T) {
	values := func(v string) string {
		return "\n  axes: [{name: client, values: [{name: nfs, patch: " + v + "}]}]"
	}
	long := ""
	for i := range 7 {
		long += fmt.Sprintf("{name: v%d}, ", i)
	}
	cube := "\n  axes: [{name: a, values: [" + long + "]}, {name: b, values: [" + long + "]}, {name: c, values: [" + long + "]}]"
	cases := map[string]struct {
		spec string
		says []string
	}{
		"Misspelt":     {values("{protocol: {clinet: Kernel}}"), []string{"spec.axes[0].values[0].patch (client=nfs)", "protocol.clinet: unknown field", "did you mean protocol.client?"}},
		"Type":         {values("{clients: two}"), []string{"clients in body must be of type integer"}},
		"TypeBelow":    {values("{run: {durationSeconds: [60]}}"), []string{"run.durationSeconds in body must be of type integer"}},
		"Include":      {axesOf + "\n  include: [{name: x, patch: {runn: {}}}]", []string{"spec.include[0].patch (x)", "runn: unknown field", "protocol, run, storage"}},
		"Braces":       {values(`{storage: {export: {path: "/{{workflow.name}}"}}}`), []string{"spec.axes[0].values[0].patch (client=nfs).storage.export.path", "{{"}},
		"UnknownAxis":  {axesOf + "\n  exclude: [{values: {cleint: nfs}}]", []string{"spec.exclude[0].values", `no axis "cleint"`, "did you mean client?"}},
		"UnknownValue": {axesOf + "\n  exclude: [{values: {client: fc}}]", []string{"spec.exclude[0].values", `axis client has no value "fc"`, "there are nfs, dnfs"}},
		"IncludeAxis":  {axesOf + "\n  include: [{name: x, values: {path: far}}]", []string{"spec.include[0].values (x)", `no axis "path"`}},
		"Needless": {
			axesOf + "\n  include: [{name: x, values: {client: nfs}}]\n  exclude: [{values: {client: nfs}}, {values: {client: nfs, users: '1'}}, {values: {client: dnfs}}]",
			nil,
		},
		"NothingLeft": {axesOf + "\n  exclude: [{values: {client: nfs}}, {values: {client: dnfs}}]", []string{"spec.exclude leaves no cell"}},
		"Collision": {
			"\n  axes: [{name: a, values: [{name: x-y}, {name: x}]}, {name: b, values: [{name: z}, {name: y-z}]}]",
			[]string{"both named x-y-z", "a=x-y, b=z", "a=x, b=y-z"},
		},
		"IncludeCollision": {axesOf + "\n  include: [{name: nfs-1}]", []string{"both named nfs-1", "that of no values"}},
		"TooManyCells":     {cube, []string{"343 cells", "at most 256"}},
		"TooMany": {
			axesOf + "\n  repetitions: 50\n  include: [" + strings.Join(includes(37), ", ") + "]",
			[]string{"41 cells x 50 repetitions are 2050 benchmarks", "at most 2048"},
		},
		"NothingToCompare": {
			axesOf + "\n  compare: {baseline: {client: nfs}}\n  exclude: [{values: {client: dnfs}}]",
			[]string{"spec.compare.baseline (client=nfs)", "nothing to compare"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := suite(t, templateOf+tc.spec)
			m, err := matrix.Expand(s)
			if err == nil {
				err = check(t, m, s)
			}
			if len(tc.says) == 0 {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			for _, says := range tc.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("got %v, want %q", err, says)
				}
			}
		})
	}
}

func includes(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("{name: x%d}", i))
	}
	return out
}

func TestAnExcludeThatSelectsNothingIsNamed(t *testing.T) {
	s := suite(t, templateOf+axesOf)
	// No suite in which all values exist has one, but for an entry without values.
	s.Spec.Exclude = []v1alpha1.CellSelector{{}}
	if _, err := matrix.Expand(s); err == nil || !strings.Contains(err.Error(), "spec.exclude[0] () selects no cell") {
		t.Errorf("got %v", err)
	}
}

func TestSeveralMistakesAreReportedAtOnce(t *testing.T) {
	s := suite(t, templateOf+`
  axes: [{name: a, values: [{name: x, patch: {clints: 2, runn: {}}}, {name: w, patch: {protocol: {version: 3}}}]}]`)
	m := expanded(t, s)
	err := check(t, m, s)
	for _, says := range []string{"clints", "protocol.version", "runn"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is missing in: %v", says, err)
		}
	}
	s.Spec.Exclude = []v1alpha1.CellSelector{{Values: map[string]v1alpha1.ShortName{"b": "1"}}, {Values: map[string]v1alpha1.ShortName{"c": "1"}}}
	if _, err := matrix.Expand(s); err == nil || !strings.Contains(err.Error(), `no axis "b"`) || !strings.Contains(err.Error(), `no axis "c"`) {
		t.Errorf("selectors of axes that are not there: %v", err)
	}
}

func TestTheTemplateIsHeldAgainstTheRulesOfLabelsAndOfArgo(t *testing.T) {
	s := suite(t, templateOf)
	s.Spec.Template.Metadata.Labels = map[string]string{"team": "a b"}
	s.Spec.Template.Metadata.Annotations = map[string]string{"note": "{{x}}"}
	_, err := matrix.Expand(s)
	for _, says := range []string{"spec.template.metadata.labels", `spec.template.metadata.annotations.note: "{{x}}"`} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is missing in: %v", says, err)
		}
	}
}

func TestALongNameIsShortenedAndStaysUnique(t *testing.T) {
	long := func(last string) string {
		axes := "\n  axes:"
		for _, a := range []string{"a", "b", "c", "d"} {
			axes += "\n  - {name: " + a + ", values: [{name: abcdefghij-" + a + "}]}"
		}
		return axes + "\n  - {name: e, values: [{name: abcdefghij-" + last + "1}, {name: abcdefghij-" + last + "2}]}"
	}
	m := expand(t, templateOf+long("e"))
	for _, c := range m.Cells {
		if len(c.Name) > 63 || strings.HasSuffix(c.Name, "-") {
			t.Errorf("%s has %d characters", c.Name, len(c.Name))
		}
	}
	exact := expand(t, templateOf+long("efghij"))
	if m.Cells[0].Name == m.Cells[1].Name || len(exact.Cells[0].Name) != 63 {
		t.Errorf("got %s, and %s", names(m), names(exact))
	}
}
