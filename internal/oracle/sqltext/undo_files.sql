/* nfsbench undo_files */
-- releases: all
-- Those that this container uses, the one that grows first.
SELECT
    f.file_name,
    f.bytes
FROM dba_data_files f
INNER JOIN dba_tablespaces t ON f.tablespace_name = t.tablespace_name
WHERE t.contents = 'UNDO'
ORDER BY f.file_id
