package slobconf

import (
	"regexp"
	"strings"
)

type kind int

const (
	kindEnd kind = iota
	kindWord
	kindOperator    // ; & && | ( ) and the end of a line
	kindRedirection // with the word behind it
)

// token is a word of a shell script, or what stands between words.
type token struct {
	kind  kind
	raw   string // as written
	value string // of a word, without quotes
	plain bool   // the value is all of it: the shell computes nothing
	line  int    // where it begins
}

// lexer splits a shell script into tokens.
type lexer struct {
	text   string
	at     int
	line   int
	broken int    // the line of a quote or bracket that is never closed
	back   *token // is next once more
	// documents are the words that end the here-documents that begin below this line.
	documents   []string
	inDocuments []token // the lines of those that were skipped
}

// operators stand in the order in which they are looked for.
func operators() []string {
	return []string{";;&", ";;", ";&", "&&", "||", "|&", ";", "&", "|", "(", ")"}
}

const blanks = " \t"

func (l *lexer) next() token {
	if t := l.back; t != nil {
		l.back = nil
		return *t
	}
	l.blanks()
	t := token{line: l.line}
	if l.at == len(l.text) {
		return t
	}
	from := l.at
	switch c := l.text[l.at]; {
	case c == '\n':
		t.kind, t.raw = kindOperator, "\n"
		l.at++
		l.line++
		l.skipDocuments()
		return t
	case c == '<' || c == '>' || strings.HasPrefix(l.text[l.at:], "&>"):
		t.kind = kindRedirection
		l.redirection()
	case strings.IndexByte(";&|()", c) >= 0:
		for _, operator := range operators() {
			if strings.HasPrefix(l.text[l.at:], operator) {
				l.at += len(operator)
				return token{kind: kindOperator, raw: operator, line: l.line}
			}
		}
	default:
		t.kind = kindWord
		t.value, t.plain = l.word()
	}
	t.raw = l.text[from:l.at]
	l.line += strings.Count(t.raw, "\n")
	return t
}

// blanks skips blanks, comments, and ends of lines that a backslash takes away.
func (l *lexer) blanks() {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(blanks, rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "\\\n"):
			l.at += 2
			l.line++
		case rest[0] == '#':
			l.until("\n")
		default:
			return
		}
	}
}

// until goes to the next of these words, or to the end. It tells whether there is one.
func (l *lexer) until(end string) bool {
	n := strings.Index(l.text[l.at:], end)
	if n < 0 {
		l.at = len(l.text)
		return false
	}
	l.at += n
	return true
}

// word reads one, with what is computed in it. Only printable ASCII is plain, for a plain
// value is written into a comment.
func (l *lexer) word() (value string, plain bool) {
	var b strings.Builder
	plain = true
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case c == '\'':
			b.WriteString(l.quoted())
		case c == '"':
			text, simple := l.doubleQuoted()
			b.WriteString(text)
			plain = plain && simple
		case strings.HasPrefix(l.text[l.at:], "\\\n"):
			l.at += 2
		case strings.IndexByte("$`\\", c) >= 0:
			plain = false
			l.computed()
		case c == '(' && regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=$`).MatchString(b.String()): // an array
			plain = false
			l.parentheses()
		case strings.IndexByte(" \t\n;&|()<>", c) >= 0:
			return b.String(), plain && printable(b.String())
		default:
			if c == '~' && (b.Len() == 0 || strings.HasSuffix(b.String(), "=") || strings.HasSuffix(b.String(), ":")) {
				plain = false // a home directory
			}
			b.WriteByte(c)
			l.at++
		}
	}
	return b.String(), plain && printable(b.String())
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// quoted reads '...', in which nothing is special.
func (l *lexer) quoted() string {
	l.at++
	from := l.at
	if !l.until("'") {
		l.fail()
		return ""
	}
	l.at++
	return l.text[from : l.at-1]
}

// doubleQuoted reads "..."; simple where nothing is computed in it.
func (l *lexer) doubleQuoted() (text string, simple bool) {
	var b strings.Builder
	simple = true
	for l.at++; l.at < len(l.text); {
		c := l.text[l.at]
		switch {
		case c == '"':
			l.at++
			return b.String(), simple
		case strings.HasPrefix(l.text[l.at:], "\\\n"):
			l.at += 2
		case strings.IndexByte("$`\\", c) >= 0:
			simple = false
			l.computed()
		default:
			b.WriteByte(c)
			l.at++
		}
	}
	l.fail()
	return "", false
}

// computed skips $..., `...` or a character behind a backslash.
func (l *lexer) computed() {
	rest := l.text[l.at:]
	switch {
	case rest[0] == '\\':
		l.at = min(l.at+2, len(l.text))
	case rest[0] == '`':
		l.at++
		l.escaped('`')
	case strings.HasPrefix(rest, "$'"):
		l.at += 2
		l.escaped('\'')
	case strings.HasPrefix(rest, "$("):
		l.at++
		l.parentheses()
	case strings.HasPrefix(rest, "${"):
		l.at++
		l.balanced('{', '}')
	default:
		l.at++
	}
}

// escaped goes behind the next end that no backslash stands before.
func (l *lexer) escaped(end byte) {
	for ; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case '\\':
			l.at++
		case end:
			l.at++
			return
		}
	}
	l.fail()
}

// parentheses goes behind the one that closes the one that is next, or that was the last
// token, and returns what stands between.
func (l *lexer) parentheses() string {
	from := l.at
	if l.text[l.at-1] == '(' && l.text[from] == '(' {
		l.at--
	}
	l.balanced('(', ')')
	return l.text[from:l.at]
}

// balanced skips a bracket with all that it holds.
func (l *lexer) balanced(opening, closing byte) {
	for depth := 0; l.at < len(l.text); {
		switch c := l.text[l.at]; c {
		case '\'':
			l.quoted()
			continue
		case '"':
			l.doubleQuoted()
			continue
		case '\\':
			l.at++
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				l.at++
				return
			}
		}
		l.at++
	}
	l.fail()
}

// fail notes that what begins here is never closed.
func (l *lexer) fail() {
	l.at = len(l.text)
	if l.broken == 0 {
		l.broken = l.line
	}
}

// redirection reads one with the word behind it, and notes the end of a here-document.
func (l *lexer) redirection() {
	rest := l.text[l.at:]
	document := strings.HasPrefix(rest, "<<") && !strings.HasPrefix(rest, "<<<")
	for l.at < len(l.text) && strings.IndexByte("<>&|-", l.text[l.at]) >= 0 {
		l.at++
	}
	if strings.HasPrefix(l.text[l.at:], "(") {
		l.balanced('(', ')')
		return
	}
	for l.at < len(l.text) && strings.IndexByte(blanks, l.text[l.at]) >= 0 {
		l.at++
	}
	if word, _ := l.word(); document {
		l.documents = append(l.documents, word)
	}
}

// skipDocuments skips the here-documents of the line that ended.
func (l *lexer) skipDocuments() {
	for _, end := range l.documents {
		for l.at < len(l.text) {
			line, _, _ := strings.Cut(l.text[l.at:], "\n")
			l.at = min(l.at+len(line)+1, len(l.text))
			l.inDocuments = append(l.inDocuments, token{raw: line, line: l.line})
			l.line++
			if strings.TrimLeft(line, "\t") == end {
				break
			}
		}
	}
	l.documents = nil
}
