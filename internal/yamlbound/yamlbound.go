// Package yamlbound reads YAML from untrusted sources. In YAML an alias of a few bytes, *a, can stand for a long text
// elsewhere in the file, and the conversion to JSON writes out the text each time: 41 KB of YAML made 140 MB of JSON,
// for which the program allocated 1.2 GB.
package yamlbound

import (
	"fmt"

	goyaml "go.yaml.in/yaml/v2" // the parser of package yaml
	"sigs.k8s.io/yaml"
)

// UnmarshalStrict decodes as yaml.UnmarshalStrict does. It rejects a text that has more than limit bytes, as it is or
// with its aliases written out.
func UnmarshalStrict(data []byte, limit int, into any) error {
	if len(data) > limit {
		return fmt.Errorf("it has more than %d bytes", limit)
	}
	var tree any
	if err := goyaml.Unmarshal(data, &tree); err != nil {
		return err
	}
	if left := without(limit+1, tree); left < 0 {
		return fmt.Errorf("it has more than %d bytes with its aliases written out: write it without aliases, or with fewer",
			limit)
	}
	return yaml.UnmarshalStrict(data, into)
}

// without subtracts the length of the shortest text of a value from left. It stops below zero.
func without(left int, v any) int {
	left--
	switch v := v.(type) {
	case string:
		left -= len(v)
	case []any:
		for i := 0; i < len(v) && left >= 0; i++ {
			left = without(left, v[i])
		}
	case map[any]any:
		for k, x := range v {
			if left = without(without(left, k), x); left < 0 {
				break
			}
		}
	}
	return left
}
