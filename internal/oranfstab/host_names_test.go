package oranfstab

import (
	"strings"
	"testing"
)

func TestNamesOfHosts(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for _, c := range []struct {
		reason, name string
		want         bool
	}{
		{"all letters", letters, true},
		{"all capitals", strings.ToUpper(letters), true},
		{"all digits, a letter last", "0123456789.a", true},
		{"the first and the last of each kind", "a0.z9.A-Z_z", true},
		{"what comes before the letters", "a`", false},
		{"what comes behind them", "a{", false},
		{"what comes before the capitals", "a@", false},
		{"what comes behind them", "a[", false},
		{"what comes before the digits", "a/", false},
		{"what comes behind them", "a:", false},
		{"a hyphen first", "-a", false},
		{"a hyphen last", "a-", true},
		{"an empty label", "a..b", false},
		{"a label as long as it may be", strings.Repeat("a", 63), true},
		{"a longer one", strings.Repeat("a", 64), false},
		{"a mistyped address", "10.0.1.611", false},
	} {
		if got := isHostName(c.name); got != c.want {
			t.Errorf("%s: isHostName(%q) is %t", c.reason, c.name, got)
		}
	}
}
