package human

import "unicode"

// Printable returns r, or a question mark for a control or format character, such as the right-to-left override. Line
// breaks and tabs stay. Texts of strangers are in results, records and errors.
func Printable(r rune) rune {
	if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
		return '?'
	}
	return r
}
