package cli

import (
	"testing"
)

func TestSize(t *testing.T) {
	good := map[string]struct {
		want int64
		text string
	}{
		"0": {0, "0"}, "10Gi": {10 << 30, "10Gi"}, "1.5Gi": {3 << 29, "1536Mi"}, "1M": {1e6, "1000000"},
		"1k": {1000, "1k"}, "4096": {4096, "4Ki"}, "2Ti": {2 << 40, "2Ti"}, "0.5Ki": {512, "512"},
	}
	for in, tc := range good {
		var b Size
		if err := b.Set(in); err != nil || int64(b) != tc.want || b.String() != tc.text {
			t.Errorf("%q: %d (%s), %v", in, int64(b), b.String(), err)
		}
	}
	for _, in := range []string{"", "Gi", "-1", "+1", "1/2", "0x10", "10GiB", "10 Gi", "1.5", "9999999Ti", ".", "1.2.3", "1_0"} {
		b := Size(7)
		if err := b.Set(in); err == nil || b != 7 {
			t.Errorf("%q was taken as %d", in, int64(b))
		}
	}
}
