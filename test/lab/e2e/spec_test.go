package e2e

import "testing"

// TestBadSpecIsRefusedWithWhatToChange shows kubectl's own words, which only users see
// who apply a file: of a rule and of a pattern of the CRD. test/integration has all
// rules.
func TestBadSpecIsRefusedWithWhatToChange(t *testing.T) {
	c := newCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	cases := map[string]struct {
		spec string
		want []string
	}{
		"two storages": {
			`{storage: {embedded: {size: 1Gi}, export: {servers: [192.0.2.1], path: /vol/ora}}, protocol: {}, workload: {raw: {pattern: Read}}}`,
			[]string{"give exactly one of storage.storageClass, storage.trident, storage.claim, storage.export and storage.embedded"},
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
	t.Run("a change of what exists", func(t *testing.T) {
		doc := document("fixed", `{suspend: true, storage: {embedded: {size: 1Gi}}, protocol: {}, workload: {raw: {pattern: Read, fileSize: 64Mi}}}`)
		if out, err := kubectl(t, doc, "-n", ns, "apply", "-f", "-"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := kubectl(t, "", "-n", ns, "patch", "nfsb", "fixed", "--type=merge", "-p", `{"spec":{"workload":{"raw":{"pattern":"Overwrite"}}}}`)
		if err == nil {
			t.Fatalf("taken: %s", out)
		}
		mustSay(t, out, "create a new NFSBenchmark with another name")
	})
}

// document is a file as users write it.
func document(name, spec string) string {
	return "apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata:\n  name: " + name + "\nspec: " + spec + "\n"
}
