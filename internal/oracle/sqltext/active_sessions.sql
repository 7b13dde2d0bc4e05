/* nfsbench active_sessions */
-- releases: all
-- Others' sessions that are at work: ours have our process on our machine, and
-- PZnn are the servers that answer this very query on all instances.
SELECT
    s.inst_id,
    s.sid,
    s.username,
    s.machine,
    s.program,
    s.module,
    s.action,
    s.event
FROM gv$session s
WHERE
    s.status = 'ACTIVE'
    AND s.type = 'USER'
    AND NOT (s.state = 'WAITING' AND s.wait_class = 'Idle')
    AND (s.program IS NULL OR s.program NOT LIKE '%(PZ%)%')
    AND NOT EXISTS (
        SELECT me.sid
        FROM v$session me
        WHERE
            me.sid = TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
            AND me.machine = s.machine
            AND me.process = s.process
    )
ORDER BY s.inst_id, s.sid
