package oracle

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func tableName(text, keyword string) (owner, name string, err error) {
	m := regexp.MustCompile(`(?i)` + keyword + ` (\w[\w$#]*)\.(\w[\w$#]*)`).FindStringSubmatch(text)
	if m == nil {
		return "", "", ora(903, "invalid table name")
	}
	return strings.ToUpper(m[1]), strings.ToUpper(m[2]), nil
}

// word reads the identifier behind a keyword, in upper case; "" where there is none.
func word(text, keyword string) string {
	m := regexp.MustCompile(`(?i)` + keyword + ` (\w[\w$#]*)`).FindStringSubmatch(text)
	return strings.ToUpper(strings.Join(m[min(1, len(m)):], ""))
}

func (i *Instance) change(ctx context.Context, do func(*catalog) error) error {
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	if err := do(i.cat); err != nil {
		return err
	}
	return i.saveCatalog(ctx)
}

func passwordOf(text string) (string, error) {
	if m := regexp.MustCompile(`(?i)IDENTIFIED BY "([^"]+)"`).FindStringSubmatch(text); m != nil {
		return m[1], nil
	}
	return "", ora(988, "missing or invalid password(s)")
}

func (i *Instance) userCreate(ctx context.Context, s *session, q statement) ([]row, error) {
	name, tablespace := word(q.text, "CREATE USER"), word(q.text, "DEFAULT TABLESPACE")
	password, err := passwordOf(q.text)
	if err != nil {
		return nil, err
	}
	if s.container == 1 && !strings.HasPrefix(name, "C##") {
		return nil, ora(65096, "invalid common user or role name")
	}
	return nil, i.change(ctx, func(c *catalog) error {
		key := i.userKey(s.container, name)
		if _, taken := c.Users[key]; taken {
			return ora(1920, "user name '%s' conflicts with another user or role name", name)
		}
		if c.tablespace(s.container, tablespace) == nil {
			return ora(959, "tablespace '%s' does not exist", tablespace)
		}
		c.Users[key] = password
		return nil
	})
}

func (i *Instance) userPassword(ctx context.Context, s *session, q statement) ([]row, error) {
	password, err := passwordOf(q.text)
	if err != nil {
		return nil, err
	}
	return nil, i.changeUser(ctx, s, word(q.text, "ALTER USER"), func(c *catalog, key string) { c.Users[key] = password })
}

func (i *Instance) userGrant(ctx context.Context, s *session, q statement) ([]row, error) {
	return nil, i.changeUser(ctx, s, word(q.text, "TO"), func(*catalog, string) {})
}

func (i *Instance) userDrop(ctx context.Context, s *session, q statement) ([]row, error) {
	name := word(q.text, "DROP USER")
	i.mu.Lock()
	connected := false
	for other := range i.sessions {
		connected = connected || other.process != nil && other.user == name
	}
	i.mu.Unlock()
	if connected {
		return nil, ora(1940, "cannot drop a user that is currently connected")
	}
	return nil, i.changeUser(ctx, s, name, func(c *catalog, key string) {
		delete(c.Users, key)
		c.Tables = slices.DeleteFunc(c.Tables, func(t *table) bool { return t.Container == s.container && t.Owner == name })
		c.shrink()
	})
}

func (i *Instance) changeUser(ctx context.Context, s *session, name string, do func(c *catalog, key string)) error {
	return i.change(ctx, func(c *catalog) error {
		key := i.userKey(s.container, name)
		if _, known := c.Users[key]; !known {
			return ora(1918, "user '%s' does not exist", name)
		}
		do(c, key)
		return nil
	})
}

func (i *Instance) schemas(c *catalog, s *session, _ statement) []row {
	rows := []row{}
	for key := range c.Users {
		name := strings.TrimPrefix(key, i.cfg.PDB+".")
		if !strings.HasPrefix(name, "NFSBENCH") || i.userKey(s.container, name) != key {
			continue
		}
		marked := int64(0)
		if c.table(s.container, name, tableMarker) != nil {
			marked = 1
		}
		rows = append(rows, row{"username": name, "marked": marked})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a["username"].(string), b["username"].(string)) })
	return rows
}

