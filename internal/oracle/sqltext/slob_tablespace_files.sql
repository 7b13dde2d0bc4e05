/* nfsbench slob_tablespace_files */
-- releases: all
-- Our datafile goes beside the first of the tablespace SYSTEM.
SELECT file_name
FROM dba_data_files
WHERE tablespace_name = :1
ORDER BY file_id
