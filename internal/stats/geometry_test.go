package stats

import (
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// otherGeometry is a histogram that is fine but is not one of ours.
func otherGeometry(t *testing.T, highest int64, digits int) string {
	t.Helper()
	h := hdr.New(1, highest, digits)
	if err := h.RecordValue(5); err != nil {
		t.Fatal(err)
	}
	b, err := h.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
