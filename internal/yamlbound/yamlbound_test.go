package yamlbound

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

const limit = 64 << 10

func TestAliasesDoNotMakeATextLongerThanItsLimit(t *testing.T) {
	long := "a: &a " + strings.Repeat("x", 20_000) + "\n"
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"in a list":      {long + "b: [" + strings.Repeat("*a,", 7000) + "]", false},
		"in objects":     {long + "b: {1: *a, 2: *a, 3: {4: *a, 5: *a}}", false},
		"as keys":        {long + "b: [{*a : 1}, {*a : 1}, {*a : 1}, {*a : 1}]", false},
		"few":            {long + "b: [*a, *a]", true},
		"none":           {strings.Repeat("x", limit), true},
		"a longer text":  {strings.Repeat("x", limit+1), false},
		"many, of much":  {"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]", true},
		"not YAML":       {"[", false},
		"twice the same": {"a: 1\na: 2", false},
	} {
		var v any
		memory.Bound(t, 1024*len(tc.text), func() {
			if err := UnmarshalStrict([]byte(tc.text), limit, &v); (err == nil) != tc.ok {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func FuzzUnmarshalStrict(f *testing.F) {
	f.Add([]byte("a: &a xxxxxxxxxx\nb: [*a,*a,*a]\n"))
	f.Add([]byte("a: &a {b: 1}\nc: {<<: *a, d: !!str 2}\n? [x]\n: - y\n"))
	f.Add([]byte("--- |\n text\n---\n{\"a\": [1.5, null, true, \"\\u00e4\"]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		memory.Bound(t, 256<<10+2048*len(data), func() { _ = UnmarshalStrict(data, 2*len(data), &v) })
	})
}
