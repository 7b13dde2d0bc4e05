/* nfsbench redo_logs */
-- releases: all
SELECT
    l.group#,
    l.bytes,
    l.status,
    f.member,
    d.dbid
FROM v$log l
INNER JOIN v$logfile f ON l.group# = f.group#
CROSS JOIN v$database d
ORDER BY l.group#, f.member
