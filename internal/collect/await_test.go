package collect

import (
	"context"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheLoaderStaysUntilItsResultIsPublished(t *testing.T) {
	dir := t.TempDir()
	r := startRig(t, dir, 1, nil)
	r.recorder.set(func(p *recorder) { p.err = errAway })
	went := make(chan bool, 1)
	go func() { went <- AwaitFinal(t.Context(), dir, time.Hour) }()
	r.load(done(runfile.Load{}))
	waitFor(t, "attempts to publish", r.recorder.when(func(p *recorder) bool { return p.failed > 5 }))
	select {
	case <-went:
		t.Fatal("it went before anything was published")
	default:
	}
	r.recorder.set(func(p *recorder) { p.err = nil })
	if !<-went {
		t.Error("it went without the result")
	}
}

func TestTheLoaderDoesNotStayForEver(t *testing.T) {
	if AwaitFinal(t.Context(), t.TempDir(), time.Millisecond) {
		t.Error("nothing was published")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if AwaitFinal(ctx, t.TempDir(), time.Hour) {
		t.Error("nothing was published")
	}
}
