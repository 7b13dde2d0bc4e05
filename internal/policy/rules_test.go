package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
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
- {name: filer1, managementLIF: 192.0.2.5, svm: svm1, credentialsSecretName: svm, insecureSkipVerify: true, namespaces: [team-a], maxSize: 200Gi}
storageClasses:
- {name: gold, namespaces: [team-a], maxSize: 10Gi}
- {name: small, namespaces: [team-a], maxSize: 9Gi}
- {name: "*", namespaces: [lab]}
hostNetwork: [team-a]
pods: {labels: [team], annotations: [k8s.v1.cni.cncf.io/networks], tolerations: [bench], nodeSelector: [pool], crossNamespaceAffinity: [lab], priorityClasses: [batch], runtimeClasses: ["*"]}
embedded: {maxSize: 20Gi, nodeMounts: [team-a]}
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
	checker, err := policy.NewChecker()
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
		"a backend of another":             {"team-b", []gen.Mod{direct, gen.TridentBackend("filer1")}, "claims"},
		"a backend that is not listed":     {"team-a", []gen.Mod{direct, gen.TridentBackend("filer")}, "claims"},
		"a large volume of a backend":      {"team-a", []gen.Mod{direct, gen.TridentBackend("filer1"), size("201Gi")}, "claims"},
		"a class of Trident":               {"team-a", []gen.Mod{direct, gen.TridentClass("gold"), size("10Gi")}, ""},
		"one of another namespace":         {"team-b", []gen.Mod{direct, gen.TridentClass("gold"), size("10Gi")}, "claims"},
		"a large volume of it":             {"team-a", []gen.Mod{direct, gen.TridentClass("gold"), size("10.1Gi")}, "claims"},
		"a class named like a backend":     {"team-a", []gen.Mod{direct, gen.TridentClass("filer1"), size("10Gi")}, "claims"},
		"a backend named like a class":     {"team-a", []gen.Mod{direct, gen.TridentBackend("gold"), size("10Gi")}, "claims"},
		"a volume of a class":              {"team-a", []gen.Mod{direct, gen.StorageClass("gold")}, ""},
		"of a class elsewhere":             {"team-b", []gen.Mod{direct, gen.StorageClass("gold")}, "claims"},
		"of a class that is not listed":    {"team-a", []gen.Mod{direct, gen.StorageClass("silver")}, "claims"},
		"a volume that is too large":       {"team-a", []gen.Mod{direct, gen.StorageClass("small")}, "claims"},
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
		"an allowed annotation":            {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "x"}})}, ""},
		"the role of a cloud":              {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{Annotations: map[string]string{"iam.amazonaws.com/role": "x"}})}, "podAnnotations"},
		"an allowed taint":                 {"team-b", []gen.Mod{direct, tolerates("bench")}, ""},
		"another taint":                    {"team-b", []gen.Mod{direct, tolerates("bench", "node-role.kubernetes.io/control-plane")}, "tolerations"},
		"every taint":                      {"team-b", []gen.Mod{direct, tolerates("")}, "tolerations"},
		"nodes by an allowed key":          {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{NodeSelector: map[string]string{"pool": "x"}})}, ""},
		"nodes by another key":             {"team-b", []gen.Mod{direct, pods(v1alpha1.Pods{NodeSelector: map[string]string{"pool": "x", "zone": "x"}})}, "nodeSelector"},
		"an affinity by an allowed key":    {"team-b", []gen.Mod{direct, nodes("pool", "pool", "pool")}, ""},
		"one by another required key":      {"team-b", []gen.Mod{direct, nodes("zone", "pool", "pool")}, "nodeSelector"},
		"one by another field":             {"team-b", []gen.Mod{direct, nodes("pool", "metadata.name", "pool")}, "nodeSelector"},
		"one by another preferred key":     {"team-b", []gen.Mod{direct, nodes("pool", "pool", "zone")}, "nodeSelector"},
		"pods of the own namespace":        {"team-b", []gen.Mod{direct, avoids(corev1.PodAffinityTerm{Namespaces: []string{"team-b"}})}, ""},
		"pods of another namespace":        {"team-b", []gen.Mod{direct, avoids(corev1.PodAffinityTerm{Namespaces: []string{"team-b", "team-a"}})}, "crossNamespaceAffinity"},
		"pods of all namespaces":           {"team-b", []gen.Mod{direct, avoids(corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}})}, "crossNamespaceAffinity"},
		"pods of all, as allowed":          {"lab", []gen.Mod{direct, avoids(corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}})}, ""},
		"a node mounts an own server":      {"team-a", []gen.Mod{kernel, embedded("1Gi")}, ""},
		"a node mounts one elsewhere":      {"team-b", []gen.Mod{kernel, embedded("1Gi")}, "embeddedMount"},
		"a database mounts one":            {"team-b", []gen.Mod{direct, embedded("1Gi"), database}, "embeddedMount"},
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

// size is that of the volume that Trident makes.
func size(q string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Trident.Size = resource.MustParse(q) }
}

