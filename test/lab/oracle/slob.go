package oracle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// The tables of a schema of ours.
const (
	tableRanges = "NFSBENCH_RANGES"
	tableScan   = "NFSBENCH_SCAN"
	tableMarker = "NFSBENCH_MARKER"
)

const (
	multiblock = 128 // how many blocks a scan reads at once: 1 MiB
	readAhead  = 2   // how many such reads a scan keeps under way
	mostBatch  = 127 // blocks of one batch of single-block reads
)

// load is one INSERT of a piece of a table. It really writes the blocks.
func (i *Instance) load(ctx context.Context, s *session, q statement) ([]row, error) {
	owner, name, err := tableName(q.text, "INTO")
	if err != nil {
		return nil, err
	}
	var n [4]int64
	for at, bind := range []string{"1", "2", "3", "4"} {
		if n[at], err = q.int(bind); err != nil {
			return nil, err
		}
	}
	p := piece{Key: n[0], Step: max(n[1], 1), Seed: uint64(n[2]), Count: n[3], Generation: 2}
	t, d, err := i.allocate(s, owner, name, &p)
	if err != nil {
		return nil, err
	}
	if err := i.fill(ctx, s.process, d, p.First, p.Count, p.Generation); err != nil {
		return nil, i.extendFailure(ctx, t, d, p, err)
	}
	if err := i.logDirect(ctx, t, p.Count); err != nil {
		return nil, err
	}
	i.stats.add(map[string]int64{"user commits": 1, "session logical reads": p.Count})
	return nil, i.change(ctx, func(*catalog) error {
		t.Pieces = append(t.Pieces, p)
		return nil
	})
}

// allocate gives a piece its blocks, and lets the file grow.
func (i *Instance) allocate(s *session, owner, name string, p *piece) (*table, *datafile, error) {
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	t, err := i.cat.mustTable(s.container, owner, name)
	if err != nil {
		return nil, nil, err
	}
	d := i.cat.datafileNo(t.File)
	grow := max(d.Used+p.Count-d.Blocks, 0)
	if i.free() && grow > 0 && i.cat.userBytes()+grow*blockBytes > freeBytes {
		return nil, nil, errFree
	}
	p.First = d.Used
	d.Used += p.Count
	d.Blocks += grow
	return t, d, nil
}

// extendFailure is the error that a session gets for a file that cannot grow: the reason is in the alert log.
func (i *Instance) extendFailure(ctx context.Context, t *table, d *datafile, p piece, err error) error {
	i.cat.mu.Lock()
	if d.Used == p.First+p.Count {
		d.Used = p.First
	}
	i.cat.mu.Unlock()
	if ctx.Err() == nil && (isNoSpace(err) || errors.Is(err, errFull)) {
		i.alert.linef("ORA-1653: unable to extend table %s.%s by %d in tablespace %s [%s]\n%v", t.Owner, t.Name, multiblock, t.Tablespace, i.cfg.PDB, err)
		return ora(1653, "unable to extend table %s.%s by %d in tablespace %s", t.Owner, t.Name, multiblock, t.Tablespace)
	}
	return cmp.Or(ctx.Err(), err)
}

func (i *Instance) pieces(s *session, owner, name string) (*datafile, []piece, error) {
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	t, err := i.cat.mustTable(s.container, owner, name)
	if err != nil {
		return nil, nil, err
	}
	return i.cat.datafileNo(t.File), append([]piece(nil), t.Pieces...), nil
}

