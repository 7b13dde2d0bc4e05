package run

import (
	"strings"
	"testing"
)

// TestPasswordsSatisfyStrongVerifyFunctions: two of each kind, and no more bytes than 12.1 takes.
func TestPasswordsSatisfyStrongVerifyFunctions(t *testing.T) {
	first, second := newPassword(), newPassword()
	if first == second || len(first) > 30 || strings.ContainsAny(first, "\"@/ ") {
		t.Errorf("passwords %q, %q", first, second)
	}
	for _, kind := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "_#$"} {
		n := 0
		for _, r := range first {
			if strings.ContainsRune(kind, r) {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%d of %q in %q", n, kind, first)
		}
	}
}
