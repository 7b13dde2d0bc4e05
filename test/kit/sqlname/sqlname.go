// Package sqlname tells stand-ins for Oracle which of our SQL texts they got.
package sqlname

import "regexp"

var comment = regexp.MustCompile(`^\s*/\* nfsbench ([a-z0-9_]+) \*/`)

// Of reads the name from the comment that a text begins with, and says whether there is one.
func Of(sql string) (string, bool) {
	m := comment.FindStringSubmatch(sql)
	if m == nil {
		return "", false
	}
	return m[1], true
}