// randomRead counts a range of keys through the index: each row is in its own block, somewhere. The
// first block is read alone. The others are read in batches, as Oracle does since 12.1 (TABLE
// ACCESS BY INDEX ROWID BATCHED), unless the statement or the instance asks for single reads.
func (i *Instance) randomRead(ctx context.Context, s *session, q statement) ([]row, error) {
	first, last, err := q.ints("1", "2")
	if err != nil {
		return nil, err
	}
	if err := i.compute(ctx, last-first+1); err != nil {
		return nil, err
	}
	if !i.batches(q) {
		found, err := i.eachBlock(ctx, s, first, last, func(*datafile, []byte, int64) error { return nil })
		return []row{{"found": found}}, err
	}
	found, err := i.eachBlock(ctx, s, first, first, func(*datafile, []byte, int64) error { return nil })
	if err != nil || first == last {
		return []row{{"found": found}}, err
	}
	d, pieces, err := i.pieces(s, s.user, tableRanges)
	if err != nil {
		return nil, err
	}
	var blocks []int64
	for key := first + 1; key <= last; key++ {
		for _, p := range pieces {
			if block := p.block(key); block >= 0 {
				blocks = append(blocks, block)
			}
		}
	}
	for batch := range slices.Chunk(blocks, mostBatch) {
		if err := s.process.readBatch(ctx, d, batch); err != nil {
			return nil, err
		}
	}
	i.stats.add(map[string]int64{"session logical reads": int64(len(blocks))})
	return []row{{"found": found + int64(len(blocks))}}, nil
}

// batches reports whether a range is read in batches.
func (i *Instance) batches(q statement) bool {
	told := strings.Contains(q.hints, "NO_BATCH_TABLE_ACCESS_BY_ROWID") ||
		i.params.get("_db_file_noncontig_mblock_read_count") == "0"
	return !told || percentOf(i.cfg.Faults.Batches)
}

// eachBlock reads the blocks of a range of keys, one after the other.
func (i *Instance) eachBlock(ctx context.Context, s *session, first, last int64, do func(d *datafile, buf []byte, block int64) error) (int64, error) {
	d, pieces, err := i.pieces(s, s.user, tableRanges)
	if err != nil {
		return 0, err
	}
	buf := s.buffer(blockBytes)
	found := int64(0)
	for key := first; key <= last; key++ {
		for _, p := range pieces {
			block := p.block(key)
			if block < 0 {
				continue
			}
			if _, err := s.process.read(ctx, d, buf, block, eventSingle); err != nil {
				return found, err
			}
			if err := do(d, buf, block); err != nil {
				return found, err
			}
			found++
		}
	}
	i.stats.add(map[string]int64{"session logical reads": found})
	return found, nil
}

// update reads the blocks of a range, writes them with new data, and commits. The binds are the new
// value, once or twice, and then the two keys.
func (i *Instance) update(ctx context.Context, s *session, q statement) ([]row, error) {
	binds := bindNames(q.text)
	first, last, err := q.ints(binds[len(binds)-2], binds[len(binds)-1])
	if err != nil {
		return nil, err
	}
	redo := 512 // of each row: c2 and c20
	if strings.HasSuffix(q.name, "heavy") {
		redo = 6144
	}
	rows, err := i.eachBlock(ctx, s, first, last, func(d *datafile, buf []byte, block int64) error {
		return i.dbwr.write(ctx, d, buf, block, uint64(i.now().UnixMicro())&(1<<39-1)|1<<20)
	})
	if err != nil {
		return nil, err
	}
	return nil, i.commit(ctx, int(rows)*redo)
}

func (i *Instance) commit(ctx context.Context, size int) error {
	if wait := i.cfg.Faults.CheckpointWait; wait > 0 {
		began := i.now()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		i.stats.waited(eventSwitch, i.now().Sub(began))
	}
	began := i.now()
	i.redoLock.Lock()
	defer i.redoLock.Unlock()
	buf := aligned((size + 4096) / 4096 * 4096)
	if i.redoAt+int64(len(buf)) > redoBytes {
		i.redoAt = 0
	}
	at := i.now()
	if err := i.redo.writeAt(ctx, buf, i.redoAt); err != nil {
		return err
	}
	i.redoAt += int64(len(buf))
	i.stats.committed(size, len(buf), i.now().Sub(at), i.now().Sub(began))
	return nil
}

func (i *Instance) fullScan(ctx context.Context, s *session, _ statement) ([]row, error) {
	found, err := i.scan(ctx, s, s.user, tableScan)
	return []row{{"found": found}}, err
}

