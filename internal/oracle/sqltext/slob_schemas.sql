/* nfsbench slob_schemas */
-- releases: all
-- A schema without the marker is somebody else's.
SELECT
    u.username,
    COUNT(t.table_name) AS marked
FROM dba_users u
LEFT JOIN dba_tables t
    ON
        u.username = t.owner
        AND t.table_name = 'NFSBENCH_MARKER'
WHERE u.username LIKE 'NFSBENCH%'
GROUP BY u.username
ORDER BY u.username