func (i *Instance) tableCreate(ctx context.Context, s *session, q statement) ([]row, error) {
	owner, name, err := tableName(q.text, "CREATE TABLE")
	if err != nil {
		return nil, err
	}
	tablespace := word(q.text, "TABLESPACE")
	return nil, i.change(ctx, func(c *catalog) error {
		if _, known := c.Users[i.userKey(s.container, owner)]; !known {
			return ora(1918, "user '%s' does not exist", owner)
		}
		if c.table(s.container, owner, name) != nil {
			return ora(955, "name is already used by an existing object")
		}
		file := c.tablespace(s.container, tablespace)
		if file == nil {
			return ora(959, "tablespace '%s' does not exist", tablespace)
		}
		c.Tables = append(c.Tables, &table{Owner: owner, Container: s.container, Name: name, Tablespace: tablespace, File: file.No, Logging: logs(q.text)})
		return nil
	})
}

// withTable changes a table that must be there, the one behind a keyword.
func (i *Instance) withTable(ctx context.Context, s *session, q statement, keyword string, do func(*catalog, *table)) error {
	owner, name, err := tableName(q.text, keyword)
	if err != nil {
		return err
	}
	return i.change(ctx, func(c *catalog) error {
		t, err := c.mustTable(s.container, owner, name)
		if err == nil {
			do(c, t)
		}
		return err
	})
}

// onTable is a handler that changes the table behind a keyword.
func (i *Instance) onTable(keyword string, do func(*catalog, *table)) handler {
	return func(ctx context.Context, s *session, q statement) ([]row, error) {
		return nil, i.withTable(ctx, s, q, keyword, do)
	}
}

func (c *catalog) drop(t *table) {
	c.Tables = slices.DeleteFunc(c.Tables, func(x *table) bool { return x == t })
	c.shrink()
}

func (c *catalog) truncate(t *table) {
	t.Pieces = nil
	c.shrink()
}

// indexCreate scans the table, as making an index does.
func (i *Instance) indexCreate(ctx context.Context, s *session, q statement) ([]row, error) {
	owner, name, err := tableName(q.text[strings.Index(strings.ToUpper(q.text), " ON ")+1:], "ON")
	if err != nil {
		return nil, err
	}
	_, err = i.scan(ctx, s, owner, name)
	return nil, err
}

// shrink gives blocks behind the last table back to their file.
func (c *catalog) shrink() {
	for _, f := range c.Files {
		used := int64(0)
		for _, t := range c.Tables {
			for _, p := range t.Pieces {
				if t.File == f.No {
					used = max(used, p.First+p.Count)
				}
			}
		}
		if f.No >= firstUserFile {
			f.Used = used
		}
	}
}

// firstUserFile is the first number of a file that is not of the database itself.
const firstUserFile = 20

func (i *Instance) tablespaceCreate(ctx context.Context, s *session, q statement) ([]row, error) {
	m := regexp.MustCompile(`(?i)^CREATE BIGFILE TABLESPACE (\w+) DATAFILE '([^']+)' SIZE (\d+)M`).FindStringSubmatch(q.text)
	if m == nil {
		return nil, ora(2180, "invalid option for CREATE TABLESPACE")
	}
	megabytes, err := strconv.ParseInt(m[3], 10, 40)
	if err != nil {
		return nil, ora(2180, "invalid option for CREATE TABLESPACE")
	}
	name, file := strings.ToUpper(m[1]), m[2]
	below, err := filepath.Rel(i.cfg.Data, file)
	if err != nil || strings.HasPrefix(below, "..") {
		return nil, ora(1119, "error in creating database file '%s'\nORA-27040: file create error, unable to create file", file)
	}
	d := &datafile{No: firstUserFile, Name: below, Tablespace: name, Container: s.container}
	d.Formatted = max(megabytes<<20/blockBytes, 128)
	d.Blocks = d.Formatted
	i.cat.mu.Lock()
	taken := i.cat.tablespace(s.container, name) != nil
	for i.cat.datafileNo(d.No) != nil {
		d.No++
	}
	over := i.free() && i.cat.userBytes()+d.Blocks*blockBytes > freeBytes
	i.cat.mu.Unlock()
	switch {
	case taken:
		return nil, ora(1543, "tablespace '%s' already exists", name)
	case over:
		return nil, errFree
	}
	return nil, i.makeFile(ctx, s, d)
}

