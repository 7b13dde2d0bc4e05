package pass

import (
	"encoding/json"
	"strings"
)

// MaxStatusBytes is what a status may take as JSON: every watcher of the objects
// receives it.
const MaxStatusBytes = 30 << 10

// Cut makes one list of a status shorter.
type Cut struct {
	Bytes int // that the list takes
	Cut   func()
}

// Fit shortens the longest list of a status until all of it fits, or nothing is left
// that may go. It asks for the cuts anew after each.
func Fit(status any, cuts func() []Cut) {
	for SizeOf(status) > MaxStatusBytes {
		longest := Cut{}
		for _, c := range cuts() {
			if c.Bytes > longest.Bytes {
				longest = c
			}
		}
		if longest.Bytes <= len("null") {
			return
		}
		longest.Cut()
	}
}

// Shorter drops the last eighth of a list, or the last one: lists have what matters
// most at their head.
func Shorter[T any](list []T) []T {
	rest := list[:len(list)-max(len(list)/8, 1)]
	if len(rest) == 0 {
		return nil
	}
	return rest
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
