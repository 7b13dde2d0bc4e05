package pass

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFitKeepsTheHeadsOfLists(t *testing.T) {
	var status struct{ Long, Short []string }
	status.Short = []string{"a", "b"}
	for range 2000 {
		status.Long = append(status.Long, strings.Repeat("x", 900))
	}
	status.Long[0] = "head"
	Fit(&status, func(most int) {
		status.Long, status.Short = Head(status.Long, most), Head(status.Short, most)
	})
	if got := SizeOf(status); got > MaxStatusBytes || got < MaxStatusBytes/2 {
		t.Errorf("%d bytes of %d", got, MaxStatusBytes)
	}
	if len(status.Short) != 2 || status.Long[0] != "head" {
		t.Errorf("short list %v, head %q", status.Short, status.Long[0])
	}
}

// TestFitEndsWhereNothingMayGo must not turn forever on a status that cannot fit.
func TestFitEndsWhereNothingMayGo(t *testing.T) {
	status := struct {
		Fixed string
		List  []string
	}{strings.Repeat("x", MaxStatusBytes), []string{"one", "two", "three"}}
	Fit(&status, func(most int) { status.List = Head(status.List, most) })
	if status.List != nil {
		t.Errorf("left: %v", status.List)
	}
}

func TestClipMarksWhereItCutsAndCutsNoCharacter(t *testing.T) {
	if got := Clip("two\n  lines"); got != "two lines" {
		t.Errorf("got %q", got)
	}
	got := ClipTo(strings.Repeat("ä", 40), 30)
	if len(got) > 30 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %q of %d bytes", got, len(got))
	}
}
