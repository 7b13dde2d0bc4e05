package slob

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// loadRights lists the rights of an administrator without SYSDBA: first the right to read views, last the rights to
// create and drop the tablespace. They are one text, because a single privilege looks like a statement, and
// statements belong into sqltext.
const loadRights = "SELECT ANY DICTIONARY, CREATE USER, ALTER USER, DROP USER, GRANT ANY PRIVILEGE, " +
	"CREATE ANY TABLE, ALTER ANY TABLE, DROP ANY TABLE, SELECT ANY TABLE, INSERT ANY TABLE, DELETE ANY TABLE, " +
	"CREATE ANY INDEX, CREATE TABLESPACE, DROP TABLESPACE"

const viewRights, tablespaceRights = 1, 2 // of loadRights

// ViewRights returns the rights needed to read the views of a database.
func ViewRights() []string { return strings.Split(loadRights, ", ")[:viewRights] }

// LoadRights returns the rights needed to create and load schemas.
func LoadRights() []string {
	all := strings.Split(loadRights, ", ")
	return all[:len(all)-tablespaceRights]
}

// TablespaceRights returns additional rights: to create the tablespace if it does not exist, and to drop it if an
// earlier run created it.
func (s *Schemas) TablespaceRights() []string {
	rights := strings.Split(loadRights, ", ")[len(LoadRights()):]
	switch {
	case !s.tablespace:
		return rights
	case s.tablespaceMade && !s.spec.Keep:
		return rights[tablespaceRights-1:]
	default:
		return nil
	}
}

// CheckRights fails with the missing GRANT, before a load creates anything.
func CheckRights(ctx context.Context, db *sql.DB, needed []string) error {
	have, err := oracle.Column(ctx, db, "slob_privileges")
	if err != nil {
		return fmt.Errorf("look for the privileges of the user: %w", err)
	}
	if slices.Contains(have, "SELECT_CATALOG_ROLE") {
		have = append(have, ViewRights()...)
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(right string) bool { return slices.Contains(have, right) })
	if len(missing) == 0 {
		return nil
	}
	return lacks(strings.Join(missing, ", "))
}

// CheckAWR fails with the GRANT that AWR snapshots lack. It takes no snapshot.
func CheckAWR(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, sqltext.Text("awr_check"))
	// PLS-00201 reports a package that the user may not see, PLS-00904 one that it may not use.
	if err != nil && (strings.Contains(err.Error(), "PLS-00201") || strings.Contains(err.Error(), "PLS-00904")) {
		return lacks("EXECUTE ON SYS.DBMS_WORKLOAD_REPOSITORY")
	}
	return oracle.Explain(err)
}

func lacks(rights string) error {
	return oracle.Failf(runfile.FailurePrivilege, "the user of database.external.credentialsSecretRef lacks privileges; "+
		"let a DBA execute GRANT %s TO that user, for a common user with CONTAINER=ALL; or use a user with SYSDBA, and set "+
		"database.external.role to SYSDBA", rights)
}

// Logging describes whether a database writes redo for data that is loaded without logging.
type Logging struct {
	Forced   string // the source of forced redo, such as V$DATABASE; empty = not forced
	Archived bool   // redo is archived as well
}

// Logging queries the database for its logging.
func (s *Schemas) Logging(ctx context.Context) (Logging, error) {
	var l Logging
	args := []any{s.tablespaceName()}
	err := oracle.Rows(ctx, s.db, sqltext.Text("slob_logging"), args, func(rows *sql.Rows) error {
		var place string
		var forced, mode sql.NullString
		err := rows.Scan(&place, &forced, &mode)
		// Besides YES there are modes that send the blocks to a standby database instead.
		if forced.String != "" && forced.String != "NO" && l.Forced == "" {
			l.Forced = place
		}
		l.Archived = l.Archived || mode.String == "ARCHIVELOG"
		return err
	})
	if err != nil {
		return l, fmt.Errorf("ask whether the database forces logging: %w", err)
	}
	return l, nil
}

// RedoBytes estimates the redo of a load where redo is forced: each block, and the index.
func (s *Schemas) RedoBytes() int64 {
	missing := s.MissingBytes()
	return missing + missing/16
}
