package integration

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// fields are changes of a spec: dotted path to value. A nil value removes.
type fields map[string]any

// The specs that the cases start from: as a user writes them, without defaults.
const (
	embeddedSpec = `{storage: {embedded: {size: 1Gi}}, protocol: {}, workload: {raw: {pattern: Read, fileSize: 64Mi}}}`
	exportSpec   = `{storage: {export: {servers: [10.0.1.61, 10.0.2.61], path: /vol}}, protocol: {}, workload: {raw: {pattern: Read}}}`
	kernelSpec   = `{storage: {export: {servers: [10.0.1.61], path: /vol}}, protocol: {client: Kernel}, workload: {raw: {pattern: Read}}}`
	tridentSpec  = `{storage: {trident: {size: 10Gi, backendName: filer1}}, protocol: {}, workload: {raw: {pattern: Read}}}`
	claimSpec    = `{storage: {claim: {name: data}}, protocol: {client: Kernel}, workload: {raw: {pattern: Read}}}`
)

func explicit(pairs ...any) map[string]any {
	var list []any
	for _, p := range pairs {
		switch v := p.(type) {
		case string:
			list = append(list, map[string]any{"path": v})
		case [2]string:
			list = append(list, map[string]any{"local": v[0], "path": v[1]})
		case map[string]any:
			list = append(list, v)
		}
	}
	return map[string]any{"select": "Explicit", "explicit": list}
}

// via is a path from an interface.
func via(name, path string) map[string]any {
	return map[string]any{"localInterface": name, "path": path}
}

// servers makes n addresses in n subnets.
func servers(n int) []any {
	var out []any
	for i := range n {
		out = append(out, "10.0."+string(rune('1'+i))+".61")
	}
	return out
}

// refusal is a spec that a rule refuses, and the nearest one that it takes.
type refusal struct {
	says      string // the beginning of the rule's message
	base      string
	bad, good fields
}