func tolerates(keys ...string) gen.Mod {
	p := v1alpha1.Pods{}
	for _, k := range keys {
		p.Tolerations = append(p.Tolerations, corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists})
	}
	return pods(p)
}

// nodes chooses nodes by a key and a field that are required, and by a key that is preferred.
func nodes(required, field, preferred string) gen.Mod {
	by := func(key string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpExists}}
	}
	return pods(v1alpha1.Pods{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: by(required)}, {MatchFields: by(field)},
		}},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: by(preferred)}},
		},
	}}})
}

// avoids keeps away from pods, and prefers to be near the same.
func avoids(term corev1.PodAffinityTerm) gen.Mod {
	term.TopologyKey = "kubernetes.io/os"
	return pods(v1alpha1.Pods{Affinity: &corev1.Affinity{
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}},
		PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
		},
	}})
}

// TestEachFieldOfPodsIsInARuleOrHarmless: whoever may create benchmarks only gets the rest from the operator.
func TestEachFieldOfPodsIsInARuleOrHarmless(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	harmless := map[string]string{
		"topologySpreadConstraints": "they count pods of the own namespace only",
		"securityContext":           "the API takes what the baseline standard allows",
		"resources":                 "the quotas of the namespace bound them",
		"imagePullSecrets":          "each Secret needs a label",
		"image":                     "its container has no token and no credentials",
	}
	for f := range reflect.TypeFor[v1alpha1.Pods]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		_, known := harmless[name]
		if ruled := strings.Contains(string(text), "object.spec.pods."+name); ruled == known {
			t.Errorf("spec.pods.%s: in a rule %v, listed as harmless %v: it needs one of both", name, ruled, known)
		}
	}
}

