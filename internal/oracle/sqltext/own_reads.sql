/* nfsbench own_reads */
-- releases: all
-- What the sessions of our schemas have read since they logged in. Those of a SLOB kit (USER1, ...) log out before the
-- end of the window, and their counts go with them.
SELECT
    s.inst_id,
    n.name,
    SUM(t.value) AS value
FROM gv$session s
INNER JOIN gv$sesstat t
    ON
        t.inst_id = s.inst_id
        AND t.sid = s.sid
INNER JOIN v$statname n ON n.statistic# = t.statistic#
WHERE
    s.username LIKE 'NFSBENCH%'
    AND n.name IN (
        'physical read total bytes',
        'physical read total IO requests'
    )
GROUP BY s.inst_id, n.name
ORDER BY s.inst_id, n.name
