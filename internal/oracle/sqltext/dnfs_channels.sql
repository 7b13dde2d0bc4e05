/* nfsbench dnfs_channels */
-- releases: all
-- Reading sets sends, recvs, pings and the reconnects back to zero.
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
    dpreco,
    clientport
FROM gv$dnfs_channels
ORDER BY inst_id, pnum, svrname, ch_id
