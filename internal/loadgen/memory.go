package loadgen

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// mostMemoryBytes bounds the memory of a load: more is a typing error, not a load.
	mostMemoryBytes = 32 << 30
	// programBytes is the memory of the program without the rest: 10 to 15 MiB were measured.
	programBytes = 16 << 20
	// connectionBytes is the size of the buffers of one connection in package nfs/stream, for receiving and
	// sending: 384 KiB, and more at both ends while the client measures its own limit without the storage.
	connectionBytes = 2 << 20
)

// need is the memory of a load in one client, in bytes; docs/performance.md has the same sum. It excludes the
// kernel's socket buffers.
type need struct {
	buffers     int64 // of the operations that may be outstanding
	reading     int64 // buffers to read the data back
	state       int64 // of the blocks
	connections int64
	path        string // of the workload in a plan
}

// needOf returns the memory that the load of a plan needs.
func needOf(p *runfile.Plan) need {
	files := filesetOf(p, 0)
	n := need{
		state: files.StateBytes(), reading: fileset.ReadingBytes(files.BlockSizeBytes),
		path: strings.TrimSuffix(p.Files().Field, ".nativeFiles"),
	}
	var streams int
	if raw := p.Workload.Raw; raw != nil {
		streams = int(raw.Jobs)
		n.buffers = int64(raw.Jobs) * int64(raw.Depth) * raw.BlockBytes()
	} else {
		u := newUsers(p)
		streams = u.streams()
		n.buffers = int64(u.wide)*u.large + int64(u.most-u.wide)*u.small
	}
	if p.Engine.Client == bench.ClientDirectNFS {
		n.connections = int64(streams) * int64(len(p.Engine.Channels)) * connectionBytes
	}
	return n
}

func (n need) total() int64 { return programBytes + n.buffers + n.reading + n.state + n.connections }

// check returns an error for a load that needs more than limit bytes. of names the limit and how to raise it.
func (n need) check(limit int64, of string) error {
	if n.total() <= limit {
		return nil
	}
	lower := "lower the number of outstanding operations (jobs, depth, users, readAhead, physicalDisks), or their size"
	if n.state > n.buffers {
		lower = "make the files smaller or the blocks larger"
	}
	return fmt.Errorf("%s: the load needs %d bytes of memory (buffers of I/Os %d, state of all blocks %d, buffers to "+
		"read back %d, connections %d, program %d), and %s is %d: %s",
		n.path, n.total(), n.buffers, n.state, n.reading, n.connections, int64(programBytes), of, limit, lower)
}
