package human

import "unicode"

// Printable returns r, or a question mark for a control or format character, such as the right-to-left override. Line
// breaks and tabs stay. Results, records and errors contain text from untrusted sources.
func Printable(r rune) rune {
	if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
		return '?'
	}
	return r
}
