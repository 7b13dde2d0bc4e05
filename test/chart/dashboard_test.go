package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/test/metrictable"
)

const dashboardFile = "charts/nfsbench/files/dashboards/nfsbench.json"

// The model of a dashboard as Grafana's documentation gives it for schemaVersion
// 39, as far as we use it; a field that is not here is a mistake. Grafana's own
// linter and its types cannot be had as Go modules from the proxy.
type dashboard struct {
	UID           string         `json:"uid"`
	Title         string         `json:"title"`
	Description   string         `json:"description"`
	Tags          []string       `json:"tags"`
	SchemaVersion int            `json:"schemaVersion"`
	Version       int            `json:"version"`
	Editable      bool           `json:"editable"`
	GraphTooltip  int            `json:"graphTooltip"`
	Refresh       string         `json:"refresh"`
	Style         string         `json:"style"`
	Timezone      string         `json:"timezone"`
	Time          timeRange      `json:"time"`
	Timepicker    map[string]any `json:"timepicker"`
	FiscalYear    int            `json:"fiscalYearStartMonth"`
	LiveNow       bool           `json:"liveNow"`
	WeekStart     string         `json:"weekStart"`
	Links         []any          `json:"links"`
	Annotations   struct {
		List []map[string]any `json:"list"`
	} `json:"annotations"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type variable struct {
	Name        string         `json:"name"`
	Label       string         `json:"label"`
	Type        string         `json:"type"`
	Datasource  *source        `json:"datasource,omitempty"`
	Query       any            `json:"query"`
	Definition  string         `json:"definition"`
	Refresh     int            `json:"refresh"`
	Sort        int            `json:"sort"`
	Multi       bool           `json:"multi"`
	IncludeAll  bool           `json:"includeAll"`
	AllValue    string         `json:"allValue"`
	Current     map[string]any `json:"current"`
	Hide        int            `json:"hide"`
	Options     []any          `json:"options"`
	Regex       string         `json:"regex"`
	SkipURLSync bool           `json:"skipUrlSync"`
}

type panel struct {
	ID              int              `json:"id"`
	Title           string           `json:"title"`
	Description     string           `json:"description"`
	Type            string           `json:"type"`
	Collapsed       bool             `json:"collapsed"`
	Panels          []panel          `json:"panels"`
	Datasource      *source          `json:"datasource"`
	GridPos         grid             `json:"gridPos"`
	FieldConfig     fieldConfig      `json:"fieldConfig"`
	Options         map[string]any   `json:"options"`
	Targets         []target         `json:"targets"`
	Transformations []transformation `json:"transformations"`
}

type grid struct{ X, Y, W, H int }

type fieldConfig struct {
	Defaults struct {
		Unit       string         `json:"unit"`
		Min        *float64       `json:"min"`
		Max        *float64       `json:"max"`
		Decimals   *int           `json:"decimals"`
		Custom     map[string]any `json:"custom"`
		Thresholds *struct {
			Mode  string `json:"mode"`
			Steps []struct {
				Color string   `json:"color"`
				Value *float64 `json:"value"`
			} `json:"steps"`
		} `json:"thresholds"`
	} `json:"defaults"`
	Overrides []struct {
		Matcher    map[string]string `json:"matcher"`
		Properties []struct {
			ID    string `json:"id"`
			Value any    `json:"value"`
		} `json:"properties"`
	} `json:"overrides"`
}

type target struct {
	RefID        string  `json:"refId"`
	Datasource   *source `json:"datasource"`
	Expr         string  `json:"expr"`
	LegendFormat string  `json:"legendFormat"`
	Format       string  `json:"format"`
	Instant      bool    `json:"instant"`
	Range        bool    `json:"range"`
}

type transformation struct {
	ID      string         `json:"id"`
	Options map[string]any `json:"options"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(Read(t, dashboardFile)))
	decoder.DisallowUnknownFields()
	d := dashboard{}
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// What the rules of Grafana's dashboard linter ask for, and what keeps panels
// from lying over each other.
func TestTheDashboardIsOneThatGrafanaTakes(t *testing.T) {
	d := readDashboard(t)
	if d.UID == "" || len(d.UID) > 40 || d.Title == "" || d.SchemaVersion != 39 || d.Editable {
		t.Errorf("uid %q, title %q, schemaVersion %d, editable %t", d.UID, d.Title, d.SchemaVersion, d.Editable)
	}
	kinds := []string{"row", "timeseries", "stat", "bargauge", "table"}
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if other, twice := ids[p.ID]; twice {
			t.Errorf("%q has the id of %q", p.Title, other)
		}
		ids[p.ID] = p.Title
		if !slices.Contains(kinds, p.Type) || p.Title == "" {
			t.Errorf("panel %d, %q, is a %s", p.ID, p.Title, p.Type)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, is := taken[[2]int{x, y}]; is {
					t.Fatalf("%q lies over %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 {
			t.Errorf("%q leaves the page: %+v", p.Title, p.GridPos)
		}
		if p.Type != "row" {
			checkPanel(t, p)
		}
	}
}

func checkPanel(t *testing.T, p panel) {
	t.Helper()
	want := &source{Type: "prometheus", UID: "${datasource}"}
	if p.Description == "" || len(p.Targets) == 0 {
		t.Errorf("%q has %d queries and the description %q", p.Title, len(p.Targets), p.Description)
	}
	if p.FieldConfig.Defaults.Unit == "" && p.Type != "table" {
		t.Errorf("%q has no unit", p.Title)
	}
	for _, q := range p.Targets {
		if diff := cmp.Diff(want, q.Datasource); diff != "" || cmp.Diff(want, p.Datasource) != "" {
			t.Errorf("%q does not ask the chosen data source (-want +got):\n%s", p.Title, diff)
		}
		if q.Instant == q.Range {
			t.Errorf("%q, %s: instant %t and range %t", p.Title, q.RefID, q.Instant, q.Range)
		}
		if (p.Type == "table") != (q.Format == "table") {
			t.Errorf("%q, %s has the format %q", p.Title, q.RefID, q.Format)
		}
		if p.Type != "table" && q.LegendFormat == "" {
			t.Errorf("%q, %s has no legend", p.Title, q.RefID)
		}
	}
}

// query is one that somebody asks Prometheus.
type query struct {
	where, expr string
	shown       []string // labels that its legend or its text names
}

// used is what hack/tools/observe reports about a query.
type used struct {
	Error   string              `json:"error"`
	Metrics map[string][]string `json:"metrics"`
	Groups  []string            `json:"groups"`
}

func parsed(t *testing.T, queries []query) []used {
	t.Helper()
	var list []string
	for _, q := range queries {
		list = append(list, q.expr)
	}
	in, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, in, "hack/tool.sh", "observe", "queries")
	if err != nil {
		t.Fatal(err)
	}
	var uses []used
	if err := json.Unmarshal(out, &uses); err != nil || len(uses) != len(queries) {
		t.Fatalf("%d answers to %d queries, %v", len(uses), len(queries), err)
	}
	return uses
}

