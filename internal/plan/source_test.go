package plan_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func array(a v1alpha1.ArrayAccess) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Array = &a }
}

func TestAnArrayIsAskedAsOftenAsTheUserSays(t *testing.T) {
	b := gen.Benchmark("demo", gen.Export("/oradata", "10.0.1.1"), gen.ONTAP("10.0.1.5", "svm1", "s"))
	b.Spec.Storage.Array.IntervalSeconds = 1
	if s, _ := plan.ArraySource(b, plan.Target{}); s.IntervalMilliseconds != 1000 {
		t.Errorf("it is asked every %d ms", s.IntervalMilliseconds)
	}
}

func TestTheSourceOfEachKindOfArray(t *testing.T) {
	t.Parallel()
	secret := v1alpha1.SecretReference{Name: "s"}
	found := gen.Survey("/vol/oradata", "10.0.1.61", "10.0.2.61")
	trident := &plan.Backend{ManagementLIF: "10.0.9.5", SVM: "svm9", Volume: "trident_pvc_1"}
	tls := v1alpha1.TLSTrust{CABundle: "-----BEGIN CERTIFICATE-----"}
	ontap := runfile.Source{
		Kind: runfile.SourceONTAP, Name: "ontap", URL: "https://10.0.1.5", SVM: "svm1", Credentials: "array", OneClient: true, IntervalMilliseconds: 5000,
	}
	with := func(change func(*runfile.Source)) runfile.Source {
		s := ontap
		change(&s)
		return s
	}
	cases := map[string]struct {
		array  v1alpha1.ArrayAccess
		target plan.Target
		want   runfile.Source
	}{
		"ONTAP": {v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "10.0.1.5", SVM: "svm1"}}, plan.Target{}, ontap},
		"ONTAPSurveyed": {
			v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "10.0.1.5", SVM: "svm1", TLS: tls}},
			plan.Target{Survey: &found},
			with(func(s *runfile.Source) { s.Volume, s.CABundle = "oradata", tls.CABundle }),
		},
		"ONTAPOfTrident": {
			v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{TLS: v1alpha1.TLSTrust{Verification: bench.Disabled}}},
			plan.Target{Backend: trident},
			with(func(s *runfile.Source) {
				s.URL, s.SVM, s.Volume, s.InsecureSkipVerify = "https://10.0.9.5", "svm9", "trident_pvc_1", true
			}),
		},
		"ONTAPBesideTrident": {
			v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "cluster.example:8443", SVM: "svm1"}},
			plan.Target{Backend: trident},
			with(func(s *runfile.Source) { s.URL, s.Volume = "https://cluster.example:8443", "trident_pvc_1" }),
		},
		"ONTAPIPv6":         {v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "fd00::5", SVM: "svm1"}}, plan.Target{}, with(func(s *runfile.Source) { s.URL = "https://[fd00::5]" })},
		"ONTAPIPv6Brackets": {v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "[fd00::5]:444", SVM: "svm1"}}, plan.Target{}, with(func(s *runfile.Source) { s.URL = "https://[fd00::5]:444" })},
		"FlashBlade": {
			v1alpha1.ArrayAccess{FlashBlade: &v1alpha1.FlashBladeAccess{ManagementVIP: "10.0.1.6", CredentialsSecretRef: secret}},
			plan.Target{Export: "/oradata"},
			runfile.Source{Kind: runfile.SourceFlashBlade, Name: "flashblade", URL: "https://10.0.1.6", Volume: "oradata", Credentials: "array", OneClient: true, IntervalMilliseconds: 5000},
		},
		"FlashBladeNamed": {
			v1alpha1.ArrayAccess{FlashBlade: &v1alpha1.FlashBladeAccess{ManagementVIP: "10.0.1.6", FileSystem: "fs1"}},
			plan.Target{Export: "/oradata", Survey: &found},
			runfile.Source{Kind: runfile.SourceFlashBlade, Name: "flashblade", URL: "https://10.0.1.6", Volume: "fs1", Credentials: "array", OneClient: true, IntervalMilliseconds: 5000},
		},
		"Harvest": {
			v1alpha1.ArrayAccess{Prometheus: &v1alpha1.PrometheusAccess{URL: "http://p:9090", Harvest: &v1alpha1.HarvestSelector{Cluster: "c1", SVM: "svm1"}}},
			plan.Target{Export: "/vol/oradata/"},
			runfile.Source{Kind: runfile.SourcePrometheus, Name: "prometheus", URL: "http://p:9090", Labels: map[string]string{"cluster": "c1", "svm": "svm1", "volume": "oradata"}, OneClient: true, IntervalMilliseconds: 5000},
		},
		"HarvestOfAClaim": {
			v1alpha1.ArrayAccess{Prometheus: &v1alpha1.PrometheusAccess{URL: "http://p:9090", Harvest: &v1alpha1.HarvestSelector{Cluster: "c1", SVM: "svm1"}, CredentialsSecretRef: &secret}},
			plan.Target{},
			runfile.Source{Kind: runfile.SourcePrometheus, Name: "prometheus", URL: "http://p:9090", Credentials: "array", Labels: map[string]string{"cluster": "c1", "svm": "svm1"}, OneClient: true, IntervalMilliseconds: 5000},
		},
		"Queries": {
			v1alpha1.ArrayAccess{Prometheus: &v1alpha1.PrometheusAccess{URL: "http://p:9090", Queries: &v1alpha1.PrometheusQueries{ReadBytes: "sum(x)"}}},
			plan.Target{},
			runfile.Source{Kind: runfile.SourcePrometheus, Name: "prometheus", URL: "http://p:9090", Queries: map[string]string{"readBytes": "sum(x)"}, OneClient: true, IntervalMilliseconds: 5000},
		},
		"Exporter": {
			v1alpha1.ArrayAccess{Exporter: &v1alpha1.ExporterAccess{Nodes: []v1alpha1.ExporterNode{{Name: "filer", URL: "http://f:9100/metrics"}}}},
			plan.Target{},
			runfile.Source{Kind: runfile.SourceExporter, Name: "exporter", Nodes: []runfile.SourceNode{{Name: "filer", URL: "http://f:9100/metrics"}}, OneClient: true, IntervalMilliseconds: 5000},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := plan.ArraySource(gen.Benchmark("demo", array(tc.array)), tc.target)
			if diff := cmp.Diff(tc.want, got); diff != "" || !ok {
				t.Errorf("%t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestAnArrayThatNothingTellsTheAddressOfIsNoSource(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]gen.Mod{
		"no array":   func(*v1alpha1.NFSBenchmark) {},
		"no address": array(v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{SVM: "svm1"}}),
		"no SVM":     array(v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{ManagementLIF: "10.0.1.5"}}),
	} {
		if s, ok := plan.ArraySource(gen.Benchmark("demo", mod), plan.Target{}); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestEveryQueryOfTheAPIReachesThePlan(t *testing.T) {
	t.Parallel()
	q, want := v1alpha1.PrometheusQueries{}, map[string]string{}
	v := reflect.ValueOf(&q).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		v.Field(i).SetString("query of " + name)
		want[name] = "query of " + name
	}
	s, _ := plan.ArraySource(gen.Benchmark("demo", array(v1alpha1.ArrayAccess{Prometheus: &v1alpha1.PrometheusAccess{URL: "http://p:9090", Queries: &q}})), plan.Target{})
	if diff := cmp.Diff(want, s.Queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestThePlanOfAnArrayIsValid(t *testing.T) {
	t.Parallel()
	survey := gen.Survey("/vol/oradata", "10.0.1.61", "10.0.2.61")
	b := gen.Benchmark("demo", gen.ONTAP("10.0.1.5", "svm1", "s"), gen.Select(bench.PathsLocal))
	target := plan.Target{Export: "/vol/oradata", Survey: &survey}
	paths, err := plan.SelectPaths(b.Spec, nil, &survey)
	if err != nil {
		t.Fatal(err)
	}
	target.Paths = paths
	s, _ := plan.ArraySource(b, target)
	target.Sources = []runfile.Source{s}
	p, err := plan.Build(b, target)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Engine.Channels) == 0 || p.Engine.Channels[0].Path != "10.0.1.61" || p.Survey == nil || p.Collect.Sources[0].Volume != "oradata" {
		t.Errorf("plan %+v", p)
	}
}
