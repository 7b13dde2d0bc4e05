package oracle

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// redoGroup is a group of online redo logs with one member. What sessions write goes to the
// one file of the instance all the same.
type redoGroup struct {
	Group  int64  `json:"group"`
	Bytes  int64  `json:"bytes"`
	Status string `json:"status"`
	Member string `json:"member"` // below the data directory
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
		rows = append(rows, row{"group#": g.Group, "bytes": g.Bytes, "status": g.Status, "member": i.path(g.Member)})
	}
	return rows
}

func numberIn(text, pattern string) int64 {
	n, _ := strconv.ParseInt(regexp.MustCompile(pattern).FindStringSubmatch(text)[1], 10, 64)
	return n
}

func (i *Instance) redoAdd(ctx context.Context, s *session, q statement) ([]row, error) {
	if s.container != 1 {
		return nil, ora(65040, "operation not allowed from within a pluggable database")
	}
	g := redoGroup{Group: numberIn(q.text, `GROUP (\d+)`), Bytes: numberIn(q.text, `SIZE (\d+)M`) << 20, Status: "UNUSED"}
	file := regexp.MustCompile(`\('([^']+)'\)`).FindStringSubmatch(q.text)[1]
	var err error
	if g.Member, err = filepath.Rel(i.cfg.Data, file); err != nil {
		return nil, ora(301, "error in adding log file '%s' - file cannot be created", file)
	}
	vol, err := s.process.volume(ctx)
	if err != nil {
		return nil, err
	}
	f, err := vol.create(ctx, g.Member)
	if err != nil {
		return nil, ora(301, "error in adding log file '%s' - file cannot be created\n%v", file, err)
	}
	_ = f.close()
	return nil, i.change(ctx, func(c *catalog) error {
		if slices.ContainsFunc(i.redoGroups(c), func(o redoGroup) bool { return o.Group == g.Group }) {
			return ora(1184, "logfile group %d already exists", g.Group)
		}
		c.Redo = append(c.Redo, g)
		return nil
	})
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
	return nil, i.change(ctx, func(c *catalog) error {
		all := i.redoGroups(c)
		next := slices.IndexFunc(all, func(g redoGroup) bool { return g.Status == "UNUSED" })
		if next < 0 {
			next = slices.IndexFunc(all, func(g redoGroup) bool { return g.Status == "INACTIVE" })
		}
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
