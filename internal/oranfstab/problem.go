package oranfstab

import (
	"fmt"
	"strings"
	"unicode"
)

// Severity says how bad a problem is.
type Severity string

// An Error breaks a documented rule. A Warning is legal or unconfirmed, but has
// cost users time.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one mistake in a file.
type Problem struct {
	Line     int // from 1
	Column   int // from 1, in characters
	Severity Severity
	Code     string // of the rule; codes are stable: scripts may match them
	Message  string // what is wrong and what to write instead
}

// String returns the problem in the form that editors jump to, without a file
// name: "3:7: error: message".
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Severity, p.Message)
}

// ParseError is the error of [Parse] for a file with problems of severity
// [Error]. Problems holds these in the order of the file, and is not empty.
type ParseError struct {
	Problems []Problem
}

// Error returns the first problem, and the number of others.
func (e *ParseError) Error() string {
	p := e.Problems[0]
	first := fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
	if n := len(e.Problems); n > 1 {
		return fmt.Sprintf("%s (and %d more)", first, n-1)
	}
	return first
}

func isError(p Problem) bool { return p.Severity == Error }

// log collects problems. Its methods take the word with the problem.
type log struct{ problems []Problem }

func (l *log) fail(code string, w word, format string, args ...any) {
	l.add(Error, code, w, format, args...)
}

func (l *log) warn(code string, w word, format string, args ...any) {
	l.add(Warning, code, w, format, args...)
}

func (l *log) add(s Severity, code string, w word, format string, args ...any) {
	printable := func(r rune) rune { // text from a file must not act on a terminal
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	l.problems = append(l.problems, Problem{
		Line: w.line, Column: w.column, Severity: s, Code: code,
		Message: strings.Map(printable, fmt.Sprintf(format, args...)),
	})
}
