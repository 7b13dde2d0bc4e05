package slob

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Model is the version of the tables; schemas of another are loaded again.
const Model = 1

// pieceRows is how many rows one statement loads: 32 MiB of 8 KiB blocks.
const pieceRows = 4096

// The kinds of lines in a marker.
const (
	kindSchema = "Schema"
	kindRanges = "Ranges"
	kindScan   = "Scan"
)

// Spec says which schemas there must be, with what in them.
type Spec struct {
	SLOB       runfile.SLOB
	BlockBytes int64  // db_block_size; the tablespace's own counts where it has another
	Seed       uint64 // of the data
}

// SchemaName is that of the schema with this index, from 0.
func SchemaName(index int) string { return fmt.Sprintf("NFSBENCH%d", index+1) }

// table is what the access needs in each schema.
type table struct {
	kind  string
	name  string
	bytes int64 // as asked for
	rows  int64
}

func (s Spec) table() table {
	t := table{kind: kindRanges, name: "nfsbench_ranges", bytes: s.SLOB.ScaleBytes}
	if s.SLOB.Access == runfile.AccessFullTableScan {
		t = table{kind: kindScan, name: "nfsbench_scan", bytes: s.SLOB.ScanTableBytes}
	}
	t.rows = max(1, t.bytes/s.BlockBytes)
	return t
}

// piece is what one statement loads.
type piece struct{ first, step, rows int64 }

// pieces cuts a table: together they have every key from 1 to rows once.
func (t table) pieces() []piece {
	n := (t.rows + pieceRows - 1) / pieceRows
	out := make([]piece, 0, n)
	for first := int64(1); first <= n; first++ {
		out = append(out, piece{first: first, step: n, rows: (t.rows-first)/n + 1})
	}
	return out
}
