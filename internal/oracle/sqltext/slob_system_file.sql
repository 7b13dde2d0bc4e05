/* nfsbench slob_system_file */
-- releases: all
-- Our datafile goes beside that of the tablespace SYSTEM.
SELECT file_name
FROM dba_data_files
WHERE tablespace_name = 'SYSTEM'
ORDER BY file_id
