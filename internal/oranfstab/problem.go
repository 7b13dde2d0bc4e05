package oranfstab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Severity says whether a file with the problem can be relied on.
type Severity string

// An Error breaks a documented rule. A Warning is legal or unconfirmed, but has
// cost people time.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // from 1, in characters
	Length   int      `json:"length"` // how many characters are meant, at least 1
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"` // what is wrong and what to write instead
	Effect   string   `json:"effect"`  // what Oracle does with it, as far as is known
}

// String returns the problem in the form that editors jump to, without a file
// name: "3:7: error: message".
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Severity, p.Message)
}

// ParseError is what [Parse] returns for a file with problems of severity
// [Error]; Problems holds those, in the order of the file, and is not empty.
type ParseError struct {
	Problems []Problem
}

// Error tells the first problem and how many there are.
func (e *ParseError) Error() string {
	p := e.Problems[0]
	first := fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
	if n := len(e.Problems); n > 1 {
		return fmt.Sprintf("%s (and %d more)", first, n-1)
	}
	return first
}

func isError(p Problem) bool { return p.Severity == Error }

// log collects problems. Its methods take the word that the problem is about.
type log struct{ problems []Problem }

func (l *log) add(c Code, w word, format string, args ...any) {
	printable := func(r rune) rune { // the contents of a file must not act on a terminal
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	r := ruleOf(c)
	l.problems = append(l.problems, Problem{
		Line: w.line, Column: w.column, Length: max(1, w.length()), Severity: r.severity, Code: c,
		Message: strings.Map(printable, fmt.Sprintf(format, args...)), Effect: r.effect,
	})
}

// sorted returns the problems in the order of the file. Those of one place keep
// the order in which they were found.
func (l *log) sorted() []Problem {
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.problems
}
