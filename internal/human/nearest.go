package human

import (
	"fmt"
	"strings"
)

const (
	maxTypos = 2  // edits between a mistyped word and the candidate
	maxBytes = 64 // of a word: longer input is no typo, and the comparison is quadratic
)

// Nearest returns the candidate that somebody probably meant to type: the fewest edits away from s, or "" if all
// are too far. The first of several wins.
func Nearest(s string, candidates []string) string {
	if len(s) > maxBytes {
		return ""
	}
	best, distance := "", maxTypos+1
	for _, c := range candidates {
		if d := editDistance(s, c); d < distance && d < len(c)/2 {
			best, distance = c, d
		}
	}
	return best
}

// maxOthers bounds the names in a message.
const maxOthers = 5

// Others says which of the names that exist somebody may have meant: the nearest, or else the first five.
func Others(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(names) == 0 {
		return "there is none"
	}
	more := ""
	if len(names) > maxOthers {
		more = " and more"
	}
	return "there is " + strings.Join(names[:min(len(names), maxOthers)], ", ") + more
}

// editDistance counts the insertions, deletions and replacements of bytes that
// turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
