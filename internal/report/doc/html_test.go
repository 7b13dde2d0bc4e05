package doc

import (
	"bytes"
	"strings"
	"testing"
)

// TestAPageHasNoHiddenCharacters: the right-to-left override would show another text than the one that is there.
func TestAPageHasNoHiddenCharacters(t *testing.T) {
	t.Parallel()
	const override, isolate, pop = "\u202e", "\u2067", "\u2069"
	var page bytes.Buffer
	d := Document{Title: "filer" + override + "txt", Sections: []Section{{
		Title: "é" + isolate + "x" + pop + "→", Blocks: []Block{{Text: "a" + override + "b"}},
	}}}
	if err := HTML(&page, d, Origin{}); err != nil {
		t.Fatal(err)
	}
	got := page.String()
	if strings.ContainsAny(got, override+isolate+pop) {
		t.Error("the page has a hidden character")
	}
	for _, want := range []string{"filer?txt", "é?x?→", "a?b"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
