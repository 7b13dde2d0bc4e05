package counters

import (
	"testing"
)

func TestResidentMemoryIsThatOfTheWholeProcess(t *testing.T) {
	before := processResidentBytes()
	if before == nil {
		t.Skip("needs /proc/self/statm of Linux")
	}
	const size = 64 << 20 // much more than the shared pages of a test
	held := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		held[i] = 1
	}
	after := processResidentBytes()
	if grown := int64(*after) - int64(*before); grown < size*3/4 {
		t.Errorf("%d bytes are resident beyond %d, after %d were touched", grown, *before, len(held))
	}
}
