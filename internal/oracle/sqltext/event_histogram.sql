/* nfsbench event_histogram */
-- releases: all
SELECT
    inst_id,
    event,
    wait_time_micro,
    wait_count
FROM gv$event_histogram_micro
WHERE event IN (
    'db file sequential read',
    'db file scattered read',
    'db file parallel read',
    'db file parallel write',
    'direct path read',
    'read by other session',
    'log file parallel write',
    'log file sync'
)
ORDER BY inst_id, event, wait_time_micro
