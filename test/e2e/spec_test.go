package e2e

import "testing"

// TestABadSpecIsRefusedWithWhatToChange shows kubectl's own words: what only
// users see who apply a file.
func TestABadSpecIsRefusedWithWhatToChange(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace(t)
	cases := map[string]struct {
		spec string
		want []string
	}{
		"two storages": {
			`{storage: {embedded: {size: 1Gi}, export: {servers: [192.0.2.1], path: /vol/ora}}, protocol: {}, workload: {raw: {pattern: Read}}}`,
			[]string{"give exactly one of storage.trident, storage.claim, storage.export and storage.embedded"},
		},
		"five paths": {
			`{storage: {export: {servers: [192.0.2.1, 198.51.100.1, 203.0.113.1, 10.0.1.1, 10.0.2.1], path: /vol/ora}}, protocol: {}, workload: {raw: {pattern: Read}}}`,
			[]string{"at most four paths per server"},
		},
		"two paths in one subnet": {
			`{storage: {export: {servers: [192.0.2.1, 192.0.2.2], path: /vol/ora}}, protocol: {}, workload: {raw: {pattern: Read}}}`,
			[]string{"in one /24 subnet", "a subnet of its own"},
		},
		"pNFS with Kerberos": {
			`{storage: {claim: {name: ora}}, protocol: {client: Kernel, version: pNFS, security: krb5}, workload: {raw: {pattern: Read}}}`,
			[]string{"pNFS works with security sys only"},
		},
		"a file smaller than its block": {
			`{storage: {embedded: {size: 1Gi}}, protocol: {}, workload: {raw: {pattern: Read, blockSize: 1Mi, fileSize: 8Ki}}}`,
			[]string{"make the file at least one block"},
		},
		"no load": {
			`{storage: {embedded: {size: 1Gi}}, protocol: {}, workload: {}}`,
			[]string{"workload.raw"},
		},
		"a version that the engine does not speak": {
			`{storage: {claim: {name: ora}}, protocol: {version: NFSv4.1}, workload: {raw: {pattern: Read}}}`,
			[]string{"speaks NFSv3 only", "protocol.client to Kernel"},
		},
		"an injected line of an oranfstab": {
			`{storage: {export: {servers: ["192.0.2.1\npath: 192.0.2.9"], path: /vol/ora}}, protocol: {}, workload: {raw: {pattern: Read}}}`,
			[]string{"spec.storage.export.servers"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := kubectl(t, document("bad", tc.spec), "-n", ns, "apply", "-f", "-")
			if err == nil {
				t.Fatalf("taken: %s", out)
			}
			mustSay(t, out, append([]string{"is invalid"}, tc.want...)...)
		})
	}
}

// document is a file as users write it.
func document(name, spec string) string {
	return "apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata:\n  name: " + name + "\nspec: " + spec + "\n"
}

// TestABenchmarkCannotBeChangedOnceItExists: a result must belong to its spec.
func TestABenchmarkCannotBeChangedOnceItExists(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace(t)
	doc := document("fixed", `{suspend: true, storage: {embedded: {size: 1Gi}}, protocol: {}, workload: {raw: {pattern: Read, fileSize: 64Mi}}}`)
	if out, err := kubectl(t, doc, "-n", ns, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := kubectl(t, "", "-n", ns, "patch", "nfsb", "fixed", "--type=merge", "-p", `{"spec":{"workload":{"raw":{"pattern":"Overwrite"}}}}`)
	if err == nil {
		t.Fatalf("taken: %s", out)
	}
	mustSay(t, out, "create a new NFSBenchmark with another name")
}