// scan reads the pieces of a table in multiblock reads.
func (i *Instance) scan(ctx context.Context, s *session, owner, name string) (int64, error) {
	d, pieces, err := i.pieces(s, owner, name)
	if err != nil {
		return 0, err
	}
	parts, rows := multiblocks(pieces)
	event := "db file scattered read"
	// A small table is scanned through the cache.
	if !i.cfg.Faults.BufferedScans && (s.direct || rows*blockBytes > 32<<20) {
		event = eventDirect
	}
	ahead := i.scanAhead(event)
	g, ctx := errgroup.WithContext(ctx)
	memory := s.buffer(readAhead * multiblock * blockBytes)
	var next atomic.Int64
	s.process.ahead = ahead
	for n := range ahead {
		buf := memory[n*multiblock*blockBytes:]
		g.Go(func() error {
			for at := next.Add(1) - 1; at < int64(len(parts)); at = next.Add(1) - 1 {
				if err := i.scanPart(ctx, s, d, buf, parts[at], event); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	i.stats.add(map[string]int64{"session logical reads": rows})
	return rows, nil
}

// scanned is the part of a table that a scan reads at once.
type scanned struct{ block, count int64 }

// multiblocks divides the pieces of a table into the parts that a scan reads at once, and counts its rows.
func multiblocks(pieces []piece) (parts []scanned, rows int64) {
	for _, p := range pieces {
		rows += p.Count
		for at := int64(0); at < p.Count; at += multiblock {
			parts = append(parts, scanned{p.First + at, min(multiblock, p.Count-at)})
		}
	}
	return parts, rows
}

// scanPart reads a part of a table, or only the blocks that the cache lacks.
func (i *Instance) scanPart(ctx context.Context, s *session, d *datafile, buf []byte, p scanned, event string) error {
	runs := []struct{ at, count int64 }{{0, p.count}}
	if event != eventDirect {
		runs = i.missing(d.No, p.block, p.count)
	}
	for _, r := range runs {
		if _, err := s.process.read(ctx, d, buf[:r.count*blockBytes], p.block+r.at, event); err != nil {
			return err
		}
	}
	return i.compute(ctx, p.count)
}

// scanAhead returns how many reads a scan keeps in flight: one without asynchronous I/O.
func (i *Instance) scanAhead(event string) int {
	if event != eventDirect || i.direct == nil && (i.cfg.Faults.NoKernelAIO || i.asynchIO() != "ASYNC_ON") {
		return 1
	}
	return readAhead
}

// buffer is the session's own, at least so large.
func (s *session) buffer(size int) []byte {
	if len(s.memory) < size {
		s.memory = aligned(size)
	}
	return s.memory[:size]
}

func (i *Instance) markerRead(_ context.Context, s *session, q statement) ([]row, error) {
	owner, _, err := tableName(q.text, "FROM")
	if err != nil {
		return nil, err
	}
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	t, err := i.cat.mustTable(s.container, owner, tableMarker)
	if err != nil {
		return nil, err
	}
	rows := []row{}
	for _, values := range t.Marker {
		r := row{}
		for n, column := range markerColumns() {
			r[column] = values[n]
			if f, ok := values[n].(float64); ok { // as JSON reads numbers
				r[column] = int64(f)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func markerColumns() []string {
	return []string{"kind", "model", "scale_bytes", "row_count", "block_size", "obfuscated", "tablespace_name", "tablespace_made"}
}

func (i *Instance) markerWrite(ctx context.Context, s *session, q statement) ([]row, error) {
	var values []any
	for _, bind := range bindNames(q.text) {
		v, _ := q.bind(bind)
		values = append(values, v)
	}
	return nil, i.withTable(ctx, s, q, "INTO", func(_ *catalog, t *table) { t.Marker = append(t.Marker, values) })
}

func (i *Instance) markerDelete(ctx context.Context, s *session, q statement) ([]row, error) {
	return nil, i.withTable(ctx, s, q, "FROM", func(_ *catalog, t *table) {
		t.Marker = slices.DeleteFunc(t.Marker, func(values []any) bool { return values[0] == q.string("1") })
	})
}
