package runfile

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// rawLoad is a raw load: jobs of its own, without a database.
type rawLoad struct{ bench.RawWorkload }

func (r rawLoad) words(name string) []string {
	words := []string{name + " " + human.Size(r.BlockBytes())}
	if reads := bench.OrZero(r.ReadPercent); reads > 0 {
		words = append(words, fmt.Sprintf("%d %% reads", reads))
	}
	words = append(words, fmt.Sprintf("%s x depth %d", human.Count(r.Jobs, "job"), r.Depth))
	if rate := bench.OrZero(r.OperationsPerSecond); rate > 0 {
		words = append(words, fmt.Sprintf("paced at %d/s", rate))
	}
	return words
}

func (r rawLoad) on(p Plan) []string { return []string{"files of " + human.Size(p.Files().SizeBytes)} }

func (r rawLoad) files(f *Files, _ Plan) {
	f.Count, f.SizeBytes, f.BlockSizeBytes, f.LoadBytes = r.Jobs, r.FileSize.Value(), r.BlockBytes(), r.BlockBytes()
	f.Copy = r.Pattern == bench.PatternCopy
	f.Writes = r.Pattern != bench.PatternRead && r.Pattern != bench.PatternRandomRead
	f.SizeField = "workload.raw.fileSize"
	f.native("workload.raw", bench.NativeFiles{Directory: r.Directory, ForeignFiles: r.ForeignFiles, Verify: r.Verify})
}

func (r rawLoad) steps(p Plan) Steps { return p.rounds(1, p.Schedule.loaded()) }

func (r rawLoad) level(_ Plan, index int32) (repetition int32, words string) { return index, "" }

func (r rawLoad) check(c *checker, p Plan) {
	const at = "workload.raw"
	c.blockSize(at+".blockSize", r.BlockBytes())
	c.files(at+".fileSize", r.FileSize.Value(), r.BlockBytes())
	most := maxInFlightBytes / max(r.BlockBytes(), 1)
	c.check(int64(r.Jobs)*int64(r.Depth) <= most, at+".depth",
		"jobs x depth are %d buffers of blockSize, more than %d bytes; write at most %d of them",
		int64(r.Jobs)*int64(r.Depth), int64(maxInFlightBytes), most)
	mixed := r.Pattern == bench.PatternMixed || r.Pattern == bench.PatternRandomMixed
	c.check(mixed == (r.ReadPercent != nil), at+".readPercent",
		"is the share of reads of %s and %s: give it with them, and with no other pattern", bench.PatternMixed,
		bench.PatternRandomMixed)
	if r.Capacity != nil {
		c.capacity(at+".capacity", r.Capacity)
		c.check(r.OperationsPerSecond == nil, at+".operationsPerSecond",
			"is set, but capacity chooses the rates itself; remove one of them")
		c.check(r.Pattern != bench.PatternCopy, at+".pattern", "is %s, which has no rate of its own; use %s with capacity",
			r.Pattern, bench.PatternMixed)
	}
	c.check(p.Database == nil, "database",
		"is set, but workload.raw is a load without a database; remove it, or give calibrate or slob")
}
