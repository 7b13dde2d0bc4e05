package policy_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

const example = `
exports:
- {server: 192.0.2.0/24, path: /vol/bench, namespaces: [team-a]}
- {server: nas1.example, path: /, namespaces: ["*"]}
embedded: {maxSize: 20Gi}
limits: {clients: 4}
`

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

func client(c v1alpha1.NFSClient) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Client = c }
}

func TestABenchmarkMayUseWhatThePolicyListsAndNoMore(t *testing.T) {
	t.Parallel()
	checker, err := policy.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	kernel, direct := client(v1alpha1.ClientKernel), client(v1alpha1.ClientDirectNFS)
	embedded := func(size string) gen.Mod {
		return func(b *v1alpha1.NFSBenchmark) {
			b.Spec.Storage = v1alpha1.Storage{Embedded: &v1alpha1.EmbeddedStorage{Size: resource.MustParse(size)}}
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
		"every namespace and path":         {"team-b", []gen.Mod{kernel, export("/any", "nas1.example")}, ""},
		"Direct NFS needs no entry":        {"team-b", []gen.Mod{direct, export("/vol/hr", "198.51.100.1")}, ""},
		"a database mounts it":             {"team-b", []gen.Mod{direct, export("/vol/hr", "198.51.100.1"), database}, "exports"},
		"a small embedded server":          {"team-b", []gen.Mod{direct, embedded("20Gi")}, ""},
		"a large embedded server":          {"team-b", []gen.Mod{direct, embedded("21Gi")}, "embeddedSize"},
		"as many clients as allowed":       {"team-a", []gen.Mod{direct, clients(4)}, ""},
		"more clients":                     {"team-a", []gen.Mod{direct, clients(5)}, "clients"},
	} {
		b := gen.Benchmark("b", tc.mods...)
		b.Namespace = tc.namespace
		if b.Spec.Clients == 0 {
			b.Spec.Clients = 1 // the default of the CRD
		}
		err := checker.Check(read(t, example), b)
		denied := (*policy.Denied)(nil)
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
	checker, err := policy.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	b := gen.Benchmark("b", client(v1alpha1.ClientKernel), export("/vol/bench", "192.0.2.11"))
	b.Spec.Clients = 1
	err = checker.Check(read(t, ""), b)
	if err == nil || !strings.Contains(err.Error(), "namespace "+b.Namespace+" mount") || !strings.Contains(err.Error(), "policy.exports") {
		t.Errorf("%v names neither the namespace nor what to ask for", err)
	}
}

func TestAPolicyWithAMistakeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"export: []": "unknown field",
		"exports: [{server: 192.0.2.0/99, path: /a, namespaces: [b]}]":  "exports[0].server",
		"exports: [{path: /a, namespaces: [b]}]":                        "exports[0].server is empty",
		"exports: [{server: a, path: a, namespaces: [b]}]":              "exports[0].path",
		"exports: [{server: a, path: /a/../b, namespaces: [b]}]":        "exports[0].path",
		"exports: [{server: a, path: /a/, namespaces: [b]}]":            "exports[0].path",
		"exports: [{server: a, path: /a}]":                              "exports[0].namespaces is empty",
		"embedded: {maxSize: large}":                                    "embedded.maxSize",
		"limits: {clients: 0}":                                          "limits.clients",
		"limits: {clients: 1}\n" + strings.Repeat("#", policy.MaxBytes): "more than",
	} {
		if _, err := policy.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"exports":[{"server":"::/0","path":"/","namespaces":["*"]}],"limits":{"clients":-1}}`))
	f.Add([]byte("embedded: {maxSize: 9e999Ei}\n"))
	f.Add([]byte("exports: [&a {server: a, path: /a, namespaces: &n [x]}, *a, {<<: *a, namespaces: *n}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		memory.Bound(t, 256<<10+2048*len(text), func() {
			p, err := policy.Read(bytes.NewReader(text))
			if err == nil && (p.Limits.Clients < 1 || p.Embedded.MaxSize == "") {
				t.Errorf("%+v", p)
			}
		})
	})
}
