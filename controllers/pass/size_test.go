package pass

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClipMarksWhereItCutsAndCutsNoCharacter(t *testing.T) {
	if got := Clip("two\n  lines"); got != "two lines" {
		t.Errorf("got %q", got)
	}
	got := ClipTo(strings.Repeat("ä", 40), 30)
	if len(got) > 30 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %q of %d bytes", got, len(got))
	}
}

func TestMessagesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for n := 995; n < 1005; n++ {
		got := Clip(strings.Repeat("x", n) + strings.Repeat("ä", 50))
		if len(got) > 1003 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d: %d bytes, ends in %q", n, len(got), got[len(got)-6:])
		}
	}
}
