/* nfsbench parameters */
-- releases: all
SELECT
    inst_id,
    name,
    value,
    isdefault
FROM gv$parameter
ORDER BY name, inst_id
