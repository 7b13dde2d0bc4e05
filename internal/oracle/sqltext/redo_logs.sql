/* nfsbench redo_logs */
-- releases: all
SELECT
    l.group#,
    l.bytes,
    l.status,
    f.member
FROM v$log l
INNER JOIN v$logfile f ON l.group# = f.group#
ORDER BY l.group#, f.member
