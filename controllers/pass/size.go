package pass

import "strings"

// Head returns the first items of a list, in which what matters most comes first.
func Head[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// Clip makes one line of a message, which API servers may break into several, and
// bounds it to what the CRDs allow.
func Clip(s string) string { return ClipTo(OneLine(s), 1000) }

// OneLine puts single spaces for whatever stands between words.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ClipTo bounds s to so many bytes, and marks where it was cut.
func ClipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && s[cut]&0xc0 == 0x80 { // not in the middle of a character
		cut--
	}
	return s[:cut] + mark
}
