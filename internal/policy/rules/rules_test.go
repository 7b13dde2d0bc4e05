package rules_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/policy/rules"
	"github.com/nfsbench/nfsbench/test/gen"
)

const example = `
exports:
- {server: 192.0.2.0/24, path: /vol/bench, namespaces: [team-a]}
- {server: "2001:db8:1::/64", path: /vol/bench, namespaces: [team-a]}
- {server: "2001:db8:2::b", path: /vol/bench, namespaces: [team-a]}
- {server: nas1.example, path: /, namespaces: ["*"]}
- {server: "*", path: /any, namespaces: [lab]}
backends:
- {name: filer1, managementLIF: 192.0.2.5, svm: svm1, credentialsSecretName: svm, insecureSkipVerify: true, namespaces: [team-a]}
storageClasses:
- {name: gold, namespaces: [team-a], maxSize: 10Gi}
- {name: small, namespaces: [team-a], maxSize: 9Gi}
- {name: "*", namespaces: [lab]}
hostNetwork: [team-a]
pods: {labels: [team], priorityClasses: [batch], runtimeClasses: ["*"]}
embedded: {maxSize: 20Gi}
limits: {clients: 4, maxHold: 1h}
`

func pods(p v1alpha1.Pods) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Pods = &p }
}

func read(t *testing.T, text string) policy.Policy {
	t.Helper()
	p, err := policy.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func export(path string, servers ...string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Export: &v1alpha1.ExportStorage{Servers: servers, Path: path}}
	}
}

func client(c bench.NFSClient) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Client = c }
}

