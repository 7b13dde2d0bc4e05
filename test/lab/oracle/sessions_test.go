package oracle

import "testing"

func TestAsManySessionsFallBackAsThePercentSays(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{0, 10, 25, 50, 100} {
		n := 0
		for number := range int64(20) {
			if kernelSession(number, percent) {
				n++
			}
		}
		if n != 20*percent/100 {
			t.Errorf("%d %%: %d of 20", percent, n)
		}
	}
}
