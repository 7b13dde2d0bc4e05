package sqltext

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The kinds of values that Render takes. A plain string is an Identifier.
type (
	// Identifier is the unquoted name of a schema object or a user, of at most
	// 128 bytes: a letter, then letters, digits, _, $ and #.
	Identifier string
	// Parameter is the name of an init parameter. A hidden one, which begins
	// with _, is quoted.
	Parameter string
	// Value is the value of an init parameter: a number, a size such as 2G, TRUE
	// and FALSE stand as they are, all else is quoted.
	Value string
	// Literal becomes a string literal.
	Literal string
	// Password becomes a quoted one, as IDENTIFIED BY takes it. Errors never
	// show it.
	Password string
)

// Render fills the places {{.Key}} of a text. Every place must have a value, and
// every value a place. Values are of the kinds above, or whole numbers; what
// does not match the grammar of its kind is refused, so that no value can be
// more than one word of SQL. It panics on an unknown name, as Text does.
func Render(name string, values map[string]any) (string, error) {
	text := Raw(name)
	var errs []error
	used := map[string]bool{}
	text = regexp.MustCompile(`\{\{\.([A-Za-z]+)\}\}`).ReplaceAllStringFunc(text, func(place string) string {
		key := place[len("{{.") : len(place)-len("}}")]
		used[key] = true
		value, ok := values[key]
		if !ok {
			errs = append(errs, fmt.Errorf("SQL text %s: no value for %s", name, key))
			return place
		}
		word, err := render(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("SQL text %s: %s: %w", name, key, err))
		}
		return word
	})
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !used[key] {
			errs = append(errs, fmt.Errorf("SQL text %s has no place for %s", name, key))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return text, nil
}

func render(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return render(Identifier(v))
	case Identifier:
		return matching(string(v), `^[A-Za-z][A-Za-z0-9_$#]{0,127}$`,
			"Oracle identifier: a letter, then at most 127 letters, digits, _, $ or #")
	case Parameter:
		word, err := matching(string(v), `^_{0,2}[a-z][a-z0-9_]{0,79}$`,
			"name of an init parameter: lower-case letters, digits and _")
		if strings.HasPrefix(word, "_") {
			word = `"` + word + `"`
		}
		return word, err
	case Value:
		if regexp.MustCompile(`^(?i:-?[0-9]{1,19}[kmgt]?|true|false)$`).MatchString(string(v)) {
			return string(v), nil
		}
		return render(Literal(v))
	case Literal:
		if strings.ContainsFunc(string(v), unprintable) || len(v) > 1000 {
			return "", errors.New("the value has control characters, or more than 1000 bytes")
		}
		return "'" + strings.ReplaceAll(string(v), "'", "''") + "'", nil
	case Password:
		if v == "" || len(v) > 1024 || strings.ContainsRune(string(v), '"') || strings.ContainsFunc(string(v), unprintable) {
			return "", errors.New("an Oracle password has 1 to 1024 bytes, no double quote and no control characters")
		}
		return `"` + string(v) + `"`, nil
	case int, int32, int64:
		return fmt.Sprint(v), nil
	default:
		return "", fmt.Errorf("%T is no kind of value that SQL text takes", value)
	}
}

// matching returns a word of a grammar, which is what it is called.
func matching(word, grammar, what string) (string, error) {
	if !regexp.MustCompile(grammar).MatchString(word) {
		return "", fmt.Errorf("%q is no %s", word, what)
	}
	return word, nil
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
