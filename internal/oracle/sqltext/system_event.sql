/* nfsbench system_event */
-- releases: all
SELECT
    inst_id,
    event,
    total_waits,
    time_waited_micro
FROM gv$system_event
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
ORDER BY inst_id, event
