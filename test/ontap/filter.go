package ontap

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// reserved are the parameters that are no filters.
func reserved(name string) bool {
	switch name {
	case "fields", "max_records", "return_timeout", "return_records", "order_by", "validate_only":
		return true
	}
	return strings.HasPrefix(name, "start.")
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

// admits tells whether one of the values passes a test such as a|b*, !x, >5, null.
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
	for _, v := range values {
		if slices.ContainsFunc(strings.Split(test, "|"), func(t string) bool { return matches(fmt.Sprint(v), t) }) {
			return true
		}
	}
	return false
}

func matches(value, test string) bool {
	for sign, want := range map[string]func(a, b float64) bool{
		"<": func(a, b float64) bool { return a < b }, ">": func(a, b float64) bool { return a > b },
	} {
		if limit, ok := strings.CutPrefix(test, sign); ok {
			a, errA := strconv.ParseFloat(value, 64)
			b, errB := strconv.ParseFloat(limit, 64)
			return errA == nil && errB == nil && want(a, b)
		}
	}
	if !strings.Contains(test, "*") {
		return value == test
	}
	// path.Match stops at slashes, which junction paths are full of.
	ok, err := path.Match(strings.ReplaceAll(test, "/", "\x00"), strings.ReplaceAll(value, "/", "\x00"))
	return err == nil && ok
}
