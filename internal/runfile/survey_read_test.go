package runfile

import (
	"strings"
	"testing"
)

// TestASurveyHasAddressesAndShortNames: they come from an array or from a tenant, and go into the status of a run.
func TestASurveyHasAddressesAndShortNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lif LIF
		ok  bool
	}{
		"good":         {LIF{Name: strings.Repeat("l", 253), Node: "n", Address: "fd00::1"}, true},
		"long name":    {LIF{Name: strings.Repeat("l", 254), Address: "10.0.0.1"}, false},
		"long node":    {LIF{Name: "l", Node: strings.Repeat("n", 254), Address: "10.0.0.1"}, false},
		"no address":   {LIF{Name: "l"}, false},
		"not of an IP": {LIF{Name: "l", Address: "filer.example.com"}, false},
	} {
		var text strings.Builder
		if err := WriteSurvey(&text, Survey{LIFs: []LIF{tc.lif}}); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSurvey(strings.NewReader(text.String())); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
