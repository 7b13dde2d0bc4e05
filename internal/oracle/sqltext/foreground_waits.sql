/* nfsbench foreground_waits */
-- releases: all
-- What sessions waited for, without what background processes waited for meanwhile.
SELECT
    inst_id,
    event,
    wait_class,
    total_waits_fg,
    time_waited_micro_fg
FROM gv$system_event
WHERE wait_class <> 'Idle'
ORDER BY inst_id, event
