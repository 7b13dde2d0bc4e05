package run

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// slob executes the statements of the SLOB load. Names of schemas, tables and
// tablespaces stand in the text.
func (d *database) slob(c *conn, name, text string, args []any) ([][]any, error) {
	if c.o.Role == "" && c.o.User != "bench" {
		return d.work(c, name, args)
	}
	if rows, known := d.look(name, args); known {
		return rows, nil
	}
	schema := found(text, `\b(NFSBENCH\d+|USER1)\b`)
	tablespace := found(text, `TABLESPACE (\w+)`)
	table := strings.ToUpper(found(text, `NFSBENCH\d+\.(nfsbench_\w+)`))
	u := d.users[schema]
	switch name {
	case "awr_snapshot", "awr_check":
		if c.o.Role == "" && !slices.Contains(d.rights, "EXECUTE ON DBMS_WORKLOAD_REPOSITORY") {
			return nil, errors.New("ORA-06550: line 4, column 9:\nPLS-00201: identifier 'DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT' must be declared")
		}
	case "slob_tablespace_create":
		d.tablespaces[tablespace] = found(text, `DATAFILE '([^']+)'`)
	case "slob_tablespace_drop":
		delete(d.tablespaces, tablespace)
	case "slob_schema_create":
		if u != nil {
			return nil, errors.New("ORA-01920: user name conflicts with another user or role name")
		}
		d.users[schema] = &user{password: found(text, `IDENTIFIED BY "([^"]+)"`), tables: map[string]*rowsOf{}, quota: found(text, `QUOTA UNLIMITED ON (\w+)`)}
	case "slob_schema_password":
		u.password = found(text, `IDENTIFIED BY "([^"]+)"`)
	case "slob_schema_grant":
		u.granted = true
	case "slob_schema_drop":
		for key, n := range d.sessions {
			if strings.HasPrefix(key, schema+"@") && n > 0 {
				return nil, errors.New("ORA-01940: cannot drop a user that is currently connected")
			}
		}
		delete(d.users, schema)
	case "slob_marker_create":
		if u == nil {
			return nil, errors.New("ORA-01918: user does not exist")
		}
		u.tables["NFSBENCH_MARKER"] = &rowsOf{tablespace: tablespace}
	case "slob_marker_read":
		return u.marker, nil
	case "slob_marker_write":
		u.marker = append(u.marker, args)
	case "slob_marker_delete":
		u.marker = slices.DeleteFunc(u.marker, func(m []any) bool { return m[0] == args[0] })
	default:
		return nil, d.tables(u, name, table, tablespace, args)
	}
	return nil, nil
}

func (d *database) look(name string, args []any) ([][]any, bool) {
	switch name {
	case "slob_tablespace":
		if _, ok := d.tablespaces[args[0].(string)]; ok {
			return [][]any{{args[0], int64(8192)}}, true
		}
		return nil, true
	case "slob_tablespace_files":
		if args[0] == "IOPS" {
			return [][]any{{d.kitFile}}, true
		}
		if file, ok := d.tablespaces[args[0].(string)]; ok {
			return [][]any{{file}}, true
		}
		return nil, true
	case "slob_kit_schemas":
		return d.kitSchemas(), true
	case "slob_logging":
		return d.logging, true
	case "slob_privileges":
		var rows [][]any
		for _, right := range d.rights {
			rows = append(rows, []any{right})
		}
		return rows, true
	case "slob_tablespace_segments":
		n := int64(0)
		for _, u := range d.users {
			for _, t := range u.tables {
				if t.tablespace == args[0] {
					n++
				}
			}
		}
		return [][]any{{n}}, true
	case "slob_schemas":
		var rows [][]any
		for _, name := range slices.Sorted(maps.Keys(d.users)) {
			marked := int64(0)
			if d.users[name].tables["NFSBENCH_MARKER"] != nil {
				marked = 1
			}
			rows = append(rows, []any{name, marked})
		}
		return rows, true
	case "slob_tables":
		var rows [][]any
		for _, t := range slices.Sorted(maps.Keys(d.users[args[0].(string)].tables)) {
			rows = append(rows, []any{t})
		}
		return rows, true
	case "slob_segment":
		t := d.users[args[0].(string)].tables[args[1].(string)]
		blocks := int64(t.rows) + 8
		if d.blocksOf != nil {
			blocks = d.blocksOf(int64(t.rows))
		}
		return [][]any{{blocks * 8192, blocks}}, true
	}
	return nil, false
}

