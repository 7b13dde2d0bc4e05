/* nfsbench dnfs_servers */
-- releases: all
SELECT
    inst_id,
    id,
    svrname,
    dirname,
    nfsversion,
    wtmax,
    rtmax
FROM gv$dnfs_servers
ORDER BY inst_id, id
