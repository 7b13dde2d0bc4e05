/* nfsbench dnfs_stats */
-- releases: all
SELECT
    inst_id,
    pnum,
    nfs_read,
    nfs_write,
    nfs_readbytes,
    nfs_writebytes
FROM gv$dnfs_stats
ORDER BY inst_id, pnum