// kitSchemas are rows of a name, how many tables it has, how many of them are CF1, how many
// our marker, and where CF1 is.
func (d *database) kitSchemas() [][]any {
	rows := [][]any{{"USER1", int64(2), int64(1)}, {"USER2", int64(2), int64(1)}, {"USERADMIN", int64(5), int64(0)}}
	if d.kit != nil {
		rows = d.kit()
	}
	if !d.noStatspack {
		rows = append([][]any{{"PERFSTAT", int64(72), int64(0)}}, rows...)
	}
	for i, r := range rows {
		marked := int64(0)
		if u := d.users[r[0].(string)]; u != nil && u.tables["NFSBENCH_MARKER"] != nil {
			marked = 1
		}
		tablespace := any(nil)
		if r[2].(int64) > 0 {
			tablespace = "IOPS"
		}
		rows[i] = append(r[:3:3], marked, tablespace)
	}
	return rows
}

func (d *database) tables(u *user, name, table, tablespace string, args []any) error {
	t := u.tables[table]
	switch name {
	case "slob_table_create":
		if t != nil {
			return errors.New("ORA-00955: name is already used by an existing object")
		}
		if u.quota != tablespace {
			return errors.New("ORA-01950: no privileges on tablespace")
		}
		u.tables[table] = &rowsOf{tablespace: tablespace}
	case "slob_table_minimize":
		t.minimized = t.rows
	case "slob_table_empty":
		t.times, t.rows = nil, 0
	case "slob_table_drop":
		delete(u.tables, table)
	case "slob_load_plain", "slob_load_obfuscated":
		t.obfuscated = name == "slob_load_obfuscated"
		first, step, rows := args[0].(int64), args[1].(int64), args[3].(int64)
		for i := range rows {
			t.add(first+i*step, 1)
		}
	case "slob_index_create":
		for _, n := range u.tables["NFSBENCH_RANGES"].times {
			if n > 1 {
				return errors.New("ORA-01452: cannot CREATE UNIQUE INDEX; duplicate keys found")
			}
		}
		u.index = true
	default:
		return fmt.Errorf("the database in memory has no answer to %s", name)
	}
	return nil
}

// work executes what users do.
func (d *database) work(c *conn, name string, args []any) ([][]any, error) {
	u := d.users[c.o.User]
	switch name {
	case "slob_direct_read_always":
		c.direct = true
	case "slob_random_read":
		if !u.index {
			return nil, errors.New("ORA-01418: specified index does not exist")
		}
		d.ranges = append(d.ranges, fmt.Sprint(args))
		return [][]any{{d.readRange(u, args[0].(int64), args[1].(int64))}}, nil
	case "slob_update_lite", "slob_update_heavy":
		d.readRange(u, args[len(args)-2].(int64), args[len(args)-1].(int64))
		d.writeOps, d.writeBytes = d.writeOps+10, d.writeBytes+10*8192
	case "slob_full_scan":
		event := "db file scattered read"
		if c.direct {
			event = "direct path read"
		}
		n := int64(u.tables["NFSBENCH_SCAN"].rows)
		d.readOps, d.readBytes = d.readOps+n/128, d.readBytes+n*8192
		d.waits[event] += n / 128
		d.waits["db file sequential read"]++ // of the segment's header
		d.micros["db file sequential read"] += 150
		return [][]any{{n}}, nil
	default:
		return nil, fmt.Errorf("ORA-01031: insufficient privileges: a user may not do %s", name)
	}
	return nil, nil
}

func (d *database) readRange(u *user, first, last int64) int64 {
	n := int64(0)
	for _, times := range u.tables["NFSBENCH_RANGES"].times[first : last+1] {
		n += int64(times)
	}
	d.readOps, d.readBytes = d.readOps+n, d.readBytes+n*8192
	d.waits["db file sequential read"] += n
	d.micros["db file sequential read"] += n * 150
	return n
}

func found(text, pattern string) string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}
