package collect

import (
	"context"
	"time"
)

// sampler calls take at each interval and at each mark, one call at a time. A
// call that lasts longer than the interval skips samples; it never queues them.
type sampler struct {
	take     func(ctx context.Context, mark bool)
	interval time.Duration
	marks    chan struct{}
}

func newSampler(interval time.Duration, take func(ctx context.Context, mark bool)) *sampler {
	return &sampler{take: take, interval: interval, marks: make(chan struct{}, 1)}
}

// mark asks for a sample now. A mark that waits already is enough.
func (s *sampler) mark() {
	select {
	case s.marks <- struct{}{}:
	default:
	}
}

func (s *sampler) run(ctx context.Context) {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for mark := false; ; {
		s.take(ctx, mark)
		select {
		case <-ctx.Done():
			return
		case <-s.marks:
			mark = true
		case <-ticker.C:
			mark = false
		}
	}
}
