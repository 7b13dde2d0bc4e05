package sqltext

import "testing"

func TestAVersionBelongsToTheNewestReleaseNotAfterIt(t *testing.T) {
	for version, want := range map[string]string{
		"12.1.0.2.0": "12.1", "12.2.0.1.0": "12.2", "18.0.0.0.0": "18", "19.0.0.0.0": "19", "19.24.0.0.0": "19",
		"20.2.0.0.0": "19", "21.3.0.0.0": "21", "23.0.0.0.0": "23", "23.26.1.0.0": "23", "26.0.0.0.0": "23", "19": "19",
	} {
		got, err := ReleaseOf(version)
		if err != nil || got.String() != want {
			t.Errorf("%s belongs to %s (%v), want %s", version, got, err, want)
		}
	}
}

func TestAVersionWhoseViewsAreNotKnownIsRefused(t *testing.T) {
	for _, version := range []string{"11.2.0.4.0", "12.1.0.1.0", "10.2", "", "nineteen", "19.x", "-1.2"} {
		if got, err := ReleaseOf(version); err == nil {
			t.Errorf("%q is taken for %s", version, got)
		}
	}
}
