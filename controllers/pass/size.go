package pass

import (
	"encoding/json"
	"strings"
)

// MaxStatusBytes is what a status may take as JSON: every watcher of the objects
// receives it.
const MaxStatusBytes = 30 << 10

// Fit makes a status fit. It halves the most items that its lists may have until it does; cut
// shortens them to that.
func Fit(status any, cut func(most int)) {
	for most := 64; SizeOf(status) > MaxStatusBytes && most > 0; {
		most /= 2
		cut(most)
	}
}

// Head returns the first items of a list, in which what matters most comes first.
func Head[T any](list []T, most int) []T {
	if most == 0 {
		return nil
	}
	return list[:min(len(list), most)]
}

// SizeOf is what v takes as JSON, in bytes.
func SizeOf(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0 // types of the API always have JSON
	}
	return len(raw)
}

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
