/* nfsbench dnfs_channels_portless */
-- releases: all
-- For a database whose view has no clientport (ORA-00904).
SELECT
    inst_id,
    pnum,
    svrname,
    path,
    local,
    ch_id,
    sends,
    recvs,
    spreco,
    dpreco
FROM gv$dnfs_channels
ORDER BY inst_id, pnum, svrname, ch_id