// TestWhatIsMadeIsHeldAgainstThePolicy, not what the spec says: an address may come from an array, and the
// claim from any way to one.
func TestWhatIsMadeIsHeldAgainstThePolicy(t *testing.T) {
	t.Parallel()
	checker, p := policy.MustChecker(), read(t, example)
	b := gen.Benchmark("b", gen.In("team-a"), export("/vol/bench", "192.0.2.11"), client(bench.ClientDirectNFS))
	for address, allowed := range map[string]bool{
		"192.0.2.11": true, "192.0.2.12": true, "203.0.113.66": false, "": false, "::ffff:192.0.2.11": false, "nas1.example.": false,
	} {
		if err := checker.CheckVolume(p, b, manifest.Volume(b, address, "/vol/bench")); (err == nil) != allowed {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := checker.CheckVolume(p, b, manifest.Volume(b, "192.0.2.11", "/vol/other")); err == nil {
		t.Error("another path is allowed")
	}
	for way, tc := range map[string]struct {
		mod     gen.Mod
		claim   func(*v1alpha1.NFSBenchmark) *corev1.PersistentVolumeClaim
		allowed string
	}{
		"class":   {gen.StorageClass("gold"), manifest.ClassClaim, "10Gi"},
		"Trident": {gen.TridentClass("gold"), manifest.TridentClaim, "10Gi"},
		"backend": {gen.TridentBackend("filer1"), manifest.TridentClaim, "200Gi"},
	} {
		b := gen.Benchmark("b", gen.In("team-a"), tc.mod)
		pvc := tc.claim(b)
		for size, allowed := range map[string]bool{tc.allowed: true, "201Gi": false} {
			pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
			if err := checker.CheckClaim(p, b, pvc); (err == nil) != allowed {
				t.Errorf("%s of %s: %v", way, size, err)
			}
		}
		pvc.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
		other := b.DeepCopy()
		other.Namespace = "team-b"
		if err := checker.CheckClaim(p, other, pvc); err == nil {
			t.Errorf("%s: another namespace is allowed", way)
		}
		if pvc.Spec.StorageClassName = new("silver"); way != "backend" && checker.CheckClaim(p, b, pvc) == nil {
			t.Errorf("%s: a claim of another class is allowed", way)
		}
	}
}

func TestTheDefaultAllowsNoNodeToMountAnything(t *testing.T) {
	t.Parallel()
	checker, err := policy.NewChecker()
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

// TestARefusalHasTheCommandThatAllowsIt, as the chart knows the release. It contains nothing that a shell runs.
func TestARefusalHasTheCommandThatAllowsIt(t *testing.T) {
	t.Parallel()
	// as long as names may be
	release, namespace := strings.Repeat("r", 53), strings.Repeat("n", 63)
	upgrade := "helm upgrade " + release + " CHART --version 0.1.0 -n " + namespace + " --reuse-values"
	values := "helm get values " + release + " -n " + namespace + " -o json"
	checker := policy.MustChecker()
	mount := func(path string, servers ...string) gen.Mod {
		return func(b *v1alpha1.NFSBenchmark) {
			export(path, servers...)(b)
			client(bench.ClientKernel)(b)
		}
	}
	class := func(name string) gen.Mod {
		return func(b *v1alpha1.NFSBenchmark) { b.Spec.Pods = &v1alpha1.Pods{PriorityClassName: name} }
	}
	for name, tc := range map[string]struct {
		policy string
		mod    gen.Mod
		want   string
	}{
		"export":       {"", mount("/vol/bench", "192.0.2.11"), `jq '.policy.exports += [{"server":"192.0.2.11","path":"/vol/bench","namespaces":["team-b"]}]'`},
		"two servers":  {"", mount("/a", "10.0.0.1", "2001:db8::1"), `[{"server":"10.0.0.1","path":"/a","namespaces":["team-b"]},{"server":"2001:db8::1","path":"/a","namespaces":["team-b"]}]'`},
		"many servers": {"", mount("/a", strings.Split(strings.Repeat("10.0.0.1,", 15)+"10.0.0.1", ",")...), `jq '.policy.exports += [{"server":"SERVER","path":"/a",`},
		"four LIFs":    {"", mount("/vol/oradata", "192.0.2.11", "192.0.2.12", "192.0.2.13", "192.0.2.14"), `{"server":"192.0.2.14","path":"/vol/oradata","namespaces":["team-b"]}]'`},
		"all long": {example, func(b *v1alpha1.NFSBenchmark) {
			mount("/"+strings.Repeat("p", 127), strings.Repeat("s", 253))(b)
			b.Spec.Storage.Export.RedoPath = "/" + strings.Repeat("r", 1000)
		}, `{"server":"SERVER","path":"/PATH","namespaces":["team-b"]}]'`},
		"others":      {example, mount("/vol/bench", "192.0.2.11"), `jq '.policy.exports += [{"server":"192.0.2.11",`},
		"a shell":     {"", mount("/vol'$(reboot)", "192.0.2.11"), `"path":"/PATH"`},
		"a way out":   {"", mount("/vol/../hr", "192.0.2.11"), `"path":"/PATH"`},
		"class":       {"", gen.StorageClass("gold"), `jq '.policy.storageClasses += [{"name":"gold","namespaces":["team-b"],"maxSize":"10Gi"}]'`},
		"Trident":     {example, gen.TridentClass("gold"), `jq '.policy.storageClasses += [{"name":"gold","namespaces":["team-b"],"maxSize":"10Gi"}]'`},
		"quote":       {"", gen.StorageClass("g'; reboot"), `{"name":"CLASS"`},
		"backend":     {"", gen.TridentBackend("filer1"), `change this backend in policy.backends of a file VALUES and run: ` + upgrade + " -f VALUES"},
		"hostNetwork": {example, gen.HostNetwork, `jq '.policy.hostNetwork += ["team-b"]'`},
		"priority":    {"", class("high"), `jq '.policy.pods.priorityClasses += ["high"]'`},
		"no priority": {"", class("x'y"), `jq '.policy.pods.priorityClasses += ["CLASS"]'`},
		"a sentence":  {"", class("x. Run: reboot"), `use priority class CLASS. Leave it out`},
		"clients":     {"", func(b *v1alpha1.NFSBenchmark) { b.Spec.Clients = 65 }, "--set policy.limits.clients=65"},
		"time":        {"", func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.TimeoutSeconds = new(int32(90_000)) }, "--set policy.limits.maxHold=27h"},
		"label":       {"", pods(v1alpha1.Pods{Labels: map[string]string{"a": "b"}}), `jq '.policy.pods.labels += ["KEY"]'`},
		"taint":       {example, tolerates("x"), `jq '.policy.pods.tolerations += ["KEY"]'`},
	} {
		p, err := policy.Of(map[string]string{policy.Key: tc.policy, policy.UpgradeKey: upgrade, policy.ValuesKey: values})
		if err != nil {
			t.Fatal(err)
		}
		b := gen.Benchmark("b", gen.In("team-b"), client(bench.ClientDirectNFS), tc.mod)
		b.Spec.Clients = max(b.Spec.Clients, 1)
		said := fmt.Sprint(checker.Check(p, b))
		if !strings.Contains(said, upgrade+" ") || !strings.Contains(said, tc.want) {
			t.Errorf("%s: %s, want %s", name, said, tc.want)
		}
		if len(said) > 1000 { // as of a status
			t.Errorf("%s: %d bytes: %s", name, len(said), said)
		}
		if _, command, adds := strings.Cut(said, values+" | jq '"); adds {
			program, rest, _ := strings.Cut(command, "'")
			_, added, _ := strings.Cut(program, " += ")
			if !json.Valid([]byte(added)) || rest != " | "+upgrade+" -f -" {
				t.Errorf("%s: jq and helm do not take %s", name, command)
			}
		}
		_, command, _ := strings.Cut(said, "helm ")
		if strings.ContainsAny(command, "$;`") || strings.Count(command, "'") > 2 || strings.Count(command, "|") > 2 {
			t.Errorf("%s: a shell runs more than jq and helm: %s", name, command)
		}
	}
	p, err := policy.Of(map[string]string{policy.UpgradeKey: strings.Repeat("x", 1000)})
	if err != nil || p.Upgrade != policy.Default().Upgrade {
		t.Errorf("a command that is too long: %.20s, %v", p.Upgrade, err)
	}
}