func TestABenchmarkMayUseWhatThePolicyListsAndNoMore(t *testing.T) {
	t.Parallel()
	checker, err := rules.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	kernel, direct := client(bench.ClientKernel), client(bench.ClientDirectNFS)
	embedded := func(size string) gen.Mod {
		return func(b *v1alpha1.NFSBenchmark) {
			b.Spec.Storage = v1alpha1.Storage{Embedded: &v1alpha1.EmbeddedStorage{Size: resource.MustParse(size)}}
		}
	}
	lasting := func(repetitions, seconds int32, timeout *int32) gen.Mod {
		return func(b *v1alpha1.NFSBenchmark) {
			b.Spec.Run.Repetitions, b.Spec.Run.DurationSeconds, b.Spec.Run.TimeoutSeconds = repetitions, seconds, timeout
		}
	}
	clients := func(n int32) gen.Mod { return func(b *v1alpha1.NFSBenchmark) { b.Spec.Clients = n } }
	database := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Database = &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{Image: "x"}}
	}
	for name, tc := range map[string]struct {
		namespace string
		mods      []gen.Mod
		rule      string // that refuses it; empty = allowed
	}{
		"an export of the list":            {"team-a", []gen.Mod{kernel, export("/vol/bench", "192.0.2.11")}, ""},
		"below it":                         {"team-a", []gen.Mod{kernel, export("/vol/bench/one", "192.0.2.11")}, ""},
		"another namespace":                {"team-b", []gen.Mod{kernel, export("/vol/bench", "192.0.2.11")}, "exports"},
		"another server":                   {"team-a", []gen.Mod{kernel, export("/vol/bench", "198.51.100.1")}, "exports"},
		"one server of two":                {"team-a", []gen.Mod{kernel, export("/vol/bench", "192.0.2.11", "198.51.100.1")}, "exports"},
		"another path":                     {"team-a", []gen.Mod{kernel, export("/vol/other", "192.0.2.11")}, "exports"},
		"a name that begins like the path": {"team-a", []gen.Mod{kernel, export("/vol/benchmarks", "192.0.2.11")}, "exports"},
		"out of the path again":            {"team-a", []gen.Mod{kernel, export("/vol/bench/../hr", "192.0.2.11")}, "exports"},
		"two slashes":                      {"team-a", []gen.Mod{kernel, export("/vol/bench//x", "192.0.2.11")}, "exports"},
		"a network of IPv6":                {"team-a", []gen.Mod{kernel, export("/vol/bench", "2001:DB8:1::11")}, ""},
		"another network of IPv6":          {"team-a", []gen.Mod{kernel, export("/vol/bench", "2001:db8:3::11")}, "exports"},
		"another spelling":                 {"team-a", []gen.Mod{kernel, export("/vol/bench", "2001:DB8:2:0::B")}, ""},
		"another address of IPv6":          {"team-a", []gen.Mod{kernel, export("/vol/bench", "2001:db8:2::c")}, "exports"},
		"IPv4 written as IPv6":             {"team-a", []gen.Mod{kernel, export("/vol/bench", "::ffff:192.0.2.11")}, "exports"},
		"every namespace and path":         {"team-b", []gen.Mod{kernel, export("/any", "nas1.example")}, ""},
		"every server":                     {"lab", []gen.Mod{kernel, export("/any/x", "nas2.example")}, ""},
		"a backend of the namespace":       {"team-a", []gen.Mod{direct, gen.TridentBackend("filer1")}, ""},
		"a backend of another":             {"team-b", []gen.Mod{direct, gen.TridentBackend("filer1")}, "backends"},
		"a backend that is not listed":     {"team-a", []gen.Mod{direct, gen.TridentBackend("filer")}, "backends"},
		"a class":                          {"team-b", []gen.Mod{direct, gen.TridentClass("gold")}, ""},
		"a volume of a class":              {"team-a", []gen.Mod{direct, gen.StorageClass("gold")}, ""},
		"of a class elsewhere":             {"team-b", []gen.Mod{direct, gen.StorageClass("gold")}, "storageClasses"},
		"of a class that is not listed":    {"team-a", []gen.Mod{direct, gen.StorageClass("silver")}, "storageClasses"},
		"a volume that is too large":       {"team-a", []gen.Mod{direct, gen.StorageClass("small")}, "storageClasses"},
		"of any class":                     {"lab", []gen.Mod{direct, gen.StorageClass("silver")}, ""},
		"Direct NFS needs no entry":        {"team-b", []gen.Mod{direct, export("/vol/hr", "198.51.100.1")}, ""},
		"a database mounts it":             {"team-b", []gen.Mod{direct, export("/vol/hr", "198.51.100.1"), database}, "exports"},
		"its redo logs too":                {"team-a", []gen.Mod{direct, export("/vol/bench/a", "192.0.2.11"), gen.RedoPath("/vol/bench/b"), database}, ""},
		"redo logs on another export":      {"team-a", []gen.Mod{direct, export("/vol/bench", "192.0.2.11"), gen.RedoPath("/vol/hr"), database}, "exports"},
		"redo logs out of the path again":  {"team-a", []gen.Mod{direct, export("/vol/bench", "192.0.2.11"), gen.RedoPath("/vol/bench/../hr"), database}, "exports"},
		"the node's network":               {"team-a", []gen.Mod{direct, gen.HostNetwork}, ""},
		"the node's network elsewhere":     {"team-b", []gen.Mod{direct, gen.HostNetwork}, "hostNetwork"},
		"an allowed label":                 {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{Labels: map[string]string{"team": "x"}})}, ""},
		"another label":                    {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{Labels: map[string]string{"team": "x", "app": "x"}})}, "podLabels"},
		"an allowed priority":              {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{PriorityClassName: "batch"})}, ""},
		"another priority":                 {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{PriorityClassName: "system-node-critical"})}, "priorityClass"},
		"any runtime":                      {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{RuntimeClassName: "kata"})}, ""},
		"a small embedded server":          {"team-b", []gen.Mod{direct, embedded("20Gi")}, ""},
		"a large embedded server":          {"team-b", []gen.Mod{direct, embedded("21Gi")}, "embeddedSize"},
		"as many clients as allowed":       {"team-a", []gen.Mod{direct, clients(4)}, ""},
		"more clients":                     {"team-a", []gen.Mod{direct, clients(5)}, "clients"},
		"an hour":                          {"team-a", []gen.Mod{direct, lasting(1, 3580, nil)}, ""},
		"more than an hour":                {"team-a", []gen.Mod{direct, lasting(1, 3600, nil)}, "maxHold"},
		"two of half an hour":              {"team-a", []gen.Mod{direct, lasting(2, 1800, nil)}, "maxHold"},
		"a timeout of an hour":             {"team-a", []gen.Mod{direct, lasting(1, 60, new(int32(3600)))}, ""},
		"a longer timeout":                 {"team-a", []gen.Mod{direct, lasting(1, 60, new(int32(3601)))}, "maxHold"},
	} {
		b := gen.Benchmark("b", tc.mods...)
		b.Namespace = tc.namespace
		if b.Spec.Clients == 0 {
			b.Spec.Clients = 1 // the default of the CRD
		}
		err := checker.Check(read(t, example), b)
		denied := (*rules.Denied)(nil)
		switch {
		case tc.rule == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.rule != "" && (!errors.As(err, &denied) || denied.Rule != tc.rule):
			t.Errorf("%s: %v, want a refusal by %s", name, err, tc.rule)
		case denied != nil && (!strings.HasPrefix(denied.Message, "spec.") || !strings.Contains(denied.Message, "administrator")):
			t.Errorf("%s: the message names no field, or nobody to ask: %s", name, denied.Message)
		}
	}
}

func TestTheDefaultAllowsNoNodeToMountAnything(t *testing.T) {
	t.Parallel()
	checker, err := rules.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	b := gen.Benchmark("b", client(bench.ClientKernel), export("/vol/bench", "192.0.2.11"))
	b.Spec.Clients = 1
	err = checker.Check(read(t, ""), b)
	if err == nil || !strings.Contains(err.Error(), "namespace "+b.Namespace+" mount") || !strings.Contains(err.Error(), "policy.exports") {
		t.Errorf("%v names neither the namespace nor what to ask for", err)
	}
}
