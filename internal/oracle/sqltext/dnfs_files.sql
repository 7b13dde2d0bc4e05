/* nfsbench dnfs_files */
-- releases: all
SELECT DISTINCT
    filename,
    svr_id
FROM gv$dnfs_files
ORDER BY filename, svr_id
