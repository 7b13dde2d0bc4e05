/* nfsbench slob_tables */
-- releases: all
SELECT table_name
FROM dba_tables
WHERE owner = :1
ORDER BY table_name
