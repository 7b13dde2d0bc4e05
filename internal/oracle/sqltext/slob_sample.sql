/* nfsbench slob_sample */
-- releases: all
SELECT
    name,
    SUM(value) AS value
FROM gv$sysstat
WHERE name IN (
    'physical read total bytes',
    'physical read total IO requests',
    'physical write total bytes',
    'physical write total IO requests'
)
GROUP BY name
ORDER BY name
