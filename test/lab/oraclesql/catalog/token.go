package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kind is what a token is.
type kind int

const (
	word   kind = iota // an identifier or a keyword, in upper case
	quoted             // "an identifier", as it stands
	bind               // :name
	text               // a string or number
	mark               // an operator or punctuation
)

type token struct {
	kind  kind
	value string
}

func (t token) is(values ...string) bool {
	return (t.kind == word || t.kind == mark) && slices.Contains(values, t.value)
}

// tokens cuts a text into words. Comments are left out.
func tokens(sql string) ([]token, error) {
	grammar := regexp.MustCompile(`(?s)^(?:` +
		`(\s+|--[^\n]*|/\*.*?\*/)|` + // 1: nothing
		`([A-Za-z][A-Za-z0-9_$#]*)|` + // 2: word
		`"([^"]+)"|` + // 3: quoted
		`(:[A-Za-z0-9_]+)|` + // 4: bind
		`('(?:[^']|'')*'|[0-9]+(?:\.[0-9]+)?)|` + // 5: text
		`(=>|:=|<=|>=|<>|!=|\|\||\.\.|[-+*/=<>(),.;%@]))`) // 6: mark
	var list []token
	for rest := sql; rest != ""; {
		m := grammar.FindStringSubmatchIndex(rest)
		if m == nil {
			return nil, fmt.Errorf("no SQL that is understood here: %.30q", rest)
		}
		for group, k := range []kind{word, quoted, bind, text, mark} {
			from, to := m[2*(group+2)], m[2*(group+2)+1]
			if from < 0 {
				continue
			}
			value := rest[from:to]
			if k == word {
				value = strings.ToUpper(value)
			}
			list = append(list, token{k, value})
		}
		rest = rest[m[1]:]
	}
	return list, nil
}
