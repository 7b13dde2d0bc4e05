package oracle

import (
	"context"
	"slices"
	"strings"
)

// Owners says how a database of somebody else is: what makes loading it dear, and what
// SYSTEM, who is no SYSDBA here, may not do. The zero value is a database of ours.
type Owners struct {
	// ForceLogging is the view that says YES: V$DATABASE, DBA_PDBS or DBA_TABLESPACES.
	ForceLogging string
	Archivelog   bool
	Withheld     []string // privileges that SYSTEM does not have
}

// statementRights are the privileges that statements need, where the user is not SYSDBA.
func statementRights() map[string]string {
	return map[string]string{
		"slob_schema_create": "CREATE USER", "slob_schema_password": "ALTER USER", "slob_schema_drop": "DROP USER",
		"slob_schema_grant": "GRANT ANY PRIVILEGE", "slob_marker_create": "CREATE ANY TABLE", "slob_table_create": "CREATE ANY TABLE",
		"slob_marker_delete": "DELETE ANY TABLE", "slob_marker_read": "SELECT ANY TABLE", "slob_marker_write": "INSERT ANY TABLE",
		"slob_load_plain": "INSERT ANY TABLE", "slob_load_obfuscated": "INSERT ANY TABLE", "slob_table_minimize": "ALTER ANY TABLE",
		"slob_table_empty": "DROP ANY TABLE", "slob_table_drop": "DROP ANY TABLE", "slob_index_create": "CREATE ANY INDEX",
		"slob_tablespace_create": "CREATE TABLESPACE", "slob_tablespace_drop": "DROP TABLESPACE",
	}
}

// permits says whether the session may execute a statement.
func (s *session) permits(name string) bool {
	right, needed := statementRights()[name]
	return s.dba || !needed || !slices.Contains(s.i.cfg.Owners.Withheld, right)
}

// privileges is SESSION_PRIVS and SESSION_ROLES. SYSTEM has the role DBA.
func (i *Instance) privileges(_ context.Context, s *session, _ statement) ([]row, error) {
	rows := []row{{"name": "CREATE SESSION"}}
	if !s.dba && s.user != "SYSTEM" {
		return rows, nil
	}
	all := []string{"SELECT ANY DICTIONARY", "DBA"}
	for _, right := range statementRights() {
		all = append(all, right)
	}
	slices.Sort(all)
	for _, right := range slices.Compact(all) {
		if s.dba || !slices.Contains(i.cfg.Owners.Withheld, right) {
			rows = append(rows, row{"name": right})
		}
	}
	return rows, nil
}

// logging is whether redo is forced, and kept.
func (i *Instance) logging(c *catalog, s *session, q statement) []row {
	yes := func(place string) string {
		if i.cfg.Owners.ForceLogging == place {
			return "YES"
		}
		return "NO"
	}
	mode := "NOARCHIVELOG"
	if i.cfg.Owners.Archivelog {
		mode = "ARCHIVELOG"
	}
	rows := []row{{"place": "V$DATABASE", "force_logging": yes("V$DATABASE"), "log_mode": mode}}
	if s.container != 1 {
		rows = append(rows, row{"place": "DBA_PDBS", "force_logging": yes("DBA_PDBS"), "log_mode": nil})
	}
	if c.tablespace(s.container, q.string("1")) != nil {
		rows = append(rows, row{"place": "DBA_TABLESPACES", "force_logging": yes("DBA_TABLESPACES"), "log_mode": nil})
	}
	return rows
}

// logDirect writes the redo of a direct load: none of a table without logging, or of a
// database that keeps no redo, unless it is forced.
func (i *Instance) logDirect(ctx context.Context, t *table, blocks int64) error {
	o := i.cfg.Owners
	if o.ForceLogging == "" && (!t.Logging || !o.Archivelog) {
		return nil
	}
	const most = 128
	for left := blocks; left > 0; left -= most {
		if err := i.commit(ctx, int(min(left, most))*blockBytes); err != nil {
			return err
		}
	}
	return nil
}

// logs reads the logging clause of CREATE TABLE.
func logs(text string) bool { return !strings.Contains(strings.ToUpper(text), " NOLOGGING ") }

func (i *Instance) tablespaceFiles(c *catalog, s *session, q statement) []row {
	if f := c.tablespace(s.container, q.string("1")); f != nil {
		return []row{{"file_name": i.path(f.Name)}}
	}
	return nil
}

// kitSchemas are users with the names that the kit's setup.sh gives, and PERFSTAT.
func (i *Instance) kitSchemas(c *catalog, s *session, _ statement) []row {
	rows := []row{}
	for key := range c.Users {
		name := strings.TrimPrefix(key, i.cfg.PDB+".")
		if !strings.HasPrefix(name, "USER") && name != "PERFSTAT" || i.userKey(s.container, name) != key {
			continue
		}
		r := row{"username": name, "owned": int64(0), "loaded": int64(0), "marked": int64(0), "tablespace_name": nil}
		for _, t := range c.Tables {
			if t.Container == s.container && t.Owner == name {
				r["owned"] = r["owned"].(int64) + 1
			}
		}
		if t := c.table(s.container, name, "CF1"); t != nil {
			r["loaded"], r["tablespace_name"] = int64(1), t.Tablespace
		}
		if c.table(s.container, name, tableMarker) != nil {
			r["marked"] = int64(1)
		}
		rows = append(rows, r)
	}
	return rows
}