// refusals has a case for every rule of the CRD.
func refusals() map[string]refusal {
	out := storageRefusals()
	maps.Copy(out, databaseRefusals())
	maps.Copy(out, workloadRefusals())
	maps.Copy(out, capacityRefusals())
	maps.Copy(out, map[string]refusal{
		"NoStorage":        {"give exactly one of storage", embeddedSpec, fields{"storage.embedded": nil}, fields{}},
		"TwoStorages":      {"give exactly one of storage", embeddedSpec, fields{"storage.claim.name": "data"}, fields{}},
		"EmbeddedExplicit": {"storage.embedded makes its own addresses", embeddedSpec, fields{"protocol.paths": explicit("10.0.1.61")}, fields{"protocol.paths.select": "All"}},
		"UnknownPath": {
			"each protocol.paths.explicit[].path must be one of storage.export.servers", exportSpec,
			fields{"protocol.paths": explicit("10.0.3.61")},
			fields{"protocol.paths": explicit("10.0.2.61")},
		},
		"KernelTwoServers": {
			"the kernel client mounts one address: give one server", exportSpec,
			fields{"protocol.client": "Kernel"},
			fields{"protocol.client": "Kernel", "protocol.paths": explicit("10.0.2.61")},
		},
		"KernelTwoEmbedded": {
			"the kernel client mounts one address: set storage.embedded.paths", embeddedSpec,
			fields{"protocol.client": "Kernel", "storage.embedded.paths": int64(2)},
			fields{"protocol.client": "Kernel", "storage.embedded.paths": int64(1)},
		},
		"FiveServers": {"Direct NFS uses at most four paths", exportSpec, fields{"storage.export.servers": servers(5)}, fields{"storage.export.servers": servers(4)}},
		"OneSubnet": {
			"two addresses in storage.export.servers are in one subnet (/24", exportSpec,
			fields{"storage.export.servers": []any{"10.0.1.61", "10.0.1.62"}},
			fields{"storage.export.servers": []any{"10.0.1.61", "10.0.2.61", "filer.example", "fd00::1"}},
		},
		"OneSubnetIPv6": {
			"two addresses in storage.export.servers are in one subnet (/24", exportSpec,
			fields{"storage.export.servers": []any{"fd00:0:0:1::61", "FD00:0:0:1::62"}},
			fields{"storage.export.servers": []any{"fd00:0:0:1::61", "fd00:0:0:2::61", "fd00:0:0:3::61", "10.0.1.61"}},
		},
		"ClaimKernelPaths": {
			"the kernel client uses the address that the claim", claimSpec,
			fields{"protocol.paths": explicit("10.0.1.61")},
			fields{"protocol.paths": explicit("10.0.1.61"), "protocol.client": "DirectNFS"},
		},
		"ClaimKernelOptions": {
			"a claim's volume is mounted with the options of its StorageClass", claimSpec,
			fields{"protocol.nconnect": int64(4)},
			fields{},
		},
		"EmbeddedV4": {
			"the embedded server speaks NFSv3 only", embeddedSpec,
			fields{"protocol.client": "Kernel", "protocol.version": "NFSv4.1"},
			fields{"protocol.client": "Kernel", "protocol.version": "NFSv3"},
		},
		"EmbeddedKerberos": {
			"the embedded server knows security sys only", embeddedSpec,
			fields{"protocol.client": "Kernel", "protocol.security": "krb5"},
			fields{"protocol.client": "Kernel", "protocol.security": "sys"},
		},
		"EmbeddedTooSmall": {"storage.embedded.size is smaller", embeddedSpec, fields{"storage.embedded.size": "63Mi"}, fields{"storage.embedded.size": "64Mi"}},
		"EmbeddedZero": {
			"storage.embedded.size must be greater than zero", embeddedSpec,
			fields{"storage.embedded.size": "0"},
			fields{"storage.embedded.size": "1Gi"},
		},
		"PNFSKerberos":  {"pNFS works with security sys only", kernelSpec, fields{"protocol.version": "pNFS", "protocol.security": "krb5p"}, fields{"protocol.version": "pNFS"}},
		"DirectKrb":     {"the native Direct NFS engine knows security sys only", exportSpec, fields{"protocol.security": "krb5"}, fields{"protocol.security": "sys", "protocol.version": "NFSv4.1"}},
		"DirectConnect": {"protocol.nconnect is an option of the kernel client", exportSpec, fields{"protocol.nconnect": int64(4)}, fields{"protocol.version": "pNFS"}},
		"NConnectV40": {
			"protocol.nconnect is not good for NFSv4.0", kernelSpec,
			fields{"protocol.nconnect": int64(4), "protocol.version": "NFSv4.0"},
			fields{"protocol.nconnect": int64(4), "protocol.version": "NFSv4.1"},
		},
		"KernelDontRoute": {"protocol.doNotRoute is an oranfstab attribute", kernelSpec, fields{"protocol.doNotRoute": "Enabled"}, fields{"protocol.doNotRoute": "Disabled"}},
		"KernelLocal": {
			"the kernel client mounts one address and chooses its own local", kernelSpec,
			fields{"protocol.paths": explicit([2]string{"10.0.1.5", "10.0.1.61"})},
			fields{"protocol.paths": explicit("10.0.1.61")},
		},
		"KernelInterface": {
			"the kernel client mounts one address and chooses its own local", kernelSpec,
			fields{"protocol.paths": explicit(via("net1", "10.0.1.61"))},
			fields{"protocol.paths": explicit("10.0.1.61")},
		},
		"LocalTwice": {
			"protocol.paths.explicit[] has local and localInterface", exportSpec,
			fields{"protocol.paths": explicit(map[string]any{"local": "10.0.1.5", "localInterface": "net1", "path": "10.0.1.61"})},
			fields{"protocol.paths": explicit(via("net1", "10.0.1.61"))},
		},
		"InterfaceTwice": {
			"a path with localInterface in protocol.paths.explicit is listed twice", exportSpec,
			fields{"protocol.paths": explicit(via("net1", "10.0.1.61"), [2]string{"10.0.1.6", "10.0.1.61"})},
			fields{"protocol.paths": explicit(via("net1", "10.0.1.61"), via("net2", "10.0.2.61"))},
		},
		"KernelRoot": {"pods with a kernel mount may not run as root", kernelSpec, fields{"protocol.userID": int64(0)}, fields{"protocol.userID": int64(1)}},
		"SlowLink": {
			"protocol.link.bitsPerSecond must be between", exportSpec,
			fields{"protocol.link.bitsPerSecond": "999k"},
			fields{"protocol.link.bitsPerSecond": "1M"},
		},
		"FastLink": {
			"protocol.link.bitsPerSecond must be between", exportSpec,
			fields{"protocol.link.bitsPerSecond": "1001G"},
			fields{"protocol.link.bitsPerSecond": "1T"},
		},
		"ExplicitMissing": {"protocol.paths.explicit goes with select: Explicit", exportSpec, fields{"protocol.paths.select": "Explicit"}, fields{"protocol.paths": explicit("10.0.1.61")}},
		"FivePaths": {
			"an oranfstab takes at most four paths", exportSpec,
			fields{"storage.export.servers": servers(5), "protocol.paths": explicit(servers(5)...)},
			fields{"storage.export.servers": servers(5), "protocol.paths": explicit(servers(4)...)},
		},
		"PathTwice": {
			"a path is listed twice", exportSpec,
			fields{"protocol.paths": explicit("10.0.1.61", "10.0.1.61")},
			fields{"protocol.paths": explicit([2]string{"10.0.1.5", "10.0.1.61"}, [2]string{"10.0.1.6", "10.0.1.61"})},
		},
		"PathsOneSubnet": {
			"two protocol.paths.explicit addresses are in one subnet (/24", exportSpec,
			fields{"storage.export.servers": []any{"10.0.1.61", "10.0.1.62"}, "protocol.paths": explicit("10.0.1.61", "10.0.1.62")},
			fields{"protocol.paths": explicit("10.0.1.61", "10.0.2.61")},
		},
		"PathsOneSubnetIPv6": {
			"two protocol.paths.explicit addresses are in one subnet (/24", exportSpec,
			fields{"storage.export.servers": []any{"fd00:0:0:1::61", "fd00:0:0:1::62"}, "protocol.paths": explicit("fd00:0:0:1::61", "fd00:0:0:1::62")},
			fields{"storage.export.servers": []any{"fd00:0:0:1::61", "fd00:0:0:2::61"}, "protocol.paths": explicit("fd00:0:0:1::61", "fd00:0:0:2::61")},
		},
		"LocalOfOtherVersion": {
			"protocol.paths.explicit[].local and path must be of the same IP version", exportSpec,
			fields{"protocol.paths": explicit([2]string{"fd00::5", "10.0.1.61"})},
			fields{"storage.export.servers": []any{"fd00::61"}, "protocol.paths": explicit([2]string{"fd00::5", "fd00::61"})},
		},
		"LocalName": {
			"protocol.paths.explicit[].local must be an IP address", exportSpec,
			fields{"protocol.paths": explicit([2]string{"eth0", "10.0.1.61"})},
			fields{"protocol.paths": explicit([2]string{"10.0.1.5", "10.0.1.61"})},
		},
		"SmallTransfer": {"protocol.transferSize must be", exportSpec, fields{"protocol.transferSize": "4095"}, fields{"protocol.transferSize": "4Ki"}},
		"OddTransfer":   {"protocol.transferSize must be", exportSpec, fields{"protocol.transferSize": "5000"}, fields{"protocol.transferSize": "5Ki"}},
		"LargeTransfer": {"protocol.transferSize must be", exportSpec, fields{"protocol.transferSize": "1025Ki"}, fields{"protocol.transferSize": "1Mi"}},
		"ShortTimeout": {
			"run.timeoutSeconds is shorter", exportSpec,
			fields{"run": map[string]any{"timeoutSeconds": int64(79)}},
			fields{"run": map[string]any{"timeoutSeconds": int64(80)}},
		},
		"FileBelowBlock": {"workload.raw.fileSize is smaller than blockSize", exportSpec, fields{"workload.raw.fileSize": "512Ki"}, fields{"workload.raw.fileSize": "1Mi"}},
		"RandomBlock":    {"workload.raw.fileSize is smaller than blockSize", exportSpec, fields{"workload.raw.pattern": "RandomRead", "workload.raw.fileSize": "4Ki"}, fields{"workload.raw.pattern": "RandomRead", "workload.raw.fileSize": "8Ki"}},
		"FileNoMultiple": {"workload.raw.fileSize must be a multiple", exportSpec, fields{"workload.raw.fileSize": "1537Ki"}, fields{"workload.raw.fileSize": "2Mi"}},
		"Buffers": {
			"workload.raw.jobs x depth x blockSize", exportSpec,
			fields{"workload.raw.blockSize": "16Mi", "workload.raw.jobs": int64(33), "workload.raw.depth": int64(32)},
			fields{"workload.raw.blockSize": "16Mi", "workload.raw.jobs": int64(32), "workload.raw.depth": int64(32)},
		},
		"OddBlock":  {"workload.raw.blockSize must be a power of two", exportSpec, fields{"workload.raw.blockSize": "1536"}, fields{"workload.raw.blockSize": "512"}},
		"HugeBlock": {"workload.raw.blockSize must be a power of two", exportSpec, fields{"workload.raw.blockSize": "32Mi"}, fields{"workload.raw.blockSize": "16Mi"}},
		"ZeroFile": {
			"workload.raw.fileSize must be greater than zero", exportSpec,
			fields{"workload.raw.fileSize": "0"},
			fields{"workload.raw.fileSize": "1Gi"},
		},
	})
	return out
}

