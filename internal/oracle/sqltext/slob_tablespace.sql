/* nfsbench slob_tablespace */
-- releases: all
SELECT
    tablespace_name,
    block_size
FROM dba_tablespaces
WHERE tablespace_name = :1