// freeBytes is what Oracle Free takes of user data.
const freeBytes = 12 << 30

var errFree = ora(12954, "The request exceeds the maximum allowed database size of 12 GB.") //nolint:gochecknoglobals // never changed

func (i *Instance) free() bool { return strings.EqualFold(i.cfg.Edition, EditionFree) }

// makeFile writes a datafile and puts it into the catalog; what could not be
// written whole is taken away.
func (i *Instance) makeFile(ctx context.Context, s *session, d *datafile) error {
	vol, err := s.process.volume(ctx)
	if err != nil {
		return err
	}
	f, err := vol.create(ctx, d.Name)
	if err != nil {
		return i.createFailure(d.Name, err)
	}
	_ = f.close()
	if err := i.fill(ctx, s.process, d, 0, d.Blocks, 1); err != nil {
		s.process.forget(d.No)
		_ = vol.remove(context.WithoutCancel(ctx), d.Name)
		return cmp.Or(ctx.Err(), i.createFailure(d.Name, err))
	}
	return i.change(ctx, func(c *catalog) error {
		c.Files = append(c.Files, d)
		return nil
	})
}

func (i *Instance) tablespaceDrop(ctx context.Context, s *session, q statement) ([]row, error) {
	name := word(q.text, "DROP TABLESPACE")
	var gone *datafile
	err := i.change(ctx, func(c *catalog) error {
		if gone = c.tablespace(s.container, name); gone == nil {
			return ora(959, "tablespace '%s' does not exist", name)
		}
		if gone.No < firstUserFile {
			return ora(1550, "cannot drop system tablespace")
		}
		c.Files = slices.DeleteFunc(c.Files, func(f *datafile) bool { return f == gone })
		c.Tables = slices.DeleteFunc(c.Tables, func(t *table) bool { return t.File == gone.No })
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range i.eachProcess() {
		p.forget(gone.No)
	}
	vol, err := s.process.volume(ctx)
	if err != nil {
		return nil, err
	}
	return nil, vol.remove(ctx, gone.Name)
}

func tablespaceRow(c *catalog, s *session, q statement) []row {
	if f := c.tablespace(s.container, q.string("1")); f != nil {
		return []row{{"tablespace_name": f.Tablespace, "block_size": int64(blockBytes)}}
	}
	return nil
}

func tablespaceSegments(c *catalog, s *session, q statement) []row {
	n := int64(0)
	for _, t := range c.Tables {
		if t.Container == s.container && strings.EqualFold(t.Tablespace, q.string("1")) {
			n++
		}
	}
	return []row{{"segments": n}}
}

func segment(c *catalog, s *session, q statement) []row {
	t := c.table(s.container, q.string("1"), q.string("2"))
	if t == nil {
		return nil
	}
	return []row{{"bytes": t.blocks() * blockBytes, "blocks": t.blocks()}}
}

func tables(c *catalog, s *session, q statement) []row {
	rows := []row{}
	for _, t := range c.Tables {
		if t.Container == s.container && t.Owner == strings.ToUpper(q.string("1")) {
			rows = append(rows, row{"table_name": t.Name})
		}
	}
	return rows
}
