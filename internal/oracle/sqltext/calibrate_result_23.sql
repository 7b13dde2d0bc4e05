/* nfsbench calibrate_result_23 */
-- releases: from 23
SELECT
    start_time,
    end_time,
    max_iops,
    max_mbps,
    max_pmbps,
    latency,
    num_physical_disks,
    additional_info
FROM dba_rsrc_io_calibrate
