package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
)

func TestTheCheckerPassesWhatIsRight(t *testing.T) {
	for name, sql := range map[string]string{
		"plain":          "SELECT svrname, nfsversion FROM v$dnfs_servers",
		"global view":    "SELECT inst_id, name FROM gv$sysstat WHERE name IN ('a', 'it''s') ORDER BY inst_id, name DESC",
		"join":           "SELECT i.file_no, d.name FROM gv$iostat_file i INNER JOIN v$datafile d ON d.file# = i.file_no WHERE i.inst_id = :i",
		"comma join":     "SELECT i.file_no, d.name FROM sys.v$iostat_file i, v$datafile d WHERE d.file# = i.file_no",
		"alias":          "SELECT SUM(value) AS total FROM v$sysstat ORDER BY total",
		"count":          "SELECT COUNT(*) AS n, value * 2 AS twice FROM v$sysstat GROUP BY value",
		"correlated":     "SELECT s.sid FROM gv$session s WHERE NOT EXISTS (SELECT me.sid FROM v$session me WHERE me.machine = s.machine AND me.sid = sid)",
		"derived":        "SELECT q.whatever FROM (SELECT name AS whatever FROM v$datafile) q",
		"set":            "SELECT name FROM v$datafile UNION ALL SELECT name FROM v$tempfile ORDER BY 1",
		"own table":      "SELECT c2 FROM bench.cf1 WHERE custid BETWEEN :a AND :b",
		"dual":           "SELECT SYS_CONTEXT('USERENV', 'CON_NAME') AS n FROM dual",
		"no query":       "ALTER SYSTEM SET \"_x\" = 2G SCOPE = SPFILE SID = '*'",
		"comments":       "/* SELECT x */ SELECT name -- FROM v$none\nFROM v$datafile",
		"select into":    "DECLARE n NUMBER; BEGIN SELECT value INTO n FROM v$sysstat WHERE name = 'redo size'; END;",
		"loop":           "BEGIN FOR r IN (SELECT name FROM v$datafile) LOOP NULL; END LOOP; END;",
		"calibrate":      "BEGIN dbms_resource_manager.calibrate_io(num_physical_disks => :a, max_mbps => :b); END;",
		"scalar query":   "SELECT (SELECT MAX(name) FROM v$pdbs) AS pdb, banner FROM v$version",
		"case":           "SELECT CASE WHEN value > 1 THEN 'x' ELSE name END AS x FROM v$sysstat",
		"outer join":     "SELECT f.file_no FROM v$iostat_file f LEFT OUTER JOIN v$tempfile t ON t.file# = f.file_no",
		"nested exists":  "SELECT name FROM v$datafile WHERE file# IN (SELECT file_no FROM v$iostat_file WHERE asynch_io = 'ASYNC_ON')",
		"package in sql": "SELECT name || ' x' AS y FROM v$datafile",
	} {
		if err := Check(sql, sqltext.Release12c1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheCheckerCatchesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"unknown column":           {"SELECT nfs_kind FROM v$dnfs_servers", "V$DNFS_SERVERS has no column NFS_KIND"},
		"too new":                  {"SELECT security FROM v$dnfs_servers", "V$DNFS_SERVERS has no column SECURITY on Oracle 12.1"},
		"in where":                 {"SELECT name FROM v$sysstat WHERE valeu > 1", "no column VALEU"},
		"in order by":              {"SELECT name FROM v$sysstat ORDER BY con_di", "no column CON_DI"},
		"in a function":            {"SELECT MAX(NVL(valeu, 0)) AS x FROM v$sysstat", "no column VALEU"},
		"in a join":                {"SELECT i.file_no FROM v$iostat_file i INNER JOIN v$datafile d ON d.file_no = i.file_no", "V$DATAFILE has no column FILE_NO"},
		"in a subquery":            {"SELECT name FROM v$datafile WHERE file# IN (SELECT fileno FROM v$iostat_file)", "no column FILENO"},
		"in a derived query":       {"SELECT q.x FROM (SELECT nom AS x FROM v$datafile) q", "V$DATAFILE has no column NOM"},
		"in the second of two":     {"SELECT name FROM v$datafile UNION ALL SELECT filename FROM v$tempfile", "V$TEMPFILE has no column FILENAME"},
		"instance of a local view": {"SELECT inst_id FROM v$sysstat", "V$SYSSTAT has no column INST_ID"},
		"alias used as column":     {"SELECT svrname AS security FROM v$dnfs_servers WHERE security = 'sys'", "no column SECURITY"},
		"alias of other relation":  {"SELECT d.asynch_io FROM v$iostat_file i, v$datafile d", "V$DATAFILE has no column ASYNCH_IO"},
		"alias that is a view":     {"SELECT v$datafile.name FROM v$dnfs_servers v$datafile", "V$DNFS_SERVERS has no column NAME"},
		"implicit alias":           {"SELECT svrname nfsversion2 FROM v$dnfs_servers", "no column NFSVERSION2"},
		"unknown alias":            {"SELECT x.name FROM v$datafile d", "no relation has the alias X"},
		"alias hides the name":     {"SELECT v$datafile.name FROM v$datafile d", "no relation has the alias V$DATAFILE"},
		"inner alias outside":      {"SELECT me.sid FROM v$session s WHERE EXISTS (SELECT me.sid FROM v$session me)", "no relation has the alias ME"},
		"unknown view":             {"SELECT name FROM v$dnfs_secrets", "view V$DNFS_SECRETS is not known"},
		"unknown with schema":      {"SELECT name FROM sys.x$ksppi", "view X$KSPPI is not known"},
		"star":                     {"SELECT * FROM v$datafile", "SELECT *"},
		"qualified star":           {"SELECT d.* FROM v$datafile d", "SELECT *"},
		"quoted":                   {`SELECT "name" FROM v$datafile`, "quoted name"},
		"argument":                 {"BEGIN dbms_resource_manager.calibrate_io(disks => 1); END;", "no argument DISKS"},
		"procedure":                {"BEGIN dbms_dnfs.unmountvolume('x', 'y'); END;", "DBMS_DNFS.UNMOUNTVOLUME is not known"},
		"nothing":                  {"SELECT ? FROM v$datafile", "no SQL that is understood"},
		"another dialect's limit":  {"SELECT name FROM v$datafile d LIMIT 5", "LIMIT is not understood behind a relation"},
		"limit for an alias":       {"SELECT name FROM v$datafile LIMIT 5", "5 is not understood behind a relation"},
		"condition of a join":      {"SELECT d.name FROM v$datafile d JOIN v$tempfile t ON t.file# = d.file", "V$DATAFILE has no column FILE"},
		"no from":                  {"SELECT name", "without FROM"},
		"in a loop":                {"BEGIN FOR r IN (SELECT nom FROM v$datafile) LOOP NULL; END LOOP; END;", "no column NOM"},
		"in a block":               {"BEGIN SELECT nom INTO x FROM v$datafile; END;", "no column NOM"},
	} {
		err := Check(c.sql, sqltext.Release12c1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestAColumnIsTakenFromItsReleaseOn(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT security FROM gv$dnfs_servers":              "12.2 18 19 21 23",
		"SELECT additional_info FROM dba_rsrc_io_calibrate": "18 19 21 23",
		"SELECT banner_full FROM v$version":                 "18 19 21 23",
		"SELECT clientport FROM gv$dnfs_channels":           "12.1 12.2 18 19 21 23",
		"SELECT reco FROM gv$dnfs_channels":                 "",
	} {
		var ok []string
		for _, r := range sqltext.Releases() {
			if Check(sql, r) == nil {
				ok = append(ok, r.String())
			}
		}
		if diff := cmp.Diff(want, strings.Join(ok, " ")); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}
