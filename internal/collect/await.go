package collect

import (
	"context"
	"time"
)

const (
	// finalPoll is how often the loader looks whether it may go.
	finalPoll = 100 * time.Millisecond
	// FinalPatience is how long a loader waits for the final result to be
	// published: longer than the API server of a cluster is away when its
	// control plane is replaced.
	FinalPatience = 5 * time.Minute
)

// AwaitFinal waits until the collector of a run directory has published the
// final result, patience is over, or ctx ends. It reports whether it has.
//
// A loader calls it before it ends, because Kubernetes stops the sidecars of a
// pod whose containers have ended and starts none again: a collector that is
// killed then, or cannot reach the API server for longer than a pod may take to
// stop, would take the result with it.
func AwaitFinal(ctx context.Context, dir string, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !exists(dir, FinalFile) {
		if !sleep(ctx, finalPoll) {
			return exists(dir, FinalFile)
		}
	}
	return true
}
