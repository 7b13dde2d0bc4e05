package oranfstab

import (
	"strings"
	"unicode/utf8"
)

// word is a run of characters without blanks, and its place.
type word struct {
	text         string
	line, column int
}

// from returns the rest of the word from byte i on.
func (w word) from(i int) word {
	return word{text: w.text[i:], line: w.line, column: w.column + utf8.RuneCountInString(w.text[:i])}
}

// until returns the word up to byte i.
func (w word) until(i int) word {
	return word{text: w.text[:i], line: w.line, column: w.column}
}

const byteOrderMark = "\ufeff"

// scan returns the words of each line that is not blank or a comment, and
// reports characters that the file must not have. It also returns the number of
// the last line.
func scan(l *log, src string) (lines [][]word, last int) {
	if strings.HasPrefix(src, byteOrderMark) {
		l.fail("ByteOrderMark", word{line: 1, column: 1}, "the file begins with a byte order mark; save it as plain ASCII")
		src = strings.TrimPrefix(src, byteOrderMark)
	}
	reported := map[string]bool{}
	once := func(code string, w word, message string) { // problems that tend to be on every line
		if !reported[code] {
			l.warn(code, w, "%s", message)
		}
		reported[code] = true
	}
	for text := range strings.Lines(src) {
		last++
		text, terminated := strings.CutSuffix(text, "\n")
		if !terminated {
			l.warn("NoFinalNewline", word{line: last, column: 1 + utf8.RuneCountInString(text)},
				"the last line does not end with a newline; add one")
		}
		if cut, found := strings.CutSuffix(text, "\r"); found {
			text = cut
			once("CarriageReturn", word{line: last, column: 1 + utf8.RuneCountInString(text)},
				"the line ends with a carriage return (CRLF); save the file with Unix line ends")
		}
		comment := strings.HasPrefix(strings.TrimLeft(text, " \t"), "#")
		checkCharacters(l, once, text, last, comment)
		if comment {
			continue
		}
		if words := splitWords(l, text, last); len(words) > 0 {
			lines = append(lines, words)
		}
	}
	return lines, max(last, 1)
}

// checkCharacters reports the first character of each kind that a line should
// not have.
func checkCharacters(l *log, once func(code string, at word, message string), text string, line int, comment bool) {
	column, foreign, control := 0, false, false
	for _, r := range text {
		column++
		at := word{line: line, column: column}
		switch {
		case r == '\t':
			once("Tab", at, "a tab separates words; use a space")
		case r > '~' && r != 0x7f && !foreign:
			foreign = true
			if comment {
				l.warn("NonASCIIComment", at, "the comment has the character %U, which is not ASCII", r)
			} else {
				l.fail("NonASCII", at, "the line has the character %U%s, which is not ASCII; type it anew", r, nickname(r))
			}
		case (r < ' ' || r == 0x7f) && !control:
			control = true
			l.fail("ControlCharacter", at, "the line has the control character %U; remove it", r)
		}
	}
}

// nickname names the characters that word processors and web pages put into
// files unseen.
func nickname(r rune) string {
	switch r {
	case '\u00a0':
		return " (no-break space)"
	case '\u2018', '\u2019', '\u201c', '\u201d':
		return " (typographic quote)"
	case '\u2010', '\u2011', '\u2013', '\u2014':
		return " (typographic dash)"
	case utf8.RuneError:
		return " (not valid UTF-8)"
	default:
		return ""
	}
}

// splitWords returns the words of a line. It reports and drops a comment behind them.
func splitWords(l *log, text string, line int) (words []word) {
	rest := word{text: text, line: line, column: 1}
	for {
		rest = rest.from(len(rest.text) - len(strings.TrimLeft(rest.text, " \t")))
		end := strings.IndexAny(rest.text, " \t")
		if end < 0 {
			end = len(rest.text)
		}
		switch first := rest.until(end); {
		case end == 0:
			return words
		case first.text[0] == '#':
			l.warn("InlineComment", first, "a comment stands behind the value; give it a line of its own")
			return words
		default:
			words = append(words, first)
		}
		rest = rest.from(end)
	}
}
