/* nfsbench osstat */
-- releases: all
SELECT
    inst_id,
    stat_name,
    value
FROM gv$osstat
WHERE stat_name IN ('NUM_CPUS', 'BUSY_TIME', 'IDLE_TIME')
ORDER BY inst_id, stat_name
