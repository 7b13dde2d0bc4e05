/* nfsbench calibrate_sample */
-- releases: all
SELECT
    SUM(small_read_reqs) AS small_read_reqs,
    SUM(small_read_servicetime) AS small_read_servicetime,
    SUM(large_read_reqs) AS large_read_reqs,
    SUM(large_read_servicetime) AS large_read_servicetime
FROM gv$iostat_file
WHERE filetype_name = 'Data File'
