package ontap

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
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
	model   Model
	account Account
	params  url.Values
	s       *Standin
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

// values are all values of a field of r, those within lists included.
func (r record) values(field string) []any {
	var all []any
	for key, value := range r {
		if key == field {
			all = append(all, within(value, nil)...)
		}
		if rest, ok := strings.CutPrefix(field, key+"."); ok {
			all = append(all, within(value, strings.Split(rest, "."))...)
		}
	}
	return all
}

// within are the values at a path below value, of which each may be a list.
func within(value any, path []string) []any {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	if len(path) == 0 {
		return list
	}
	var all []any
	for _, v := range list {
		m, _ := v.(map[string]any)
		if inner, ok := m[path[0]]; ok {
			all = append(all, within(inner, path[1:])...)
		}
	}
	return all
}

// reserved are the parameters that are no filters.
func reserved(name string) bool {
	return strings.HasPrefix(name, "start.") ||
		slices.Contains([]string{"fields", "max_records", "return_timeout", "return_records", "order_by", "validate_only"}, name)
}

// filter returns the records that the parameters admit, and the fields that they
// name: ONTAP tells those too.
func (c *collection) filter(all []record, params url.Values) ([]record, []string, *apiError) {
	var named []string
	for name, tests := range params {
		if reserved(name) {
			continue
		}
		if !c.names(name) {
			return nil, nil, badRequest(fmt.Sprintf("Unexpected argument %q.", name), name)
		}
		named = append(named, name)
		all = slices.DeleteFunc(all, func(r record) bool {
			return slices.ContainsFunc(tests, func(test string) bool { return !admits(r.values(name), test) })
		})
	}
	return all, named, nil
}

// admits reports whether one of the values passes a test such as a|b*, !x, >5, null.
func admits(values []any, test string) bool {
	switch test {
	case "null":
		return len(values) == 0
	case "!null":
		return len(values) > 0
	}
	if not, ok := strings.CutPrefix(test, "!"); ok {
		return !admits(values, not)
	}
	return slices.ContainsFunc(values, func(v any) bool {
		return slices.ContainsFunc(strings.Split(test, "|"), func(t string) bool { return matches(fmt.Sprint(v), t) })
	})
}

func matches(value, test string) bool {
	if strings.HasPrefix(test, "<") || strings.HasPrefix(test, ">") {
		a, errA := strconv.ParseFloat(value, 64)
		b, errB := strconv.ParseFloat(test[1:], 64)
		return errA == nil && errB == nil && (test[0] == '<' && a < b || test[0] == '>' && a > b)
	}
	if !strings.Contains(test, "*") {
		return value == test
	}
	// path.Match stops at slashes, which junction paths are full of.
	ok, err := path.Match(strings.ReplaceAll(test, "/", "\x00"), strings.ReplaceAll(value, "/", "\x00"))
	return err == nil && ok
}
