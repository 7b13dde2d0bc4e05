package flashblade

import (
	"strings"
	"testing"
)

// Of two readings of one second only one would be integrated.
func TestTwoReadingsOfOneSecondAreRefusedWhereTheyDiffer(t *testing.T) {
	reading := func(ms int64, reads float64) performance { return performance{Time: &ms, ReadsPerSec: &reads} }
	b, err := batchOf([]performance{reading(1000, 1), reading(2000, 1), reading(1000, 1)})
	if err != nil || len(b.Total) != 2 {
		t.Errorf("%d readings, %v; want the same one once", len(b.Total), err)
	}
	if _, err := batchOf([]performance{reading(1000, 1), reading(1000, 3)}); err == nil || !strings.Contains(err.Error(), "several arrays") {
		t.Errorf("1 and 3 reads in one second: %v", err)
	}
}
