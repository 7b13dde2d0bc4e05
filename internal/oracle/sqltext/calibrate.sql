/* nfsbench calibrate */
-- releases: all
BEGIN
    dbms_resource_manager.calibrate_io(
        num_physical_disks => :disks,
        max_latency => :latency_ms,
        max_iops => :max_iops,
        max_mbps => :max_mbps,
        actual_latency => :actual_latency_ms
    );
END;
