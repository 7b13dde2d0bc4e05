package oracle

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const blockBytes = 8192 // db_block_size

// catalog is what the control file and the data dictionary know. The control
// file holds it, and is written whenever it changes.
type catalog struct {
	DBID uint32 `json:"dbid"`
	SID  string `json:"sid"`
	// Created is when the database was made.
	Created time.Time   `json:"created"`
	Files   []*datafile `json:"files"`
	Tables  []*table    `json:"tables,omitempty"`
	// Users have their passwords, by name in upper case; those of a pluggable
	// database have it before them: FREEPDB1.NAME.
	Users     map[string]string `json:"users"`
	Calibrate *calibrated       `json:"calibrate,omitempty"`
	Redo      []redoGroup       `json:"redo,omitempty"`

	mu sync.Mutex
}

type datafile struct {
	No         int64  `json:"no"`
	Name       string `json:"name"` // below the data directory
	Tablespace string `json:"tablespace"`
	Container  int64  `json:"container"` // CON_ID
	Formatted  int64  `json:"formatted"` // blocks written when the file was made
	Blocks     int64  `json:"blocks"`    // size
	Used       int64  `json:"used"`      // blocks given to tables
}

// table is a table with one row in each block.
type table struct {
	Owner      string  `json:"owner"`
	Container  int64   `json:"container"`
	Name       string  `json:"name"`
	Tablespace string  `json:"tablespace"`
	File       int64   `json:"file"`
	Pieces     []piece `json:"pieces,omitempty"`
	Logging    bool    `json:"logging,omitempty"`
	// Marker are the rows of a table that is no load.
	Marker [][]any `json:"marker,omitempty"`
}

// piece is what one INSERT loaded: blocks in one place, keys in no order.
type piece struct {
	First      int64  `json:"first"` // block
	Count      int64  `json:"count"` // rows, of one block each
	Key        int64  `json:"key"`   // the first
	Step       int64  `json:"step"`
	Seed       uint64 `json:"seed"`
	Generation uint64 `json:"generation"`
}

// block is where the row of a key is, or -1. Rows are shuffled: multiplication by what
// has no divisor in common with the count hits each place once.
func (p piece) block(key int64) int64 {
	n := key - p.Key
	if n < 0 || n%p.Step != 0 || n/p.Step >= p.Count {
		return -1
	}
	count := uint64(p.Count)
	by := count*618/1000 | 1
	for !coprime(by, count) {
		by += 2
	}
	return p.First + int64((uint64(n/p.Step)*by+p.Seed%count)%count)
}

func coprime(a, b uint64) bool {
	for b != 0 {
		a, b = b, a%b
	}
	return a == 1
}

func (t *table) blocks() int64 {
	var n int64
	for _, p := range t.Pieces {
		n += p.Count
	}
	return n
}

func newCatalog(cfg Config, id uint32) *catalog {
	c := &catalog{DBID: id, SID: cfg.SID, Users: map[string]string{}}
	for _, name := range []string{"SYS", "SYSTEM", "PDBADMIN"} {
		c.Users[name] = cfg.Password
	}
	add := func(no, container, mebibytes int64, folder, tablespace string) {
		blocks := max(mebibytes<<20*int64(cfg.DatafilePercent)/100/blockBytes, 128)
		c.Files = append(c.Files, &datafile{
			No: no, Container: container, Tablespace: tablespace, Formatted: blocks, Blocks: blocks, Used: blocks,
			Name: path.Join(cfg.SID, folder, strings.ToLower(tablespace)+"01.dbf"),
		})
	}
	for _, f := range []struct {
		no, mebibytes int64
		tablespace    string
	}{{1, 32, "SYSTEM"}, {3, 32, "SYSAUX"}, {4, 16, "UNDOTBS"}, {7, 8, "USERS"}} {
		add(f.no, 1, f.mebibytes, "", f.tablespace)
		add(f.no+8, 3, f.mebibytes*3/4, cfg.PDB, f.tablespace)
	}
	slices.SortFunc(c.Files, func(a, b *datafile) int { return int(a.No - b.No) })
	return c
}

