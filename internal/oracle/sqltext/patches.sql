/* nfsbench patches */
-- releases: all
SELECT
    patch_id,
    action,
    description
FROM dba_registry_sqlpatch
WHERE status = 'SUCCESS'
ORDER BY action_time
