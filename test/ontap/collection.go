package ontap

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// record is one object of ONTAP: values by dotted path.
type record map[string]any

// collection is one kind of records.
type collection struct {
	path   string   // below /api
	keys   []string // told of each record, whatever was asked for
	fields []string // told when they are asked for
	dear   []string // those of them that are told only when they are named: ONTAP calls them expensive
	one    string   // key by which one record is asked for: path/{one}
	alone  bool     // there is one record, and the path is its own
	list   func(query) []record
}

// query is what a request wants, and on whose behalf.
type query struct {
	view
	model   Model
	account Account
	parent  string // such as the policy whose rules are asked for
	params  url.Values
	s       *Standin
}

// names tells whether the collection has a field of that name, or some below it.
func (c *collection) names(field string) bool {
	for _, f := range slices.Concat(c.keys, c.fields) {
		if below(f, field) {
			return true
		}
	}
	return false
}

// wanted are the fields of a request; a nil slice means what one gets unasked.
func (c *collection) wanted(list string, single bool) ([]string, *apiError) {
	if list == "" {
		if single {
			return []string{"*"}, nil
		}
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

// below tells whether field is of or within.
func below(field, of string) bool { return field == of || strings.HasPrefix(field, of+".") }

// related tells whether one of two fields is the other or within it.
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

// values are all values of a field of r, those within lists included.
func (r record) values(field string) []any {
	var all []any
	for key, value := range r {
		if key == field {
			all = append(all, flat(value)...)
		}
		if rest, ok := strings.CutPrefix(field, key+"."); ok {
			all = append(all, within(value, strings.Split(rest, "."))...)
		}
	}
	return all
}

func flat(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

func within(value any, path []string) []any {
	if len(path) == 0 {
		return flat(value)
	}
	var all []any
	for _, v := range flat(value) {
		if m, ok := v.(map[string]any); ok {
			if inner, ok := m[path[0]]; ok {
				all = append(all, within(inner, path[1:])...)
			}
		}
	}
	return all
}
