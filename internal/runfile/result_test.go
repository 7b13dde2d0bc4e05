package runfile

import (
	"strings"
	"testing"
)

func TestServerNamesArePrintableAndShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1024)
	cases := map[string]struct{ opaque, want string }{
		"text":               {"array1.example.com", "array1.example.com"},
		"nothing":            {"", ""},
		"bytes":              {"\x00\xffa", "00ff61"},
		"a line break":       {"a\nb", "610a62"},
		"text of any length": {long, long[:MaxServerNameBytes]},
		"bytes of any length": {
			"\x00" + long, "00" + strings.Repeat("78", MaxServerNameBytes/2-1),
		},
	}
	for name, tc := range cases {
		if got := ServerName([]byte(tc.opaque)); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
