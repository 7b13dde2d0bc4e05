/* nfsbench async_files */
-- releases: all
SELECT
    i.inst_id,
    i.file_no,
    d.name,
    i.asynch_io,
    i.access_method
FROM gv$iostat_file i
INNER JOIN v$datafile d ON i.file_no = d.file#
WHERE i.filetype_name = 'Data File'
ORDER BY i.inst_id, i.file_no
