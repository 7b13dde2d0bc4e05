package loadgen

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

// A copy that wrote to its own source would measure one file instead of two.
func TestACopyReadsOneFileAndWritesTheSameBlockOfTheOther(t *testing.T) {
	e := hotEngine(t, bench.PatternCopy, 0)
	d := e.drivers[0].ready()
	job := e.workers[0].job
	if job.Main.File == job.Copy.File {
		t.Fatal("the job has one file for both")
	}
	for range 5 {
		io := target.IO{Slot: 0}
		if !d.Next(&io) || io.Write || io.File != job.Main.File {
			t.Fatalf("the first half is %+v, want a read of the main file", io)
		}
		read := io.Offset
		d.Done(&io)
		io = target.IO{Slot: 0}
		if !d.Next(&io) || !io.Write || io.File != job.Copy.File || io.Offset != read {
			t.Fatalf("the second half is %+v, want a write of the copy at %d", io, read)
		}
		d.Done(&io)
	}
}
