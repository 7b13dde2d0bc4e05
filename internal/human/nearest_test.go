package human

import (
	"strings"
	"testing"
)

func TestTheNearestWordIsFoundOrNone(t *testing.T) {
	words := []string{"client", "clients", "workload", "run", "path"}
	cases := map[string]string{
		"client": "client", "clinet": "client", "cliets": "clients", "workloda": "workload",
		"pat": "path", "ran": "", "size": "", "": "", strings.Repeat("client", 20): "",
	}
	for typed, want := range cases {
		if got := Nearest(typed, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", typed, got, want)
		}
	}
	if got := Nearest("client", nil); got != "" {
		t.Errorf("among no words, got %q", got)
	}
}

func TestTheDistanceIsTheFewestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}} {
		if got := editDistance(tc.a, tc.b); got != tc.want || editDistance(tc.b, tc.a) != tc.want {
			t.Errorf("%q to %q is %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestTheOtherNamesAreShownWhenNoneIsNear(t *testing.T) {
	t.Parallel()
	many := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}
	for typed, want := range map[string]string{
		"brawo": `did you mean "bravo"?`, "gold": "there is alpha, bravo, charlie, delta, echo and more",
	} {
		if got := Others(typed, many); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
	if got := Others("gold", nil); got != "there is none" {
		t.Error(got)
	}
}
