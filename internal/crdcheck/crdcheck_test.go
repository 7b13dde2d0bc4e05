package crdcheck_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
)

var compiled = sync.OnceValues(crdcheck.New)

func checker(t testing.TB) *crdcheck.Checker {
	t.Helper()
	c, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func complete(t testing.TB, spec string) (map[string]any, error) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	out, err := checker(t).Complete(data)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(out, &tree); err != nil {
		t.Fatal(err)
	}
	return tree, nil
}

const (
	good   = `{storage: {export: {servers: [10.0.1.61], path: /vol}}, protocol: {client: Kernel}, workload: {raw: {pattern: Read}}}`
	direct = `{storage: {export: {servers: [10.0.1.61, 10.0.2.61], path: /vol}}, protocol: {}, workload: {raw: {pattern: Read}}}`
)

// TestASpecIsRefusedAsTheAPIServerDoes has one spec for each family of rules. What
// the API server says of them is in test/integration.
func TestASpecIsRefusedAsTheAPIServerDoes(t *testing.T) {
	cases := map[string]struct{ spec, says string }{
		"Good":         {good, ""},
		"GoodDirect":   {direct, ""},
		"OneOf":        {`{storage: {}, protocol: {}, workload: {raw: {pattern: Read}}}`, "give exactly one of storage"},
		"TwoWorkloads": {`{storage: {embedded: {size: 20Gi}}, protocol: {}, workload: {raw: {pattern: Read}, slob: {access: RandomRead}}}`, "give exactly one of workload.raw"},
		"AcrossMembers": {
			strings.Replace(direct, "protocol: {}", "protocol: {client: Kernel}", 1),
			"the kernel client mounts one address: give one server",
		},
		"AddressFunctions": {strings.Replace(direct, "10.0.2.61", "10.0.1.62", 1), "two addresses in storage.export.servers are in one subnet (/24"},
		"AddressesOfIPv6":  {strings.Replace(direct, "10.0.1.61, 10.0.2.61", "'fd00::61', 'fd00::62'", 1), "two addresses in storage.export.servers are in one subnet (/24"},
		"SubnetsOfIPv6":    {strings.Replace(direct, "10.0.2.61", "'fd00::1', 'fd00:0:0:1::1'", 1), ""},
		"Quantities":       {strings.Replace(good, "pattern: Read", "pattern: Read, blockSize: 1536", 1), "workload.raw.blockSize must be a power of two"},
		"QuantitiesBoth":   {strings.Replace(good, "pattern: Read", "pattern: Read, fileSize: 512Ki", 1), "workload.raw.fileSize is smaller than blockSize"},
		"NoQuantity":       {strings.Replace(good, "}}}", "}}, pods: {resources: {limits: {cpu: '1e1.5'}}}}", 1), "write a number as Kubernetes does"},
		// The rules do not parse it: that takes minutes with a longer exponent.
		"LongExponent":  {strings.Replace(good, "pattern: Read", "pattern: Read, fileSize: '1e-1000'", 1), "write a size, such as 8Ki"},
		"RandomDefault": {strings.Replace(good, "pattern: Read", "pattern: RandomRead, fileSize: 512Ki", 1), ""},
		"RedoLogs": {
			`{storage: {trident: {size: 4Gi, storageClassName: gold}}, protocol: {}, workload: {calibrate: {}}, database: {container: {image: x, passwordSecretRef: {name: p}, redoLogSize: 1Gi}}}`,
			"the storage has no room for the database, four redo logs",
		},
		"Sums": {
			strings.Replace(good, "}}}", "}}, run: {timeoutSeconds: 79}}", 1),
			"run.timeoutSeconds is shorter",
		},
		"Bound":         {strings.Replace(good, "}}}", "}}, clients: 65}", 1), "spec.clients: Invalid value: 65"},
		"LowerBound":    {strings.Replace(good, "}}}", "}}, run: {durationSeconds: 0}}", 1), "spec.run.durationSeconds: Invalid value: 0"},
		"Pattern":       {strings.Replace(good, "/vol", `"/a b"`, 1), "spec.storage.export.path"},
		"Enum":          {strings.Replace(good, "pattern: Read", "pattern: Reed", 1), `spec.workload.raw.pattern: Unsupported value: "Reed"`},
		"Type":          {strings.Replace(good, "}}}", "}}, clients: two}", 1), "spec.clients: Invalid value"},
		"Required":      {`{storage: {claim: {name: x}}, protocol: {}, workload: {raw: {}}}`, "spec.workload.raw.pattern: Required value"},
		"Unknown":       {strings.Replace(good, "pattern: Read", "patern: Read, pattern: Read", 1), "spec.workload.raw.patern: unknown field"},
		"ListOfSingles": {strings.Replace(good, "raw: {pattern: Read}", "slob: {access: RandomRead, users: [1, 1]}", 1), "a number is listed twice"},
		"Empty":         {`{}`, "spec.storage: Required value"},
		"Null":          {`null`, "spec.storage: Required value"},
		"NullOfADefault": {
			strings.Replace(good, "}}}", "}}, clients: null, run: null}", 1), "",
		},
		"NullWithoutADefault": {strings.Replace(good, "raw: {pattern: Read}", "slob: null, raw: {pattern: Read}", 1), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := complete(t, tc.spec)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

// workloadOf is a completed workload of a spec.
func workloadOf(t *testing.T, spec, kind string) map[string]any {
	t.Helper()
	got, err := complete(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return got["workload"].(map[string]any)[kind].(map[string]any)
}

func TestDefaultsAreFilledInWhereAnObjectWasAdded(t *testing.T) {
	got, err := complete(t, good)
	if err != nil {
		t.Fatal(err)
	}
	raw, run := workloadOf(t, good, "raw"), got["run"].(map[string]any)
	if raw["jobs"] != 4.0 || run["durationSeconds"] != 60.0 {
		t.Errorf("jobs %v, duration %v", raw["jobs"], run["durationSeconds"])
	}
	calibrate := workloadOf(t, strings.Replace(good, "raw: {pattern: Read}", "calibrate: {}", 1), "calibrate")
	if files := calibrate["nativeFiles"].(map[string]any)["count"]; files != 4.0 {
		t.Errorf("%v files of a calibration", files)
	}
	if size, is := raw["blockSize"]; is {
		t.Errorf("blockSize is %v; it depends on the pattern", size)
	}
	if _, is := got["database"]; is {
		t.Error("a database was made up")
	}
}

func TestAPartIsCheckedWithoutWhatIsMissing(t *testing.T) {
	for part, says := range map[string]string{
		`{"run": {"durationSeconds": 60}}`:                              "",
		`{"workload": {"raw": {}}}`:                                     "",
		`{"protocol": {"client": "Kernle"}}`:                            "protocol.client: Unsupported value",
		`{"clients": "two"}`:                                            "must be of type integer",
		`{"protocol": "NFSv3"}`:                                         "must be of type object",
		`{"protoclo": {}}`:                                              "protoclo: unknown field; did you mean protocol?",
		`{"protocol": {"clinet": "Kernel"}}`:                            "protocol.clinet: unknown field; did you mean protocol.client?",
		`{"protocol": {"nConnect": 4}}`:                                 "did you mean protocol.nconnect?",
		`{"protocol": {"paths": {"explicit": [{"pat": "10.0.1.61"}]}}}`: "did you mean protocol.paths.explicit[0].path?",
		`{"workload": {"fio": {}}}`:                                     "workload.fio: unknown field; there are calibrate, raw, slob",
		`[]`:                                                            "read a part of the spec",
	} {
		err := checker(t).CheckPart([]byte(part))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", part, err, says)
		}
	}
}

func TestCompletingTwiceChangesNothing(t *testing.T) {
	once, err := complete(t, direct)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(once)
	twice, err := complete(t, string(data))
	if diff := cmp.Diff(once, twice); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWhatIsNoObjectIsAnError(t *testing.T) {
	for _, data := range []string{``, `[]`, `"x"`, `{`} {
		if _, err := checker(t).Complete([]byte(data)); err == nil || !strings.Contains(err.Error(), "read the spec") {
			t.Errorf("%q: got %v", data, err)
		}
	}
}

func TestASuiteGetsItsDefaults(t *testing.T) {
	s, err := crdcheck.Compile(crd.NFSBenchmarkSuite)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := yaml.YAMLToJSON([]byte(`{template: {spec: ` + good + `}}`))
	out, err := s.Complete(data)
	if err != nil {
		t.Fatal(err)
	}
	var spec v1alpha1.NFSBenchmarkSuiteSpec
	if err := json.Unmarshal(out, &spec); err != nil {
		t.Fatal(err)
	}
	if spec.Repetitions != 10 || spec.Order != v1alpha1.OrderInterleaved || spec.Template.Spec.Run.DurationSeconds != 60 {
		t.Errorf("got %+v", spec)
	}
	data, _ = yaml.YAMLToJSON([]byte(`{regression: {}, template: {spec: ` + good + `}}`))
	if _, err := s.Complete(data); err == nil || !strings.Contains(err.Error(), "spec.regression compares scheduled runs") {
		t.Errorf("got %v", err)
	}
}

// TestManyCheckAtOnce is for the race detector, and for state that checks share.
func TestManyCheckAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			spec, bad := good, i%2 == 1
			if bad {
				spec = strings.Replace(good, "}}}", "}}, clients: 65}", 1)
			}
			for range 10 {
				if _, err := complete(t, spec); (err != nil) != bad {
					t.Errorf("spec %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
}

// TestACheckAllocatesLittleBesideTheCompilation holds the promise that 200 cells take less
// than a second where compiling the schema takes a tenth, without a clock of its
// own: by what each allocates.
func TestACheckAllocatesLittleBesideTheCompilation(t *testing.T) {
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	compile := allocated(func() {
		if _, err := crdcheck.Compile(crd.NFSBenchmark); err != nil {
			t.Error(err)
		}
	})
	c := checker(t)
	data, _ := yaml.YAMLToJSON([]byte(good))
	check := allocated(func() {
		if _, err := c.Complete(data); err != nil {
			t.Error(err)
		}
	})
	if check*10 > compile {
		t.Errorf("a check allocates %d KiB, and the compilation %d KiB: something is compiled in each check", check>>10, compile>>10)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := crdcheck.Compile(crd.NFSBenchmark); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComplete(b *testing.B) {
	c := checker(b)
	data, _ := yaml.YAMLToJSON([]byte(good))
	for b.Loop() {
		if _, err := c.Complete(data); err != nil {
			b.Fatal(err)
		}
	}
}
