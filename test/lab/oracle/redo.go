package oracle

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// redoGroup is a group of online redo logs with one member.
type redoGroup struct {
	Group  int64  `json:"group"`
	Bytes  int64  `json:"bytes"`
	Status string `json:"status"`
	Member string `json:"member"` // below the data directory, or its whole path
}

// redoVolume is a directory outside of the data directory.
type redoVolume struct {
	volume
	dir string
}

// redoGroups are those of a database that DBCA has made.
func (i *Instance) redoGroups(c *catalog) []redoGroup {
	if len(c.Redo) == 0 {
		for n := range int64(3) {
			status := "UNUSED"
			if n == 1 {
				status = "CURRENT"
			}
			c.Redo = append(c.Redo, redoGroup{n + 1, 200 << 20, status, i.cfg.SID + "/redo0" + strconv.FormatInt(n+1, 10) + ".log"})
		}
	}
	return c.Redo
}

func (i *Instance) redoRows(c *catalog, _ *session, _ statement) []row {
	rows := []row{}
	for _, g := range i.redoGroups(c) {
		rows = append(rows, row{
			"group#": g.Group, "bytes": g.Bytes, "status": g.Status, "member": i.path(g.Member), "dbid": int64(c.DBID),
		})
	}
	return rows
}

func numberIn(text, pattern string) int64 {
	n, _ := strconv.ParseInt(regexp.MustCompile(pattern).FindStringSubmatch(text)[1], 10, 64)
	return n
}

// redoFile opens or makes a redo log.
func (p *process) redoFile(ctx context.Context, member string, missing bool) (blockFile, error) {
	vol, err := p.volume(ctx)
	if err == nil && filepath.IsAbs(member) {
		vol, err = p.redoVolume(ctx, filepath.Dir(member))
		member = filepath.Base(member)
	}
	switch {
	case err != nil:
		return nil, err
	case missing:
		return vol.create(ctx, member)
	default:
		return vol.open(ctx, member)
	}
}

func (p *process) redoVolume(ctx context.Context, dir string) (volume, error) {
	direct, err := p.i.locateRedo(ctx, dir)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.redo {
		if v.dir == dir {
			return v, nil
		}
	}
	v, err := p.i.connectVolume(ctx, p, direct, dir)
	if err == nil {
		p.redo = append(p.redo, redoVolume{v, dir})
	}
	return v, err
}

// locateRedo looks once for the Direct NFS of a directory, where the data has it.
func (i *Instance) locateRedo(ctx context.Context, dir string) (*directNFS, error) {
	i.mu.Lock()
	d, known := i.redoDirect[dir]
	i.mu.Unlock()
	if known || i.direct == nil {
		return d, nil
	}
	d, err := i.locate(ctx, dir)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.redoDirect == nil {
		i.redoDirect = map[string]*directNFS{}
	}
	i.redoDirect[dir] = d
	return d, err
}

// redoServers are the exports of redo logs that Direct NFS uses.
func (i *Instance) redoServers() (all []*directNFS) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, dir := range slices.Sorted(maps.Keys(i.redoDirect)) {
		if d := i.redoDirect[dir]; d != nil {
			all = append(all, d)
		}
	}
	return all
}

func (i *Instance) currentRedo() string {
	for _, g := range i.redoGroups(i.cat) {
		if g.Status == "CURRENT" {
			return g.Member
		}
	}
	return ""
}

// openRedo opens the current redo log, and looks whether the others are there: without one of
// them a database is not opened.
func (i *Instance) openRedo(ctx context.Context) error {
	for _, g := range i.redoGroups(i.cat) {
		f, err := i.dbwr.redoFile(ctx, g.Member, false)
		if err != nil {
			return ora(313, "open failed for members of log group %d of thread 1\nORA-00312: online log %d thread 1: '%s'\n%v",
				g.Group, g.Group, i.path(g.Member), err)
		}
		if g.Status == "CURRENT" {
			i.redo = f
		} else if err := f.close(); err != nil {
			return err
		}
	}
	return nil
}