// asked are all queries that the chart ships.
func asked(t *testing.T) []query {
	t.Helper()
	var out []query
	inText := regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)
	shown := func(text string) []string {
		var names []string
		for _, m := range inText.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return names
	}
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			out = append(out, query{"panel " + p.Title, q.Expr, shown(q.LegendFormat)})
		}
	}
	inQuery := regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)
	for _, v := range d.Templating.List {
		if m := inQuery.FindStringSubmatch(v.Definition); m != nil {
			out = append(out, query{"variable " + v.Name, m[1], []string{m[2]}})
		} else if v.Type == "query" {
			t.Errorf("variable %s asks %q", v.Name, v.Definition)
		}
	}
	for _, r := range shippedRules(t) {
		out = append(out, query{"alert " + r.Alert, r.Expr, shown(r.Annotations["summary"] + r.Annotations["description"])})
	}
	return out
}

func TestEveryQueryParsesAndAsksForWhatIsExported(t *testing.T) {
	known := metrictable.Read(t, "nfsbench_")
	known["controller_runtime_reconcile_errors_total"] = metrictable.Row{Labels: []string{"controller", "namespace"}} // namespace: of the target
	queries := asked(t)
	if len(queries) < 35 {
		t.Fatalf("only %d queries found", len(queries))
	}
	reached := map[string]bool{}
	for i, u := range parsed(t, queries) {
		for _, problem := range problems(queries[i], u, known) {
			t.Errorf("%s: %s: %s", queries[i].where, problem, queries[i].expr)
		}
		for name := range u.Metrics {
			reached[name] = true
		}
	}
	unused := map[string]string{
		"nfsbench_benchmarks_omitted":                            "says what the others leave out",
		"nfsbench_suites_omitted":                                "says what the others leave out",
		"nfsbench_suite_lines_omitted":                           "says what the others leave out",
		"nfsbench_benchmark_client_cpu_ratio":                    "for comparisons by hand",
		"nfsbench_benchmark_storage_cpu_ratio":                   "for comparisons by hand",
		"nfsbench_benchmark_client_cpu_seconds_per_mebibyte":     "for comparisons by hand",
		"nfsbench_benchmark_interval_ratio":                      "for comparisons by hand",
		"nfsbench_suite_cell_client_cpu_ratio":                   "for comparisons by hand",
		"nfsbench_suite_cell_client_cpu_seconds_per_mebibyte":    "for comparisons by hand",
		"nfsbench_suite_cell_wire_ratio":                         "for comparisons by hand",
		"nfsbench_suite_cell_longest_pause_seconds":              "for comparisons by hand",
		"nfsbench_benchmark_eta_seconds":                         "the progress says it",
		"nfsbench_suite_planned_benchmarks":                      "the progress says it",
		"nfsbench_suite_finished_benchmarks":                     "the progress says it",
		"nfsbench_suite_last_run_start_timestamp_seconds":        "for alerts of one's own",
		"nfsbench_suite_last_success_timestamp_seconds":          "for alerts of one's own",
		"nfsbench_live_progress_ratio":                           "the operator tells it too",
		"nfsbench_live_throughput_bytes_per_second":              "the operator tells it too",
		"nfsbench_live_iops":                                     "the throughput says as much",
		"nfsbench_live_storage_path_throughput_bytes_per_second": "as the storage counts it, beside what the client counts",
	}
	for name := range known {
		if _, is := unused[name]; is == reached[name] {
			t.Errorf("%s: asked for: %t, listed as unused: %t", name, reached[name], is)
		}
	}
}

