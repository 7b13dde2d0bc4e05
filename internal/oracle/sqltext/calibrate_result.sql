/* nfsbench calibrate_result */
-- releases: to 21
SELECT
    start_time,
    end_time,
    max_iops,
    max_mbps,
    max_pmbps,
    latency,
    num_physical_disks
FROM dba_rsrc_io_calibrate
