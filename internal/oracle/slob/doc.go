// Package slob makes schemas of the SLOB model and puts load on them. The model
// is that of Kevin Closson's SLOB; the code is not.
//
// Each schema has a table of ranges, NFSBENCH_RANGES, with an index on its key,
// or a table to scan, NFSBENCH_SCAN, or both: whatever the access needs. A row
// fills a block, because PCTFREE 99 leaves no room for a second. Neighbouring
// keys are in blocks far apart: a table is loaded in pieces, piece i of n takes
// the keys i, i+n, i+2n, ..., and within a piece rows are ordered by a hash of
// the key. So a statement on WORK_UNIT keys visits as many blocks at random.
//
// A schema is ours if it has the table NFSBENCH_MARKER, which also says what was
// loaded completely, for the next run. All others are left alone.
package slob