func benchmarkOf(t *testing.T, base string, change fields) *unstructured.Unstructured {
	t.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(base), &spec); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NFSBenchmark"))
	u.SetName("x")
	for path, v := range change {
		where := append([]string{"spec"}, strings.Split(path, ".")...)
		if v == nil {
			unstructured.RemoveNestedField(u.Object, where...)
			continue
		}
		if err := unstructured.SetNestedField(u.Object, v, where...); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func TestTheCRDRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	try := func(t *testing.T, base string, change fields) error {
		t.Helper()
		u := benchmarkOf(t, base, change)
		u.SetNamespace(ns)
		return c.Create(t.Context(), u, client.DryRunAll)
	}
	for name, tc := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := try(t, tc.base, tc.bad)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("bad spec: got %v, want the sentence %q", err, tc.says)
			}
			if err := try(t, tc.base, tc.good); err != nil {
				t.Errorf("the nearest good spec is refused: %v", err)
			}
		})
	}
}

// TestNumbersHaveBounds: what would wrap around or overflow is not accepted.
func TestNumbersHaveBounds(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	bad := fields{
		"protocol.userID": int64(1 << 32), "protocol.groupID": int64(1 << 32), "clients": int64(65),
		"workload.raw.jobs": int64(257), "workload.raw.depth": int64(1025), "run.durationSeconds": int64(86401),
		"workload.raw.readPercent": int64(100), "workload.raw.capacity.milliseconds": int64(10001),
		"storage.export.path": "/a b", "workload.raw.directory": "../x",
	}
	for path, v := range bad {
		u := benchmarkOf(t, exportSpec, fields{path: v})
		u.SetNamespace(ns)
		err := c.Create(t.Context(), u, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "spec."+path) {
			t.Errorf("spec.%s = %v: got %v", path, v, err)
		}
	}
}

