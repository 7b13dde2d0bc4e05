package runfile

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"
)

// boundsText holds the bounds of the fields that a plan takes from a benchmark. They come from the CRD.
//
//go:embed bounds.json
var boundsText []byte

// bound limits a value and holds its default. Min and Max limit a number, or the length of a text or a list.
type bound struct {
	Fields   map[string]*bound `json:"fields,omitempty"`
	Required []string          `json:"required,omitempty"`
	Items    *bound            `json:"items,omitempty"`
	Min      int64             `json:"min"`
	Max      int64             `json:"max"`
	Enum     []string          `json:"enum,omitempty"`
	Pattern  string            `json:"pattern,omitempty"`
	Message  string            `json:"message,omitempty"` // what to write, where the pattern does not match
	Default  any               `json:"default,omitempty"` // a number, a text or an empty object
}

//nolint:gochecknoglobals // a constant in all but name
var bounds = sync.OnceValue(func() (all map[string]*bound) {
	if err := json.Unmarshal(boundsText, &all); err != nil {
		panic(err) // the program itself is wrong
	}
	return all
})

// ofSpec returns the bounds of the workload and the schedule in a spec.
func ofSpec() *bound {
	return &bound{Fields: map[string]*bound{"workload": bounds()["workload"], "run": bounds()["schedule"]}}
}

// SetDefaults sets the absent fields of spec.workload and spec.run to the defaults of the API.
func SetDefaults(spec map[string]any) { ofSpec().fill(spec) }

// Default returns the default of the API for a field of spec.workload or spec.run, a number or a text; nil
// without a default.
func Default(field ...string) any {
	b := ofSpec()
	for _, name := range field {
		if b = b.Fields[name]; b == nil {
			return nil
		}
	}
	return b.Default
}

// within sets the absent fields of a part of a plan to their defaults, and checks all fields against their
// bounds.
func (c *checker) within(part string, to any) {
	var v any
	text, err := json.Marshal(to)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err == nil {
		bounds()[part].fill(v)
		text, err = json.Marshal(v)
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	c.check(err == nil, part, "cannot be read: %v", err)
	c.bound(part, bounds()[part], v)
}

// CheckWorkload checks spec.workload against its bounds before a value of 0 counts as absent. workload was
// decoded from JSON into maps.
func CheckWorkload(workload any) error {
	c := &checker{}
	c.bound("workload", bounds()["workload"], workload)
	return c.err()
}

func (b *bound) fill(v any) {
	fields, _ := v.(map[string]any)
	for name, f := range b.Fields {
		// An absent quantity is 0.
		if fields != nil && f.Default != nil && (fields[name] == nil || fields[name] == "0") {
			fields[name] = f.Default
			if f.Fields != nil { // the fields of an object have their own defaults
				fields[name] = map[string]any{}
			}
		}
		f.fill(fields[name])
	}
	items, _ := v.([]any)
	for _, item := range items {
		b.Items.fill(item)
	}
}

func (c *checker) bound(at string, b *bound, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range b.Required {
			c.check(v[name] != nil, at+"."+name, "is missing; write it")
		}
		for _, name := range slices.Sorted(maps.Keys(b.Fields)) {
			c.bound(at+"."+name, b.Fields[name], v[name])
		}
	case []any:
		c.check(int64(len(v)) >= b.Min && int64(len(v)) <= b.Max, at, "has %d entries; write %d to %d", len(v), b.Min, b.Max)
		for i, item := range v {
			c.bound(fmt.Sprintf("%s[%d]", at, i), b.Items, item)
		}
	case float64:
		c.between(at, int64(v), b.Min, b.Max)
	case string:
		if b.Enum != nil {
			oneOf(c, at, v, b.Enum...)
			return
		}
		n := int64(utf8.RuneCountInString(v))
		c.check(n >= b.Min && n <= b.Max, at, "has %d characters; write %d to %d", n, b.Min, b.Max)
		c.check(regexp.MustCompile(b.Pattern).MatchString(v), at, "is %.100q; %s", v, b.Message)
	}
}
