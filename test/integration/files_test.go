package integration

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestFilesThatTheLoaderCouldNotRemoveAreRemovedByAJob(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]bool{"Removed": false, "Left": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.started()
			w.progress(b, 0, at(runfile.SpanFill, 10))
			failed := gen.FailedClient(0, runfile.FailureUnreachable, "no path answers")
			for _, kind := range []string{runfile.SpanFill, runfile.SpanClean} {
				failed.Load.Spans = append(failed.Load.Spans, runfile.Span{Kind: kind, Start: w.clock.Now(), End: w.clock.Now()})
			}
			failed.Load.FilesLeft = left
			w.final(b, failed)
			w.settle("demo")
			w.collectGarbage()
			w.settle("demo")
			if got := w.find(manifest.NamesOf(b).Clean, &batchv1.Job{}); got != left {
				t.Errorf("a Job to remove files: %v; files are left: %v", got, left)
			}
		})
	}
}