// immutable is said by the rule that the transition test covers.
const immutable = "a benchmark cannot be changed once it exists"

func TestEveryRuleOfTheCRDHasACase(t *testing.T) {
	t.Parallel()
	says := []string{immutable, suiteSettled, suiteSchedule, suiteName}
	for _, cases := range []map[string]refusal{refusals(), suiteRefusals()} {
		for _, tc := range cases {
			says = append(says, tc.says)
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

func TestASpecIsSettledOnceItExists(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	ns := newNamespace(t, c)
	full := benchmarkOf(t, exportSpec, fields{"expect.minWirePercent": int64(80), "pods.image": "x"})
	full.SetNamespace(ns)
	bare := benchmarkOf(t, exportSpec, nil)
	bare.SetNamespace(ns)
	bare.SetName("bare")
	for _, u := range []*unstructured.Unstructured{full, bare} {
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		of     *unstructured.Unstructured
		change fields
		ok     bool
	}{
		"Storage":       {full, fields{"storage.export.path": "/other"}, false},
		"Protocol":      {full, fields{"protocol.mountTimeoutSeconds": int64(5)}, false},
		"Workload":      {full, fields{"workload.raw.jobs": int64(9)}, false},
		"Clients":       {full, fields{"clients": int64(2)}, false},
		"Run":           {full, fields{"run.durationSeconds": int64(5)}, false},
		"Expect":        {full, fields{"expect.minWirePercent": int64(70)}, false},
		"ExpectRemoved": {full, fields{"expect": nil}, false},
		"ExpectAdded":   {bare, fields{"expect.minWirePercent": int64(70)}, false},
		"DatabaseAdded": {bare, fields{"database": aDatabase(), "workload": map[string]any{"calibrate": map[string]any{}}}, false},
		"Pods":          {full, fields{"pods.image": "y"}, false},
		"PodsRemoved":   {full, fields{"pods": nil}, false},
		"PodsAdded":     {bare, fields{"pods.image": "y"}, false},
		"Suspend":       {full, fields{"suspend": true}, true},
		"Cleanup":       {full, fields{"cleanup.onSuccess": "Retain"}, true},
		"Leftovers":     {full, fields{"cleanup.leftovers": "Abandon"}, true},
		"TTL":           {full, fields{"ttlSecondsAfterFinished": int64(60)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := tc.of.DeepCopy()
			for path, v := range tc.change {
				where := append([]string{"spec"}, strings.Split(path, ".")...)
				if v == nil {
					unstructured.RemoveNestedField(u.Object, where...)
				} else if err := unstructured.SetNestedField(u.Object, v, where...); err != nil {
					t.Fatal(err)
				}
			}
			err := c.Update(t.Context(), u, client.DryRunAll)
			if tc.ok && err != nil {
				t.Errorf("refused: %v", err)
			}
			if !tc.ok && (err == nil || !strings.Contains(err.Error(), immutable)) {
				t.Errorf("got %v, want the sentence %q", err, immutable)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := apiClient(t)
	u := benchmarkOf(t, exportSpec, nil)
	u.SetNamespace(newNamespace(t, c))
	if err := c.Create(t.Context(), u, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	want := fields{
		"protocol.version": "NFSv3", "protocol.client": "DirectNFS", "protocol.security": "sys", "protocol.mountTimeoutSeconds": int64(30),
		"protocol.userID": int64(54321), "protocol.groupID": int64(54321),
		"workload.raw.fileSize": "1Gi", "workload.raw.jobs": int64(4), "workload.raw.depth": int64(8),
		"workload.raw.directory": "nfsbench", "workload.raw.foreignFiles": "Refuse", "workload.raw.verify": "Written", "clients": int64(1),
		"run.durationSeconds": int64(60), "run.warmupSeconds": int64(10), "run.baselineSeconds": int64(5), "run.repetitions": int64(1), "run.cooldownSeconds": int64(5),
		"cleanup.onSuccess": "Delete", "cleanup.onFailure": "Delete", "cleanup.leftovers": "Wait",
	}
	for path, v := range want {
		got, _, _ := unstructured.NestedFieldNoCopy(u.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
		if got != v {
			t.Errorf("default of spec.%s is %v, want %v", path, got, v)
		}
	}
}
