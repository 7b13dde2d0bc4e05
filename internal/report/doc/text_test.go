package doc

import (
	"bytes"
	"testing"
)

func TestASparklineShowsADipAsDeepAsItWas(t *testing.T) {
	t.Parallel()
	p := newPage(&bytes.Buffer{}, TextOptions{})
	if got := p.spark([]float64{100, 100, 50, 0, 100}, 10); got != "██▄ █" {
		t.Errorf("%q", got)
	}
	if got := p.spark([]float64{100, 0, 100, 0}, 2); got != "██" {
		t.Errorf("resampled: %q", got)
	}
}
