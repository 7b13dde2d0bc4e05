package ontap

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// record is one object of ONTAP: values by dotted path.
type record map[string]any

type collection struct {
	path   string   // below /api
	keys   []string // told of each record, whatever was asked for
	fields []string // told when they are asked for
	dear   []string // those of them that are told only when they are named: ONTAP calls them expensive
	one    string   // key by which one record is asked for: path/{one}
	alone  bool     // there is one record, and the path is its own
	list   func(query) []record
}

type query struct {
	view
	model Model
	s     *Standin
}

// names reports whether the collection has a field of that name, or some below it.
func (c *collection) names(field string) bool {
	return slices.ContainsFunc(slices.Concat(c.keys, c.fields), func(f string) bool { return below(f, field) })
}

// wanted are the fields of a request; a nil slice means what one gets unasked.
func (c *collection) wanted(list string, single bool) ([]string, *apiError) {
	switch {
	case list == "" && single:
		return []string{"*"}, nil
	case list == "":
		return nil, nil
	}
	fields := strings.Split(list, ",")
	for _, f := range fields {
		if f != "*" && f != "**" && !c.names(f) {
			return nil, badRequest(fmt.Sprintf("The value %q is invalid for field \"fields\" (<field,...>)", f), "fields")
		}
	}
	return fields, nil
}

// project returns what is told of r when fields are asked for.
func (c *collection) project(r record, fields []string) map[string]any {
	told := map[string]any{}
	for key, value := range r {
		if slices.Contains(c.keys, key) || slices.ContainsFunc(fields, func(f string) bool { return c.tells(f, key) }) {
			insert(told, strings.Split(key, "."), value)
		}
	}
	return told
}

// tells reports whether a requested field covers a key. To name what a dear
// field belongs to is not to name it: fields=nas does not give nas.path.
func (c *collection) tells(field, key string) bool {
	i := slices.IndexFunc(c.dear, func(d string) bool { return below(key, d) })
	switch {
	case field == "**":
		return true
	case i < 0:
		return field == "*" || related(field, key)
	default:
		return below(field, c.dear[i]) && related(field, key)
	}
}

func below(field, of string) bool { return field == of || strings.HasPrefix(field, of+".") }

func related(a, b string) bool { return below(a, b) || below(b, a) }

func insert(into map[string]any, path []string, value any) {
	for _, p := range path[:len(path)-1] {
		inner, ok := into[p].(map[string]any)
		if !ok {
			inner = map[string]any{}
			into[p] = inner
		}
		into = inner
	}
	into[path[len(path)-1]] = value
}

// filter returns the records that the parameters admit, and the fields that they name:
// ONTAP tells those too. Of ONTAP's tests the stand-in knows equality, and refuses the others.
func (c *collection) filter(all []record, params url.Values) ([]record, []string, *apiError) {
	var named []string
	for name, tests := range params {
		if name == "fields" || strings.HasPrefix(name, "start.") {
			continue
		}
		if !c.names(name) {
			return nil, nil, badRequest(fmt.Sprintf("Unexpected argument %q.", name), name)
		}
		named = append(named, name)
		for _, test := range tests {
			if strings.ContainsAny(test, "|*!<>") || test == "null" {
				return nil, nil, badRequest(fmt.Sprintf("The stand-in does not know the test %q.", test), name)
			}
			all = slices.DeleteFunc(all, func(r record) bool { return !admits(r[name], test) })
		}
	}
	return all, named, nil
}

// admits reports whether a value, or one in a list, is the one that a test names.
func admits(value any, test string) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	return slices.ContainsFunc(list, func(v any) bool { return fmt.Sprint(v) == test })
}
