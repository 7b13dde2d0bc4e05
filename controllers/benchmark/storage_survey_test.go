package benchmark

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func onTrident(b *v1alpha1.NFSBenchmark) {
	b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{StorageClassName: "gold", MoveTo: "aggr_b"}}
}

func TestTheArrayIsAskedForTheVolumeThatTridentNames(t *testing.T) {
	t.Parallel()
	b := gen.Benchmark("demo", onTrident, gen.ONTAP("", "", "reader"), gen.UID("u"))
	s := &scope{
		b: b,
		storagePart: storagePart{target: &plan.Target{
			Export: "/trident_pvc_1", Backend: &plan.Backend{ManagementLIF: "10.0.1.5", SVM: "svm1", Volume: "trident_pvc_1"},
		}},
	}
	text, err := surveyRequest(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runfile.ReadSurveyRequest(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := runfile.SurveyRequest{
		Version: runfile.SurveyVersion, Run: runfile.Identity{Namespace: "bench", Name: "demo", UID: "u"},
		Source: runfile.Source{
			Kind: runfile.SourceONTAP, Name: "ontap", URL: "https://10.0.1.5", SVM: "svm1", Volume: "trident_pvc_1",
			Credentials: "array", OneClient: true, IntervalMilliseconds: 5000,
		},
		Export: "/trident_pvc_1", MoveTo: "aggr_b", TimeoutSeconds: 60,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	s.target.Backend = nil
	if _, err := surveyRequest(s); err == nil || !strings.Contains(err.Error(), "needs managementLIF and svm") {
		t.Errorf("an array without an address: %v", err)
	}
}

func TestAMountThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	t.Parallel()
	survey := gen.Survey("/trident_pvc_1", "10.0.1.61", "10.0.2.61")
	at := func(address string) plan.Target {
		return plan.Target{Survey: &survey, Addresses: []string{address}, Paths: []bench.ResolvedPath{{Path: address}}}
	}
	cases := map[string]struct {
		mods   []gen.Mod
		target plan.Target
		want   string // part of the sentence; empty = all is well
	}{
		"LocalAsAsked":   {[]gen.Mod{onTrident, gen.Kernel, gen.Select(bench.PathsLocal)}, at("10.0.1.61"), ""},
		"RemoteAsAsked":  {[]gen.Mod{onTrident, gen.Kernel, gen.Select(bench.PathsRemote)}, at("10.0.2.61"), ""},
		"NotLocal":       {[]gen.Mod{onTrident, gen.Kernel, gen.Select(bench.PathsLocal)}, at("10.0.2.61"), "mounts 10.0.2.61, as the volume says, and that is not local: set dataLIF of the Trident backend to 10.0.1.61"},
		"NotRemote":      {[]gen.Mod{onTrident, gen.Kernel, gen.Select(bench.PathsRemote)}, at("10.0.1.61"), "not remote: set dataLIF of the Trident backend to 10.0.2.61"},
		"OfAClaim":       {[]gen.Mod{gen.Claim("data"), gen.Kernel, gen.Select(bench.PathsRemote)}, at("10.0.1.61"), "not remote"},
		"NotALIF":        {[]gen.Mod{onTrident, gen.Kernel, gen.Select(bench.PathsLocal)}, at("10.0.3.61"), "not local"},
		"All":            {[]gen.Mod{onTrident, gen.Kernel, gen.Select(bench.PathsAll)}, at("10.0.2.61"), ""},
		"Direct":         {[]gen.Mod{onTrident, gen.Select(bench.PathsLocal)}, at("10.0.2.61"), ""},
		"ExportIsChosen": {[]gen.Mod{gen.Kernel, gen.Select(bench.PathsLocal)}, at("10.0.2.61"), ""},
	}
	for name, tc := range cases {
		got := wrongMount(gen.Benchmark("demo", tc.mods...), &tc.target)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestAVolumeIsCalledAsTheArrayCallsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason  string
		backend *plan.Backend
		want    string
	}{
		{"Trident says how", &plan.Backend{Volume: "trident_pvc_1"}, "trident_pvc_1"},
		{"Trident does not say", &plan.Backend{}, "/vol/oradata"},
		{"it is not of Trident", nil, "/vol/oradata"},
	} {
		s := &scope{storagePart: storagePart{target: &plan.Target{Export: "/vol/oradata", Backend: c.backend}}}
		if got := s.volumeName(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
