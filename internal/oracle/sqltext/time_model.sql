/* nfsbench time_model */
-- releases: all
SELECT
    inst_id,
    stat_name,
    value
FROM gv$sys_time_model
WHERE stat_name IN ('DB CPU', 'background cpu time')
ORDER BY inst_id, stat_name