// problems are those of one query: metrics and labels that nobody exports.
func problems(q query, u used, known map[string]metrictable.Row) []string {
	if u.Error != "" {
		return []string{u.Error}
	}
	var out []string
	labels := map[string]bool{}
	for name, asked := range u.Metrics {
		row, is := known[name]
		if !is {
			out = append(out, "there is no metric "+name)
			continue
		}
		for _, l := range row.Labels {
			labels[l] = true
		}
		for _, l := range asked {
			if !slices.Contains(row.Labels, l) {
				out = append(out, name+" has no label "+l)
			}
		}
	}
	for _, l := range u.Groups {
		if !labels[l] {
			out = append(out, "no metric of the query has the label "+l)
		}
	}
	for _, l := range q.shown {
		if !labels[l] || strings.HasPrefix(q.expr, "max by") && !slices.Contains(u.Groups, l) {
			out = append(out, "the text names the label "+l+", which the answer has not")
		}
	}
	slices.Sort(out)
	return out
}

func TestTheCheckOfQueriesFindsMistakes(t *testing.T) {
	known := map[string]metrictable.Row{"nfsbench_a": {Labels: []string{"b"}}}
	queries := []query{
		{expr: "sum by (b) (nfsbench_a"},
		{expr: "nfsbench_x"},
		{expr: `nfsbench_a{c="d"}`},
		{expr: "sum by (c) (nfsbench_a)"},
		{expr: "max by (b) (nfsbench_a)", shown: []string{"c"}},
		{expr: "max by (b) (nfsbench_a)", shown: []string{"b"}},
	}
	want := []int{1, 1, 1, 1, 1, 0}
	for i, u := range parsed(t, queries) {
		if got := problems(queries[i], u, known); len(got) != want[i] {
			t.Errorf("%s: %v", queries[i].expr, got)
		}
	}
}

func TestVariablesOfTheDashboardAreThoseThatAreUsed(t *testing.T) {
	defined, inUse := map[string]bool{}, map[string]bool{}
	for _, v := range readDashboard(t).Templating.List {
		defined[v.Name] = true
	}
	text := string(Read(t, dashboardFile))
	for _, m := range regexp.MustCompile(`\$\{?([a-z]+)\}?`).FindAllStringSubmatch(text, -1) {
		inUse[m[1]] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(defined)), slices.Sorted(maps.Keys(inUse))); diff != "" {
		t.Errorf("defined (-) and used (+):\n%s", diff)
	}
}

func TestTheConfigMapHoldsTheDashboardAsItIs(t *testing.T) {
	for _, o := range Objects(t, Helm(t, "--set", "dashboards.enabled=true")) {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		if o.GetLabels()["grafana_dashboard"] != "1" || o.GetAnnotations() != nil {
			t.Errorf("labels %v, annotations %v", o.GetLabels(), o.GetAnnotations())
		}
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		if diff := cmp.Diff(map[string]string{"nfsbench.json": strings.TrimSpace(string(Read(t, dashboardFile)))}, trimmed(data)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return
	}
	t.Error("no ConfigMap is rendered")
}

func trimmed(data map[string]string) map[string]string {
	for k, v := range data {
		data[k] = strings.TrimSpace(v)
	}
	return data
}
