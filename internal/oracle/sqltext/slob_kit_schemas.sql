/* nfsbench slob_kit_schemas */
-- releases: all
-- Users with the names that setup.sh of a SLOB kit drops and makes, and whether it loaded them. PERFSTAT is there where
-- Statspack is installed.
SELECT
    u.username,
    COUNT(t.table_name) AS owned,
    COUNT(DECODE(t.table_name, 'CF1', 1)) AS loaded,
    COUNT(DECODE(t.table_name, 'NFSBENCH_MARKER', 1)) AS marked,
    MAX(DECODE(t.table_name, 'CF1', t.tablespace_name)) AS tablespace_name
FROM dba_users u
LEFT JOIN dba_tables t ON u.username = t.owner
WHERE
    u.username LIKE 'USER%'
    OR u.username = 'PERFSTAT'
GROUP BY u.username
ORDER BY u.username