func control(sid string) string { return path.Join(sid, "control01.ctl") }

// A control file begins with two blocks, as one of Oracle. The second has the DBID where others look
// for it. What the stand-in keeps comes after them.
const (
	controlBlock = 16 << 10
	controlText  = 2 * controlBlock
	controlBytes = 1 << 20
)

// newControl is a control file that is empty but for its header.
func (c *catalog) newControl() []byte {
	buf := aligned(controlText + controlBytes)
	header := buf[controlBlock:]
	header[0] = 0x15                             // a block of a control file
	binary.LittleEndian.PutUint32(header[4:], 1) // its number
	binary.LittleEndian.PutUint32(header[28:], c.DBID)
	return buf
}

func (c *catalog) save(ctx context.Context, f blockFile) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	buf := aligned(controlBytes)
	if len(text)+8 > len(buf) {
		return fmt.Errorf("control file: %d bytes do not fit", len(text))
	}
	binary.LittleEndian.PutUint32(buf, uint32(len(text)))
	binary.LittleEndian.PutUint32(buf[4:], crc32.ChecksumIEEE(text))
	copy(buf[8:], text)
	used := (len(text) + 8 + blockBytes - 1) / blockBytes * blockBytes
	return f.writeAt(ctx, buf[:used], controlText)
}

func readCatalog(ctx context.Context, f blockFile) (*catalog, error) {
	buf := aligned(controlBytes)
	if err := f.readAt(ctx, buf, controlText); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(buf)
	if n > controlBytes-8 || crc32.ChecksumIEEE(buf[8:8+n]) != binary.LittleEndian.Uint32(buf[4:]) {
		return nil, ora(227, "corrupt block detected in control file: (block 1, # blocks 1)")
	}
	c := &catalog{}
	return c, json.Unmarshal(buf[8:8+n], c)
}

func (c *catalog) datafileNo(no int64) *datafile {
	return first(c.Files, func(f *datafile) bool { return f.No == no })
}

func (c *catalog) tablespace(container int64, name string) *datafile {
	return first(c.Files, func(f *datafile) bool { return f.Tablespace == strings.ToUpper(name) && f.Container == container })
}

// table finds a table; nil where there is none.
func (c *catalog) table(container int64, owner, name string) *table {
	owner, name = strings.ToUpper(owner), strings.ToUpper(name)
	return first(c.Tables, func(t *table) bool { return t.Container == container && t.Owner == owner && t.Name == name })
}

func first[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// mustTable finds a table, or says in Oracle's words that there is none.
func (c *catalog) mustTable(container int64, owner, name string) (*table, error) {
	if t := c.table(container, owner, name); t != nil {
		return t, nil
	}
	return nil, ora(942, "table or view \"%s\".\"%s\" does not exist", owner, name)
}

// userBytes are what Oracle Free limits: all datafiles of users.
func (c *catalog) userBytes() int64 {
	var n int64
	for _, f := range c.Files {
		n += f.Blocks * blockBytes
	}
	return n
}

// places is a part of a datafile that is full of data: so many places where a
// read of some size may begin.
type places struct {
	file          *datafile
	first, places int64
}

// readable are the parts of all datafiles in which reads of so many blocks fit.
func (c *catalog) readable(blocks int64) []places {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []places
	add := func(f *datafile, first, count int64) {
		if count >= blocks {
			all = append(all, places{f, first, count - blocks + 1})
		}
	}
	for _, f := range c.Files {
		add(f, 0, f.Formatted)
	}
	for _, t := range c.Tables {
		for _, p := range t.Pieces {
			if f := c.datafileNo(t.File); f != nil && p.First >= f.Formatted {
				add(f, p.First, p.Count)
			}
		}
	}
	return all
}