// redoAdd makes no directory, and with REUSE takes any file but those of this database.
func (i *Instance) redoAdd(ctx context.Context, s *session, q statement) ([]row, error) {
	if s.container != 1 {
		return nil, ora(65040, "operation not allowed from within a pluggable database")
	}
	g := redoGroup{Group: numberIn(q.text, `GROUP (\d+)`), Bytes: numberIn(q.text, `SIZE (\d+)M`) << 20, Status: "UNUSED"}
	file := regexp.MustCompile(`\('([^']+)'\)`).FindStringSubmatch(q.text)[1]
	g.Member = file
	if below, ok := within(i.cfg.Data, file); ok {
		g.Member = below
	}
	if err := i.redoClash(g, file); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return nil, ora(301, "error in adding log file '%s' - file cannot be created\nORA-27040: file create error, unable to "+
			"create file\nLinux-x86_64 Error: 2: No such file or directory", file)
	}
	if _, err := os.Stat(file); err == nil && !strings.Contains(q.text, "REUSE") {
		return nil, ora(301, "error in adding log file '%s' - file cannot be created\nORA-27038: created file already exists", file)
	}
	f, err := s.process.redoFile(ctx, g.Member, true)
	if err != nil {
		return nil, ora(301, "error in adding log file '%s' - file cannot be created\n%v", file, err)
	}
	_ = f.close()
	return nil, i.change(ctx, func(c *catalog) error {
		c.Redo = append(c.Redo, g)
		return nil
	})
}

func (i *Instance) redoClash(g redoGroup, file string) error {
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	for _, o := range i.redoGroups(i.cat) {
		switch {
		case o.Group == g.Group:
			return ora(1184, "logfile group %d already exists", g.Group)
		case o.Member == g.Member:
			return ora(1577, "cannot add log file '%s' - file already part of database", file)
		}
	}
	return nil
}

func (i *Instance) redoDrop(ctx context.Context, _ *session, q statement) ([]row, error) {
	n := numberIn(q.text, `GROUP (\d+)`)
	return nil, i.change(ctx, func(c *catalog) error {
		at := slices.IndexFunc(i.redoGroups(c), func(g redoGroup) bool { return g.Group == n })
		switch {
		case at < 0:
			return ora(1514, "error in log specification: no such log")
		case c.Redo[at].Status == "CURRENT":
			return ora(1623, "log %d is current log for instance %s (thread 1) - cannot drop", n, i.cfg.SID)
		case c.Redo[at].Status == "ACTIVE":
			return ora(1624, "log %d needed for crash recovery of instance %s (thread 1)", n, i.cfg.SID)
		case len(c.Redo) <= 2:
			return ora(1567, "dropping log %d would leave less than 2 log files for instance %s (thread 1)", n, i.cfg.SID)
		}
		c.Redo = slices.Delete(c.Redo, at, at+1)
		return nil
	})
}

// redoSwitch goes on with a group that was never used, or else with the next that is free.
func (i *Instance) redoSwitch(ctx context.Context, _ *session, _ statement) ([]row, error) {
	i.redoLock.Lock()
	defer i.redoLock.Unlock()
	return nil, i.change(ctx, func(c *catalog) error {
		all := i.redoGroups(c)
		next := slices.IndexFunc(all, func(g redoGroup) bool { return g.Status == "UNUSED" })
		if next < 0 {
			next = slices.IndexFunc(all, func(g redoGroup) bool { return g.Status == "INACTIVE" })
		}
		f, err := i.dbwr.redoFile(ctx, all[max(next, 0)].Member, false)
		if err != nil {
			return ora(313, "open failed for members of log group %d of thread 1\n%v", all[max(next, 0)].Group, err)
		}
		_ = i.redo.close()
		i.redo, i.redoAt = f, 0
		for n := range all {
			if all[n].Status == "CURRENT" {
				all[n].Status = "ACTIVE"
			}
		}
		all[max(next, 0)].Status = "CURRENT"
		return nil
	})
}

func (i *Instance) redoCheckpoint(ctx context.Context, _ *session, _ statement) ([]row, error) {
	return nil, i.change(ctx, func(c *catalog) error {
		for n, g := range i.redoGroups(c) {
			if g.Status == "ACTIVE" {
				c.Redo[n].Status = "INACTIVE"
			}
		}
		return nil
	})
}

func (i *Instance) undoFiles(c *catalog, s *session, _ statement) []row {
	f := c.tablespace(s.container, "UNDOTBS")
	return []row{{"file_name": i.path(f.Name), "bytes": f.Blocks * blockBytes}}
}

func (i *Instance) undoResize(ctx context.Context, s *session, q statement) ([]row, error) {
	file := regexp.MustCompile(`'([^']+)'`).FindStringSubmatch(q.text)[1]
	return nil, i.change(ctx, func(c *catalog) error {
		f := first(c.Files, func(f *datafile) bool { return i.path(f.Name) == file && f.Container == s.container })
		if f == nil {
			return ora(1516, "nonexistent log file, data file, or temporary file \"%s\" in the current container", file)
		}
		f.Blocks = numberIn(q.text, `RESIZE (\d+)M`) << 20 / blockBytes
		return nil
	})
}
