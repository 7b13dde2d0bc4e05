/* nfsbench instances */
-- releases: all
SELECT
    inst_id,
    instance_name,
    host_name,
    version,
    startup_time,
    status
FROM gv$instance
ORDER BY inst_id
