/* nfsbench slob_tablespace_segments */
-- releases: all
SELECT COUNT(*) AS segments
FROM dba_segments
WHERE tablespace_name = :1
