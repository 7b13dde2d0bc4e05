/* nfsbench iostat_file */
-- releases: all
SELECT
    inst_id,
    file_no,
    filetype_name,
    access_method,
    asynch_io,
    small_read_reqs,
    small_read_servicetime,
    small_sync_read_reqs,
    small_sync_read_latency,
    large_read_reqs,
    large_read_servicetime,
    small_read_megabytes,
    large_read_megabytes,
    small_write_reqs,
    large_write_reqs
FROM gv$iostat_file
ORDER BY inst_id, filetype_id, file_no
