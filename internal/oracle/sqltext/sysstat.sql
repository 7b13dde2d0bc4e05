/* nfsbench sysstat */
-- releases: all
SELECT
    inst_id,
    name,
    value
FROM gv$sysstat
WHERE name IN (
    'physical read total bytes',
    'physical read total IO requests',
    'physical read total multi block requests',
    'physical read bytes',
    'physical read IO requests',
    'physical reads',
    'physical reads cache',
    'physical reads direct',
    'physical write total bytes',
    'physical write total IO requests',
    'physical write bytes',
    'physical write IO requests',
    'physical writes',
    'redo size',
    'redo writes',
    'session logical reads',
    'execute count',
    'user commits'
)
ORDER BY inst_id, name
