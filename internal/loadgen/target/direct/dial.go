package direct

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
)

const (
	// startingPatience is how long a server may refuse connections before it
	// counts as not running: one that is starting, or a Service whose
	// endpoints are just appearing, refuses for a moment.
	startingPatience = 10 * time.Second
	startingRetry    = 500 * time.Millisecond
)

// dial mounts an export. It tries again while nothing listens; whatever a
// server itself says is final.
func dial(ctx context.Context, cfg nfs.Config) (*nfs.Client, error) {
	patience := startingPatience
	if cfg.MountTimeout > 0 {
		patience = min(patience, cfg.MountTimeout)
	}
	last := cfg.Now().Add(patience - startingRetry)
	for {
		c, err := nfs.Dial(ctx, cfg)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) || cfg.Now().After(last) {
			return c, err
		}
		retry := time.NewTimer(startingRetry)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, err
		}
	}
}
